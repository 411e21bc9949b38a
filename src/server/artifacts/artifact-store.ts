import { type Selectable, sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/prepared-query.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import { countCopies } from './storage-usage-store.ts';

export type ArtifactRow = Selectable<Tables['artifacts']>;
export type Variant = ArtifactRow['variant'];

/** A row whose copy a process makes: its try is part of every write. */
export type Claim = Pick<ArtifactRow, 'id' | 'task_id' | 'user_id' | 'tries' | 'created_at'>;

export interface StoredCopy {
  readonly bytes: number;
  readonly sha256: string;
  readonly mimeType: string;
  readonly storedAt: number;
  /** Unix milliseconds; null: never. */
  readonly expiresAt: number | null;
}

const insertArtifact = prepareQuery<
  Tables,
  { id: string; task_id: string; user_id: number; variant: Variant; now: number; next_try_at: number | null }
>()((db, p) =>
  db
    .insertInto('artifacts')
    .values({
      id: p('id'),
      task_id: p('task_id'),
      user_id: p('user_id'),
      variant: p('variant'),
      state: 'pending',
      bytes: 0,
      sha256: '',
      mime_type: '',
      tries: 0,
      next_try_at: p('next_try_at'),
      last_error: '',
      created_at: p('now'),
      stored_at: 0,
      expires_at: null,
    })
    .onConflict((conflict) => conflict.columns(['task_id', 'variant']).doNothing()),
);

const selectByTask = prepareQuery<Tables, { task_id: string; variant: Variant }>()((db, p) =>
  db.selectFrom('artifacts').selectAll().where('task_id', '=', p('task_id')).where('variant', '=', p('variant')),
);

/** SQL of `artifacts`. */
export class ArtifactStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(trx: Trx, artifact: { id: string; taskId: string; userId: number }, now: number): Promise<void> {
    const { id, taskId, userId } = artifact;
    await insertArtifact.changes(trx, {
      id,
      task_id: taskId,
      user_id: userId,
      variant: 'video',
      now,
      next_try_at: now,
    });
  }

  /** The row of a poster that is about to be put, which may be there from a put that was interrupted. */
  async insertPoster(
    poster: { id: string; taskId: string; userId: number },
    now: number,
  ): Promise<ArtifactRow | undefined> {
    const { id, taskId, userId } = poster;
    const row = { id, task_id: taskId, user_id: userId, variant: 'thumbnail' as const, now, next_try_at: null };
    await insertArtifact.changes(this.#database.kysely, row);
    return this.findByTask(taskId, 'thumbnail');
  }

  findByTask(taskId: string, variant: Variant = 'video'): Promise<ArtifactRow | undefined> {
    return selectByTask.first(this.#database.kysely, { task_id: taskId, variant });
  }

  /** Which of these tasks have a stored poster. */
  async findWithPoster(taskIds: readonly string[]): Promise<Set<string>> {
    if (taskIds.length === 0) return new Set();
    const rows = await this.#database.kysely
      .selectFrom('artifacts')
      .select('task_id')
      .where('task_id', 'in', [...taskIds])
      .where('variant', '=', 'thumbnail')
      .where('state', '=', 'stored')
      .execute();
    return new Set(rows.map(({ task_id }) => task_id));
  }

  /** Claims due copies until `now + leaseMs`; each is claimed by one process. */
  claimDue(now: number, leaseMs: number, limit: number): Promise<Claim[]> {
    return this.#database.transaction((trx) =>
      trx
        .updateTable('artifacts')
        .set({ tries: sql<number>`tries + 1`, next_try_at: now + leaseMs })
        .where('id', 'in', (from) =>
          from
            .selectFrom('artifacts')
            .select('id')
            .where('next_try_at', '<=', now)
            .orderBy('next_try_at')
            .limit(limit)
            .forUpdate()
            .skipLocked(),
        )
        .returning(['id', 'task_id', 'user_id', 'tries', 'created_at'])
        .execute(),
    );
  }

  /** @returns false when another process has claimed it, or it is to be removed */
  async renew(claim: Claim, until: number): Promise<boolean> {
    const result = await pending(this.#database.kysely, claim).set({ next_try_at: until }).executeTakeFirst();
    return wasChanged(result);
  }

  /** The copy is complete. @returns false when the claim was lost */
  confirm(claim: Claim, copy: StoredCopy): Promise<boolean> {
    return this.#database.transaction(async (trx) => {
      const row = await pending(trx, claim)
        .set({
          state: 'stored',
          bytes: copy.bytes,
          sha256: copy.sha256,
          mime_type: copy.mimeType,
          next_try_at: null,
          last_error: '',
          stored_at: copy.storedAt,
          expires_at: copy.expiresAt,
          is_announced: 0,
        })
        .returning(['user_id', 'variant', 'bytes'])
        .executeTakeFirst();
      if (row !== undefined) await countCopies(trx, [row], 1);
      return row !== undefined;
    });
  }

  /** @param at null: it is not tried again */
  async defer(claim: Claim, at: number | null, lastError: string): Promise<void> {
    await pending(this.#database.kysely, claim)
      .set({ next_try_at: at, last_error: lastError, ...(at === null && { state: 'failed' as const }) })
      .execute();
  }

  /** Its file is gone: a video is copied again. */
  async markLost(row: Pick<ArtifactRow, 'id' | 'variant' | 'user_id' | 'bytes'>): Promise<void> {
    await this.#database.transaction(async (trx) => {
      const result = await trx
        .updateTable('artifacts')
        .set({ state: 'pending', bytes: 0, next_try_at: row.variant === 'video' ? 0 : null, expires_at: null })
        .where('id', '=', row.id)
        .where('state', '=', 'stored')
        // What is taken off the sums.
        .where('bytes', '=', row.bytes)
        .executeTakeFirst();
      if (wasChanged(result)) await countCopies(trx, [row], -1);
    });
  }

  /** Stored copies in the order of their ids. */
  listStored(afterId: string, limit: number): Promise<ArtifactRow[]> {
    return this.#database.kysely
      .selectFrom('artifacts')
      .selectAll()
      .where('state', '=', 'stored')
      .where('id', '>', afterId)
      .orderBy('id')
      .limit(limit)
      .execute();
  }

  /** Which of these files have a row. */
  async findKnown(ids: readonly string[]): Promise<Set<string>> {
    const rows = await this.#database.kysely
      .selectFrom('artifacts')
      .select('id')
      .where('id', 'in', [...ids])
      .execute();
    return new Set(rows.map(({ id }) => id));
  }

  async countPending(): Promise<number> {
    const row = await this.#database.kysely
      .selectFrom('artifacts')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('next_try_at', 'is not', null)
      .executeTakeFirstOrThrow();
    return Number(row.count);
  }
}

const pending = (executor: Executor, { id, tries }: Claim) =>
  executor.updateTable('artifacts').where('id', '=', id).where('state', '=', 'pending').where('tries', '=', tries);
