import type { SessionEndReason } from '../../contract/logins.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Tables, Trx } from '../tables.ts';
import type { ManagementTokenStore } from './management-tokens.ts';
import type { SessionStore } from './sessions.ts';

/** Logins kept by another capability that must end with the account's sessions: device sign-ins. */
export interface LinkedLogins {
  /** Ends all logins of an account, in the transaction of the change that requires it. */
  revokeAll(trx: Trx, userId: number): Promise<void>;
}

interface LoginRevocationDependencies {
  readonly sessions: SessionStore;
  readonly pendingLogins: PendingLoginStore;
  readonly managementTokens: ManagementTokenStore;
  readonly linkedLogins: readonly LinkedLogins[];
  readonly clock: Clock;
}

/**
 * Ends every credential that opens an account: sessions, pending logins, device sign-ins and the management access
 * token, which an intruder with a session could have created. `sk-` keys stay, because they only allow model calls.
 */
export class LoginRevocation {
  readonly #dependencies: LoginRevocationDependencies;

  constructor(dependencies: LoginRevocationDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * @param reason shown to browsers whose session ended
   * @param keepSessionId a session to keep
   */
  async revokeAll(trx: Trx, userId: number, reason: SessionEndReason, keepSessionId?: number): Promise<void> {
    const { sessions, pendingLogins, managementTokens, linkedLogins, clock } = this.#dependencies;
    await sessions.endOfUser(trx, userId, { reason, ended_at: clock.now() }, keepSessionId);
    await pendingLogins.deleteOfUser(trx, userId);
    await managementTokens.deleteOfUser(trx, userId);
    for (const linked of linkedLogins) await linked.revokeAll(trx, userId);
  }
}

interface PendingLogin {
  readonly hash: string;
  readonly user_id: number;
  readonly purpose: string;
  readonly subject: string;
  readonly created_at: number;
  readonly expires_at: number;
}

/** SQL of `pending_logins`: logins with a correct password and an outstanding second step. */
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
   * Counts one attempt before its code is checked, so that a hundred concurrent attempts count as a hundred.
   *
   * @returns undefined if the login has expired or its attempts are exhausted
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

  /** Deletes a pending login; returns true for exactly one of several concurrent callers. */
  async consume(trx: Trx, hash: string): Promise<boolean> {
    return wasChanged(await trx.deleteFrom('pending_logins').where('hash', '=', hash).executeTakeFirst());
  }

  /** Those of one purpose, of all accounts; they are few, because each ends after minutes. */
  list(trx: Trx, purpose: string) {
    return trx.selectFrom('pending_logins').select(['hash', 'subject']).where('purpose', '=', purpose).execute();
  }

  async deleteOfUser(trx: Trx, userId: number): Promise<void> {
    await trx.deleteFrom('pending_logins').where('user_id', '=', userId).execute();
  }

  async deleteExpired(now: number): Promise<void> {
    await this.#database.kysely.deleteFrom('pending_logins').where('expires_at', '<=', now).execute();
  }
}
