import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import type { Tables } from '../../src/server/tables.ts';

/** Number and kind of the tasks to write. */
export interface SeedTasks {
  readonly url: string;
  readonly count: number;
  readonly channels: readonly number[];
  readonly userId: number;
  readonly tokenId: number;
  /** Unfinished tasks are due immediately; finished ones are history. */
  readonly unfinished: boolean;
  readonly prefix: string;
}

/** Writes tasks directly into the database, as thousands of submits would have left them. */
export async function seedTasks(seed: SeedTasks): Promise<void> {
  const database = openDatabase<Tables>(seed.url);
  const now = Date.now();
  const status: 'SUBMITTED' | 'SUCCESS' = seed.unfinished ? 'SUBMITTED' : 'SUCCESS';
  for (let start = 0; start < seed.count; start += 500) {
    const rows = Array.from({ length: Math.min(500, seed.count - start) }, (_, offset) => {
      const id = `${seed.prefix}${start + offset}`;
      return {
        id,
        public_id: id,
        user_id: seed.userId,
        token_id: seed.tokenId,
        channel_id: seed.channels[(start + offset) % seed.channels.length] ?? null,
        vendor: 'sora' as const,
        model: 'sora-2',
        upstream_model: 'sora-2',
        action: 'textGenerate',
        status,
        progress: seed.unfinished ? 10 : 100,
        attempt: 1,
        price: 1000,
        pricing: '',
        client: '',
        prompt: 'a heron lands on a jetty',
        request: '{"model":"sora-2","prompt":"a heron lands on a jetty"}',
        data: JSON.stringify({ id, object: 'video', status: 'queued', progress: 0 }),
        handle: JSON.stringify({ id }),
        find_task_hint: null,
        artifact: null,
        fail_cause: '' as const,
        fail_reason: '',
        error_code: '',
        remixed_from: null,
        created_at: now - start,
        submit_time: now,
        start_time: 0,
        finish_time: seed.unfinished ? 0 : now,
        updated_at: now,
        next_poll_at: seed.unfinished ? now : null,
        poll_failures: 0,
        deleted: 0 as const,
      };
    });
    await database.kysely.insertInto('tasks').values(rows).execute();
  }
  await database.close();
}
