import { sql } from 'kysely';
import type { Role } from '../../contract/account-fields.ts';
import type { SessionEndReason } from '../../contract/accounts.ts';
import type { Page } from '../../contract/responses.ts';
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery, statementParts, wasChanged } from '../platform/db/sql.ts';
import type { AccountCaller, LoginClient, RequestOrigin } from '../platform/http/route-registry.ts';
import { CREDENTIAL_PREFIX, hashToken, randomToken } from '../platform/tokens.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { AccountStore } from './account-store.ts';
import type { AuditLog } from './audit-log.ts';
import type { SecurityNotices } from './security-notices.ts';

/** Lifetime of a session after its last use. */
export const SESSION_MS = 7 * DAY_MS;
/**
 * Minimum time between two extensions of a session's expiry, so that a page with many requests does not cause a write
 * for each.
 */
const EXTEND_EVERY_MS = HOUR_MS;

/** Where a login came from, shortened for lists. */
export const toClientColumns = ({ address, userAgent }: Pick<LoginClient, 'address' | 'userAgent'>) => ({
  address: address.slice(0, 64),
  user_agent: userAgent.slice(0, 300),
});

interface SessionServiceDependencies {
  readonly store: SessionStore;
  readonly clock: Clock;
}

/** Login sessions: opaque cookie values, stored on the server as SHA-256 so that each can be revoked. */
export class SessionService {
  readonly #store: SessionStore;
  readonly #clock: Clock;

  constructor({ store, clock }: SessionServiceDependencies) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Starts a session under a new id and returns its cookie value, of which only the hash is stored. */
  async start(trx: Trx, userId: number, client: Pick<LoginClient, 'address' | 'userAgent'>): Promise<string> {
    const token = randomToken(CREDENTIAL_PREFIX.session, 43);
    const now = this.#clock.now();
    await this.#store.insert(trx, {
      hash: hashToken(token),
      user_id: userId,
      ...toClientColumns(client),
      created_at: now,
      expires_at: now + SESSION_MS,
    });
    return token;
  }

  /**
   * The active session of a cookie value; use extends its expiry. `renewed`: the cookie's expiry must be extended as
   * well.
   */
  async find(token: string): Promise<(SessionRow & { readonly renewed: boolean }) | undefined> {
    const now = this.#clock.now();
    const row = await this.#store.findByHash(hashToken(token), now);
    if (row === undefined) return undefined;
    const renewed = now - row.last_used_at >= EXTEND_EVERY_MS;
    if (renewed) await this.#store.extend(row.id, now, now + SESSION_MS);
    return { ...row, renewed };
  }

  /** Revokes sessions by the SHA-256 of their cookies, and keeps the reason for the browsers to read. */
  endByHashes(trx: Trx, hashes: readonly string[], reason: SessionEndReason): Promise<void> {
    return this.#store.endByHashes(trx, hashes, { reason, ended_at: this.#clock.now() });
  }

  async endByToken(trx: Trx, token: string): Promise<void> {
    await this.#store.deleteByHash(trx, hashToken(token));
  }

  /** Logs out and deletes the session. Returns false if the account has no such session. */
  end(userId: number, id: number): Promise<boolean> {
    return this.#store.delete(userId, id);
  }

  /**
   * Revokes a session from another one, and keeps the reason for the browser to read. Returns false if the account has
   * no such session.
   */
  async endFromElsewhere(userId: number, id: number): Promise<boolean> {
    const end = { reason: 'signed_out_elsewhere' as const, ended_at: this.#clock.now() };
    const ended = await this.#store.transaction((trx) => this.#store.end(trx, userId, id, end));
    return ended !== undefined;
  }

  /** Why the session of a cookie value was revoked, for as long as the browser keeps the cookie. */
  findEnd(token: string): Promise<SessionEnd | undefined> {
    return this.#store.findEnd(hashToken(token), this.#clock.now());
  }

  list(userId: number, page: Page): ReturnType<SessionStore['list']> {
    return this.#store.list(userId, this.#clock.now(), page);
  }

  async deleteExpired(): Promise<void> {
    const now = this.#clock.now();
    await this.#store.deleteExpired(now, now - SESSION_MS);
  }
}

/** An active session with the current permissions of its account. */
interface SessionRow {
  readonly id: number;
  readonly user_id: number;
  readonly role: Role;
  readonly status: number;
  readonly created_at: number;
  readonly last_used_at: number;
}

const ENDED_SESSION_COLUMNS = 3;

interface NewSession {
  readonly hash: string;
  readonly user_id: number;
  readonly address: string;
  readonly user_agent: string;
  readonly created_at: number;
  readonly expires_at: number;
}

/** Why and when a session ended, in Unix milliseconds. */
interface SessionEnd {
  readonly reason: SessionEndReason;
  readonly ended_at: number;
}

