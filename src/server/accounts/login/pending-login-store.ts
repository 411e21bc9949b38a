import type { Database } from '../../platform/db/database.ts';
import { wasChanged } from '../../platform/db/sql.ts';
import type { Tables, Trx } from '../../tables.ts';

export interface PendingLogin {
  readonly hash: string;
  readonly user_id: number;
  readonly purpose: string;
  readonly subject: string;
  readonly created_at: number;
  readonly expires_at: number;
}

/** SQL of `pending_logins`: the password was right and the second step is outstanding. */
export class PendingLoginStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(trx: Trx, pending: PendingLogin): Promise<void> {
    await trx
      .insertInto('pending_logins')
      .values({ ...pending, wrong: 0 })
      .execute();
  }

  /**
   * Counts one attempt before its code is checked, so that a hundred at once count as a hundred.
   *
   * @returns undefined where the login has expired or its attempts are used up
   */
  countAttempt(hash: string, maxAttempts: number, now: number) {
    return this.#database.kysely
      .updateTable('pending_logins')
      .set((row) => ({ wrong: row('wrong', '+', 1) }))
      .where('hash', '=', hash)
      .where('wrong', '<', maxAttempts)
      .where('expires_at', '>', now)
      .returning(['hash', 'user_id', 'purpose', 'subject', 'wrong'])
      .executeTakeFirst();
  }

  /** Deletes a pending login; true for exactly one of several concurrent callers. */
  async consume(trx: Trx, hash: string): Promise<boolean> {
    return wasChanged(await trx.deleteFrom('pending_logins').where('hash', '=', hash).executeTakeFirst());
  }

  async deleteOfUser(trx: Trx, userId: number): Promise<void> {
    await trx.deleteFrom('pending_logins').where('user_id', '=', userId).execute();
  }

  async deleteExpired(now: number): Promise<void> {
    await this.#database.kysely.deleteFrom('pending_logins').where('expires_at', '<=', now).execute();
  }
}
