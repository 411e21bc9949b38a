import type { Selectable } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';

export type InstanceRow = Selectable<Tables['instances']>;

/** SQL of `instances`: the running processes and when each was last seen. */
export class InstanceStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async save(row: InstanceRow): Promise<void> {
    await this.#database.kysely
      .insertInto('instances')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
      .execute();
  }

  async remove(name: string): Promise<void> {
    await this.#database.kysely.deleteFrom('instances').where('name', '=', name).execute();
  }

  async removeUnseenSince(before: number): Promise<void> {
    await this.#database.kysely.deleteFrom('instances').where('seen_at', '<', before).execute();
  }

  list(): Promise<InstanceRow[]> {
    return this.#database.kysely.selectFrom('instances').selectAll().orderBy('name').execute();
  }
}
