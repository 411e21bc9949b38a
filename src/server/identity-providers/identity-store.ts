import type { Selectable } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { IdentityTables } from './tables.ts';

/** Issuer and subject: the only key by which an identity finds its account. */
export interface IdentityKey {
  readonly issuer: string;
  readonly sub: string;
}

/** An identity linked to an account. */
export type IdentityRow = Selectable<IdentityTables['identities']>;
/** A browser at a provider. */
export type PendingSignIn = Selectable<IdentityTables['identity_sign_ins']>;
type IdentitySession = Selectable<IdentityTables['identity_sessions']>;

/** The sessions that a logout token or an unlinked identity ends. */
export interface EndedSessions {
  readonly issuer: string;
  readonly sub?: string | undefined;
  readonly sid?: string | undefined;
}

/** SQL of the identities, their sign-ins and sessions. */
export class IdentityStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Identities of an account, in the order they were linked. */
  list(userId: number, db: Executor = this.#database.kysely): Promise<IdentityRow[]> {
    return db.selectFrom('identities').selectAll().where('user_id', '=', userId).orderBy('id').execute();
  }

  find({ issuer, sub }: IdentityKey, db: Executor = this.#database.kysely): Promise<IdentityRow | undefined> {
    return db
      .selectFrom('identities')
      .selectAll()
      .where('issuer', '=', issuer)
      .where('sub', '=', sub)
      .executeTakeFirst();
  }

  /** Returns false if the identity is linked already, to this or another account. */
  async insert(trx: Trx, identity: Omit<IdentityRow, 'id'>): Promise<boolean> {
    return wasChanged(
      await trx
        .insertInto('identities')
        .values(identity)
        .onConflict((conflict) => conflict.columns(['issuer', 'sub']).doNothing())
        .executeTakeFirst(),
    );
  }

  async updateEmail(trx: Trx, id: number, email: string | null): Promise<void> {
    await trx.updateTable('identities').set({ email }).where('id', '=', id).execute();
  }

  /** Records a sign-in; returns false if the identity is no longer linked to this account. */
  async recordUse(trx: Trx, { issuer, sub }: IdentityKey, userId: number, now: number): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('identities')
        .set({ last_used_at: now })
        .where('issuer', '=', issuer)
        .where('sub', '=', sub)
        .where('user_id', '=', userId)
        .executeTakeFirst(),
    );
  }

  /** Unlinks an identity of that account and returns it. */
  remove(trx: Trx, userId: number, id: number): Promise<IdentityRow | undefined> {
    return trx
      .deleteFrom('identities')
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .returningAll()
      .executeTakeFirst();
  }

  /** Unlinks the identities of an account; one at a provider that creates accounts gets a new one at its next sign-in. */
  async deleteOfUser(trx: Trx, userId: number): Promise<void> {
    await trx.deleteFrom('identities').where('user_id', '=', userId).execute();
    await trx.deleteFrom('identity_sessions').where('user_id', '=', userId).execute();
  }

  async insertSignIn(signIn: PendingSignIn): Promise<void> {
    await this.#database.kysely.insertInto('identity_sign_ins').values(signIn).execute();
  }

  /**
   * Takes the sign-in of a returning browser; exactly one of several concurrent callers gets it. Another browser, and
   * another provider, get nothing and leave it.
   */
  takeSignIn(
    { state_hash, browser_hash, provider }: Pick<PendingSignIn, 'state_hash' | 'browser_hash' | 'provider'>,
    now: number,
  ): Promise<PendingSignIn | undefined> {
    return this.#database.kysely
      .deleteFrom('identity_sign_ins')
      .where('state_hash', '=', state_hash)
      .where('browser_hash', '=', browser_hash)
      .where('provider', '=', provider)
      .where('expires_at', '>', now)
      .returningAll()
      .executeTakeFirst();
  }

  async insertSession(trx: Trx, session: IdentitySession): Promise<void> {
    await trx.insertInto('identity_sessions').values(session).execute();
  }

  /** Deletes the records of sessions that must end, and returns the hashes of their cookies. */
  async takeSessions(trx: Trx, { issuer, sub, sid }: EndedSessions): Promise<readonly string[]> {
    let query = trx.deleteFrom('identity_sessions').where('issuer', '=', issuer);
    if (sub !== undefined) query = query.where('sub', '=', sub);
    if (sid !== undefined) query = query.where('sid', '=', sid);
    const rows = await query.returning('session_hash').execute();
    return rows.map((row) => row.session_hash);
  }

  /** Records the use of a logout token; returns false if it was used before. */
  async useLogoutToken(trx: Trx, token: Selectable<IdentityTables['logout_tokens']>): Promise<boolean> {
    return wasChanged(
      await trx
        .insertInto('logout_tokens')
        .values(token)
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst(),
    );
  }

  /** Deletes expired sign-ins and logout tokens, and records of sessions that no longer exist. */
  async deleteExpired(now: number): Promise<void> {
    const { kysely } = this.#database;
    await kysely.deleteFrom('identity_sign_ins').where('expires_at', '<=', now).execute();
    await kysely.deleteFrom('logout_tokens').where('expires_at', '<=', now).execute();
    await kysely
      .deleteFrom('identity_sessions')
      .where((row) =>
        row.not(
          row.exists(
            row
              .selectFrom('sessions')
              .select('sessions.id')
              .whereRef('sessions.hash', '=', 'identity_sessions.session_hash'),
          ),
        ),
      )
      .execute();
  }
}
