import type { Kysely } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';

/** What administrators ask about tasks. */
export class TaskAdminStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Unfinished tasks by channel; channels without any are left out. */
  async unfinishedByChannel(): Promise<ReadonlyMap<number, number>> {
    const rows = await this.#database.kysely
      .selectFrom('tasks')
      .select(({ fn }) => ['channel_id', fn.countAll<number>().as('count')])
      .where('next_poll_at', 'is not', null)
      .where('channel_id', 'is not', null)
      .groupBy('channel_id')
      .execute();
    return new Map(rows.map((row) => [row.channel_id ?? 0, Number(row.count)]));
  }

  async countUnfinished(trx: Kysely<Tables>, channelId: number): Promise<number> {
    const { count } = await trx
      .selectFrom('tasks')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('next_poll_at', 'is not', null)
      .where('channel_id', '=', channelId)
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  /** Our id of a task callers know by this name. */
  async idOf(publicId: string): Promise<string | undefined> {
    const row = await this.#database.kysely
      .selectFrom('tasks')
      .select('id')
      .where('public_id', '=', publicId)
      .executeTakeFirst();
    return row?.id;
  }

  /** Names callers know tasks by, by our ids. */
  async publicIds(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#database.kysely
      .selectFrom('tasks')
      .select(['id', 'public_id'])
      .where('id', 'in', ids)
      .execute();
    return new Map(rows.map((row) => [row.id, row.public_id]));
  }
}