const sessionByHash = prepareQuery<Tables, { hash: string; now: number }>()((db, p) =>
  db
    .selectFrom('sessions')
    .innerJoin('accounts', 'accounts.id', 'sessions.user_id')
    .select([
      'sessions.id',
      'sessions.user_id',
      'sessions.created_at',
      'sessions.last_used_at',
      'accounts.role',
      'accounts.status',
    ])
    .where('sessions.hash', '=', p('hash'))
    .where('sessions.expires_at', '>', p('now')),
);

/** SQL of `sessions`. */
export class SessionStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  findByHash(hash: string, now: number): Promise<SessionRow | undefined> {
    return sessionByHash.first(this.#database.kysely, { hash, now });
  }

  /** When a session that has not ended was created (Unix milliseconds). Ids are never reused. */
  findStart(id: number, db: Executor = this.#database.kysely): Promise<{ readonly created_at: number } | undefined> {
    return db.selectFrom('sessions').select('created_at').where('id', '=', id).executeTakeFirst();
  }

  async insert(trx: Trx, session: NewSession): Promise<void> {
    await trx
      .insertInto('sessions')
      .values({ ...session, last_used_at: session.created_at })
      .execute();
  }

  /** Extends an active session; one revoked since stays revoked. */
  async extend(id: number, now: number, expiresAt: number): Promise<void> {
    await this.#database.kysely
      .updateTable('sessions')
      .set({ last_used_at: now, expires_at: expiresAt })
      .where('id', '=', id)
      .execute();
  }

  async deleteByHash(trx: Trx, hash: string): Promise<void> {
    await trx.deleteFrom('sessions').where('hash', '=', hash).execute();
  }

  transaction<R>(work: (trx: Trx) => Promise<R>): Promise<R> {
    return this.#database.transaction(work);
  }

  /** Deletes a session of that account; returns false if there was none. */
  async delete(userId: number, id: number): Promise<boolean> {
    return wasChanged(
      await this.#database.kysely
        .deleteFrom('sessions')
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .executeTakeFirst(),
    );
  }

  /** Revokes a session of that account; returns where it was used, or undefined if there was none. */
  async end(trx: Trx, userId: number, id: number, end: SessionEnd) {
    const ended = await trx
      .deleteFrom('sessions')
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .returning(['hash', 'address', 'user_agent'])
      .executeTakeFirst();
    if (ended === undefined) return undefined;
    const { hash, ...client } = ended;
    await trx
      .insertInto('ended_sessions')
      .values({ hash, ...end })
      .execute();
    return client;
  }

  /** Revokes the sessions of these cookies that have not ended. */
  async endByHashes(trx: Trx, hashes: readonly string[], end: SessionEnd): Promise<void> {
    for (const part of statementParts(hashes, ENDED_SESSION_COLUMNS)) {
      const ended = await trx.deleteFrom('sessions').where('hash', 'in', part).returning('hash').execute();
      if (ended.length === 0) continue;
      await trx
        .insertInto('ended_sessions')
        .values(ended.map(({ hash }) => ({ hash, ...end })))
        .execute();
    }
  }

  /** Revokes all sessions of an account except the one to keep, if any. */
  async endOfUser(trx: Trx, userId: number, { reason, ended_at }: SessionEnd, keepId = 0): Promise<void> {
    await trx
      .insertInto('ended_sessions')
      .columns(['hash', 'reason', 'ended_at'])
      // One statement: an account may have more sessions than a statement has parameters.
      .expression((row) =>
        row
          .selectFrom('sessions')
          .select([
            'hash',
            sql<SessionEndReason>`cast(${reason} as text)`.as('reason'),
            sql<number>`cast(${ended_at} as bigint)`.as('ended_at'),
          ])
          .where('user_id', '=', userId)
          .where('id', '!=', keepId),
      )
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    await trx.deleteFrom('sessions').where('user_id', '=', userId).where('id', '!=', keepId).execute();
  }

  /** Why and when a session ended: it was revoked, or expired by `now` (Unix milliseconds). */
  async findEnd(hash: string, now: number): Promise<SessionEnd | undefined> {
    const { kysely } = this.#database;
    const ended = await kysely
      .selectFrom('ended_sessions')
      .select(['reason', 'ended_at'])
      .where('hash', '=', hash)
      .executeTakeFirst();
    if (ended !== undefined) return ended;
    const expired = await kysely
      .selectFrom('sessions')
      .select('expires_at as ended_at')
      .where('hash', '=', hash)
      .where('expires_at', '<=', now)
      .executeTakeFirst();
    return expired && { reason: 'expired', ...expired };
  }

  /** @param endedBefore reasons of sessions that ended earlier are deleted; Unix milliseconds */
  async deleteExpired(now: number, endedBefore: number): Promise<void> {
    const { kysely } = this.#database;
    await kysely.deleteFrom('sessions').where('expires_at', '<=', now).execute();
    await kysely.deleteFrom('ended_sessions').where('ended_at', '<=', endedBefore).execute();
  }

