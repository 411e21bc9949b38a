import type { Database } from '../platform/db/database.ts';
import type { Tables, Trx } from '../tables.ts';

/** Which device sign-ins were shown a password of their account's mailbox. */
export class DevicesShownPasswordStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async record(authorizationId: number, userId: number, now: number): Promise<void> {
    await this.#database.kysely
      .insertInto('mailbox_device_reads')
      .values({ authorization_id: authorizationId, user_id: userId, created_at: now })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  /** Deletes the records of these device sign-ins. @returns the ids of those that had one */
  async take(trx: Trx, authorizationIds: readonly number[]): Promise<number[]> {
    if (authorizationIds.length === 0) return [];
    const rows = await trx
      .deleteFrom('mailbox_device_reads')
      .where('authorization_id', 'in', authorizationIds)
      .returning('authorization_id')
      .execute();
    return rows.map((row) => row.authorization_id);
  }
}
