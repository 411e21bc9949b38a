import type { Database } from '../platform/db/database.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

export class SettingsStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Stored texts by name. */
  async readAll(db: Executor = this.#database.kysely): Promise<ReadonlyMap<string, string>> {
    const rows = await db.selectFrom('site_settings').select(['name', 'value']).execute();
    return new Map(rows.map(({ name, value }) => [name, value]));
  }

  async write(trx: Trx, name: string, value: string, now: number): Promise<void> {
    await trx
      .insertInto('site_settings')
      .values({ name, value, updated_at: now })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ value, updated_at: now }))
      .execute();
  }

  async remove(trx: Trx, name: string): Promise<void> {
    await trx.deleteFrom('site_settings').where('name', '=', name).execute();
  }
}
