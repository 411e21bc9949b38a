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
}
