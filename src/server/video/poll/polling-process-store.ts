import type { Database } from '../../platform/db/database.ts';
import type { Tables } from '../../tables.ts';

/** SQL of the processes that poll. */
export class PollingProcessStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Counts a process as alive for `aliveMs`. @returns how many are, and how many of them have a smaller name */
  async renew(name: string, now: number, aliveMs: number): Promise<{ readonly count: number; readonly rank: number }> {
    const { kysely } = this.#database;
    await kysely
      .insertInto('pollers')
      .values({ name, alive_until: now + aliveMs })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ alive_until: now + aliveMs }))
      .execute();
    await kysely.deleteFrom('pollers').where('alive_until', '<=', now).execute();
    const rows = await kysely.selectFrom('pollers').select('name').execute();
    return { count: rows.length, rank: rows.filter((row) => row.name < name).length };
  }

  async remove(name: string): Promise<void> {
    await this.#database.kysely.deleteFrom('pollers').where('name', '=', name).execute();
  }
}
