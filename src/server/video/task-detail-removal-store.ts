import { sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';

/** SQL that empties what is kept of a video only for a while. */
export class TaskDetailRemovalStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Empties request, response and failed attempts of at most `limit` videos that ended before a time. @returns how many */
  clear(before: number, limit: number): Promise<number> {
    return this.#database.transaction(async (trx) => {
      const rows = await trx
        .selectFrom('tasks')
        .select(['seq', 'id'])
        // As in the index.
        .where(sql<boolean>`has_detail = 1 and finish_time > 0`)
        .where('finish_time', '<', before)
        .orderBy('finish_time')
        .limit(limit)
        .execute();
      if (rows.length === 0) return 0;
      const [seqs, ids] = [rows.map(({ seq }) => seq), rows.map(({ id }) => id)];
      await trx
        .updateTable('tasks')
        .set({ request: '{}', data: '{}', has_detail: 0 })
        .where('seq', 'in', seqs)
        .execute();
      await trx.deleteFrom('task_attempts').where('task_id', 'in', ids).execute();
      return rows.length;
    });
  }
}
