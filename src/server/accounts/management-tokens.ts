import type { Role } from '../../contract/account-fields.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/sql.ts';
import type { AccountCaller, RequestOrigin } from '../platform/http/route-registry.ts';
import { hashToken, randomToken } from '../platform/tokens.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { AccountStore } from './account-store.ts';
import type { AuditLog } from './audit-log.ts';
import type { SecurityNotices } from './security-notices.ts';
import type { SessionStore } from './sessions.ts';
import { CREDENTIAL_PREFIX } from './tokens.ts';

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
      if (caller.kind === 'device') throw new AppError('forbidden');
      // Takes the lock that revoking logins takes: a request authenticated before a revocation must not create a token
      // after it.
      await accounts.lock(trx, userId);
      if ((await credentials.findCreatedAt(caller, trx)) === undefined) throw new AppError('unauthorized');
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
}