  /** Active sessions of an account, newest first. */
  async list(userId: number, now: number, page: Page) {
    const own = this.#database.kysely
      .selectFrom('sessions')
      .where('user_id', '=', userId)
      .where('expires_at', '>', now);
    const [rows, count] = await Promise.all([
      own
        .select(['id', 'address', 'user_agent', 'created_at', 'last_used_at', 'expires_at'])
        .orderBy('id', 'desc')
        .limit(page.pageSize)
        .offset(page.offset)
        .execute(),
      own.select((row) => row.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(count.total) };
  }
}

interface ManagementTokenDependencies {
  readonly database: Database<Tables>;
  readonly store: ManagementTokenStore;
  readonly accounts: AccountStore;
  readonly credentials: CredentialRecheck;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
  readonly notices: SecurityNotices;
}

/** The management access token of an account: one at a time, for programs that manage the account. */
export class ManagementTokenService {
  readonly #dependencies: ManagementTokenDependencies;

  constructor(dependencies: ManagementTokenDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Creates a token, which voids the previous one, and returns it in clear; only its hash is stored.
   *
   * @throws unauthorized if the caller's credential has ended since, forbidden for a device
   */
  reissue(caller: AccountCaller, origin: RequestOrigin): Promise<string> {
    const { database, store, accounts, credentials, clock, auditLog, notices } = this.#dependencies;
    const { userId } = caller;
    return database.transaction(async (trx) => {
      await accounts.lock(trx, userId);
      await credentials.assertLive(trx, caller);
      const token = randomToken(CREDENTIAL_PREFIX.management, 43, { checksum: true });
      await store.put(trx, userId, hashToken(token), clock.now());
      await auditLog.record(trx, { actorId: userId, action: 'self.user-token', target: `user:${userId}`, ...origin });
      await notices.notify(trx, userId, 'user-token');
      return token;
    });
  }
}

const tokenByHash = prepareQuery<Tables, { hash: string }>()((db, p) =>
  db
    .selectFrom('user_tokens')
    .innerJoin('accounts', 'accounts.id', 'user_tokens.user_id')
    .select(['user_tokens.user_id', 'accounts.role', 'accounts.status'])
    .where('user_tokens.hash', '=', p('hash')),
);

/** SQL of `user_tokens`: one management access token per account. */
export class ManagementTokenStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** The account of a token, with its current role and status. */
  findByHash(
    hash: string,
  ): Promise<{ readonly user_id: number; readonly role: Role; readonly status: number } | undefined> {
    return tokenByHash.first(this.#database.kysely, { hash });
  }

  /** When a token that still exists was created (Unix milliseconds). */
  findStart(hash: string, db: Executor = this.#database.kysely): Promise<{ readonly created_at: number } | undefined> {
    return db.selectFrom('user_tokens').select('created_at').where('hash', '=', hash).executeTakeFirst();
  }

  /** Replaces the account's token. */
  async put(trx: Trx, userId: number, hash: string, now: number): Promise<void> {
    await trx
      .insertInto('user_tokens')
      .values({ user_id: userId, hash, created_at: now })
      .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ hash, created_at: now }))
      .execute();
  }

  async deleteOfUser(trx: Trx, userId: number): Promise<void> {
    await trx.deleteFrom('user_tokens').where('user_id', '=', userId).execute();
  }
}

interface CredentialRecheckDependencies {
  readonly sessions: SessionStore;
  readonly managementTokens: ManagementTokenStore;
}

/** Re-reads the credential of a request that was authenticated earlier. */
export class CredentialRecheck {
  readonly #dependencies: CredentialRecheckDependencies;

  constructor(dependencies: CredentialRecheckDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * When the session or management token was created, that is, when the user last proved their identity for it (Unix
   * milliseconds).
   *
   * @returns undefined if the credential has ended since
   */
  async findCreatedAt(
    caller: Extract<AccountCaller, { kind: 'session' | 'user-token' }>,
    db?: Executor,
  ): Promise<number | undefined> {
    const { sessions, managementTokens } = this.#dependencies;
    const found =
      caller.kind === 'session'
        ? await sessions.findStart(caller.sessionId, db)
        : await managementTokens.findStart(caller.tokenHash, db);
    return found?.created_at;
  }

  /**
   * Called before anything that signs in is added, under the lock of the account, which revoking its logins takes as
   * well: a request authenticated before a revocation must not add a way in after it.
   *
   * @throws unauthorized if the credential has ended since, forbidden for a device
   */
  async assertLive(trx: Trx, caller: AccountCaller): Promise<void> {
    if (caller.kind === 'device') throw new AppError('forbidden');
    if ((await this.findCreatedAt(caller, trx)) === undefined) throw new AppError('unauthorized');
  }
}

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
