import { canManage, DISABLED, ENABLED, type Role } from '../../contract/account-fields.ts';
import type { SessionEndReason } from '../../contract/accounts.ts';
import type { SpendLimit } from '../../contract/amounts.ts';
import { defined } from '../../contract/objects.ts';
import type { Page } from '../../contract/responses.ts';
import { AppError, invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { isUniqueViolation } from '../platform/db/sql.ts';
import type { AccountCaller, RequestOrigin } from '../platform/http/route-registry.ts';
import type { Ledger, WalletAdjustment } from '../quota/ledger.ts';
import type { Tables, Trx } from '../tables.ts';
import type { Account, AccountAccess, AccountColumns, AccountStore } from './account-store.ts';
import type { AuditLog } from './audit-log.ts';
import { normalizeEmail } from './email.ts';
import type { Memberships } from './memberships.ts';
import type { PasskeyStore } from './passkeys.ts';
import { assertUncommonPassword, type PasswordHasher } from './passwords.ts';
import type { NewUser, RegistrationService } from './registration.ts';
import type { SecurityNotices } from './security-notices.ts';
import type { LoginRevocation, SessionService, SessionStore } from './sessions.ts';
import type { TokenStore } from './tokens.ts';
import type { TwoFactorStore } from './two-factor.ts';

/** The fields an administrator may change; absent fields stay unchanged. */
interface UserUpdate extends WalletAdjustment {
  readonly username?: string;
  readonly password?: string;
  readonly role?: Role;
  /** 1 enabled, 2 disabled. */
  readonly status?: number;
  readonly concurrent_tasks?: number | null;
  readonly queued_tasks?: number | null;
  readonly spend_limit?: SpendLimit | null;
  readonly display_name?: string;
  readonly email?: string;
}

interface UserAdminServiceDependencies {
  readonly database: Database<Tables>;
  readonly accounts: AccountStore;
  readonly access: AccountAccess;
  readonly users: RegistrationService;
  readonly sessions: SessionService;
  readonly sessionStore: SessionStore;
  readonly tokens: TokenStore;
  readonly memberships: Pick<Memberships, 'assertNotLastOwner'>;
  readonly twoFactors: TwoFactorStore;
  readonly passkeys: PasskeyStore;
  readonly passwords: PasswordHasher;
  readonly loginRevocation: LoginRevocation;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
  readonly notices: SecurityNotices;
}

/** Administration of accounts that rank below the administrator. */
export class UserAdminService {
  readonly #dependencies: UserAdminServiceDependencies;

  constructor(dependencies: UserAdminServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws rank_too_low, username_taken, email_taken, password_too_common */
  async create(caller: AccountCaller, user: NewUser, origin: RequestOrigin): Promise<number> {
    const { users, auditLog } = this.#dependencies;
    const { username, quota, role = 'user' } = user;
    if (!canManage(caller.role, role)) throw new AppError('rank_too_low');
    return users.create(user, async (trx, id) => {
      if (!canManage(await this.#roleNow(trx, caller), role)) throw new AppError('rank_too_low');
      await auditLog.record(trx, {
        actorId: caller.userId,
        action: 'user.create',
        target: `user:${id}`,
        after: { username, role, quota },
        ...origin,
      });
    });
  }

  /**
   * @throws not_exist, rank_too_low, last_root, username_taken, email_taken, password_too_common, quota_not_enough,
   *   idempotency_mismatch, invalid_request
   */
  async update(caller: AccountCaller, id: number, update: UserUpdate, origin: RequestOrigin): Promise<void> {
    const { database, accounts, passwords } = this.#dependencies;
    if (update.quota !== undefined && update.quota_delta !== undefined)
      throw invalidRequest('Give quota or quota_delta, not both.', 'quota');
    if (update.password !== undefined)
      await assertUncommonPassword(update.password, update.username ?? (await accounts.find(id))?.username ?? '');
    const hash = update.password === undefined ? undefined : await passwords.hash(update.password);
    try {
      await database.transaction((trx) => this.#apply(trx, caller, id, update, hash, origin));
    } catch (error) {
      // Another account took the name or e-mail concurrently; the unique index rejected the update.
      if (!isUniqueViolation(error)) throw error;
      throw new AppError(update.username === undefined ? 'email_taken' : 'username_taken', { cause: error });
    }
  }

  /**
   * Gives the role that an identity provider states, in the transaction of a sign-in that has locked the account. Root
   * stays root, and the last administrator stays one, so that no claim locks everybody out.
   */
  async mapRole(trx: Trx, account: Account, isAdmin: boolean, provider: string, origin: RequestOrigin): Promise<void> {
    const { accounts, loginRevocation, auditLog, notices } = this.#dependencies;
    const role = isAdmin ? 'admin' : 'user';
    if (account.role === 'root' || account.role === role) return;
    if (!isAdmin && (await accounts.listAdministrators(trx)).every((id) => id === account.id)) return;
    await accounts.update(trx, account.id, { role });
    await loginRevocation.revokeAll(trx, account.id, 'role_changed');
    await notices.notify(trx, account.id, 'role-changed');
    await auditLog.record(trx, {
      action: 'user.map-role',
      target: `user:${account.id}`,
      before: { role: account.role },
      after: { role, provider },
      ...origin,
    });
  }

  /** @throws not_exist, rank_too_low, last_root, last_owner */
  async remove(caller: AccountCaller, id: number, origin: RequestOrigin): Promise<void> {
    const { database, accounts, memberships, tokens, loginRevocation, auditLog, clock } = this.#dependencies;
    await database.transaction(async (trx) => {
      const { account, isLastRoot } = await this.#lockManaged(trx, caller, id);
      if (isLastRoot) throw new AppError('last_root');
      await memberships.assertNotLastOwner(trx, id);
      await loginRevocation.revokeAll(trx, id, 'account_removed');
      await tokens.revokeAll(trx, id, clock.now());
      await tokens.revokeOfActor(trx, id, clock.now());
      await accounts.remove(trx, id, clock.now());
      await auditLog.record(trx, {
        actorId: caller.userId,
        action: 'user.delete',
        target: `user:${id}`,
        before: { username: account.username, role: account.role },
        ...origin,
      });
    });
  }

  /**
   * Sessions of an account with their IPs, for administrators of a higher rank only. @throws not_exist, rank_too_low
   */
  async listSessions(caller: AccountCaller, id: number, page: Page): ReturnType<SessionService['list']> {
    const account = await this.#dependencies.accounts.find(id);
    if (account === undefined) throw notExistError('account');
    if (!canManage(caller.role, account.role)) throw new AppError('rank_too_low');
    return this.#dependencies.sessions.list(id, page);
  }

  /** @throws not_exist (also for a session of another account), rank_too_low */
  async endSession(caller: AccountCaller, id: number, sessionId: number, origin: RequestOrigin): Promise<void> {
    const { database, access, sessionStore, auditLog, clock } = this.#dependencies;
    await database.transaction(async (trx) => {
      await access.assertCanManage(trx, caller.userId, id);
      const end = { reason: 'signed_out_by_administrator' as const, ended_at: clock.now() };
      const ended = await sessionStore.end(trx, id, sessionId, end);
      if (ended === undefined) throw notExistError('session');
      await auditLog.record(trx, {
        actorId: caller.userId,
        action: 'user.session_end',
        target: `user:${id}`,
        before: { session: sessionId, ...ended },
        ...origin,
      });
    });
  }

  /**
   * Removes the passkeys and the two-step verification of an owner who lost them; the owner logs in with the password
   * and sets new ones up.
   *
   * @throws not_exist, rank_too_low
   */
  async resetSecondFactors(caller: AccountCaller, id: number, origin: RequestOrigin): Promise<void> {
    const { database, twoFactors, passkeys, loginRevocation, auditLog, notices } = this.#dependencies;
    await database.transaction(async (trx) => {
      await this.#lockManaged(trx, caller, id);
      const hadTwoFactor = await twoFactors.disable(trx, id);
      const removed = await passkeys.deleteOfUser(trx, id);
      const isOwn = caller.kind === 'session' && caller.userId === id;
      await loginRevocation.revokeAll(trx, id, 'second_factors_reset', isOwn ? caller.sessionId : undefined);
      await auditLog.record(trx, {
        actorId: caller.userId,
        action: 'user.reset-second-factors',
        target: `user:${id}`,
        before: { two_factor: hadTwoFactor, passkeys: removed },
        ...origin,
      });
      await notices.notify(trx, id, 'second-factors-reset');
    });
  }

  async #apply(
    trx: Trx,
    caller: AccountCaller,
    id: number,
    update: UserUpdate,
    hash: string | undefined,
    origin: RequestOrigin,
  ): Promise<void> {
    const { accounts, tokens, loginRevocation, auditLog, notices, ledger, clock } = this.#dependencies;
    const { account, callerRole, isLastRoot } = await this.#lockManaged(trx, caller, id);
    if (update.role !== undefined && !canManage(callerRole, update.role)) throw new AppError('rank_too_low');
    if (isLastRoot && removesRootAccess(update)) throw new AppError('last_root');
    const columns = toColumns(update);
    await this.#assertNotTaken(trx, account, columns);
    if (Object.keys(columns).length > 0)
      await accounts.update(trx, id, defined({ ...columns, ...toLoginEmail(columns.email, clock.now()) }));
    if (hash !== undefined) {
      await accounts.putPassword(trx, id, hash, clock.now());
      await notices.notify(trx, id, 'password');
    }
    const delta = await ledger.adjustWallet(trx, id, update);
    if (update.spend_limit !== undefined)
      await ledger.setSpendLimit(trx, { kind: 'account', id }, update.spend_limit ?? undefined);
    const reason = toEndReason(account, columns, hash !== undefined);
    if (reason === 'account_disabled') await tokens.revokeOfActor(trx, id, clock.now());
    if (reason !== undefined) {
      const isOwn = caller.kind === 'session' && caller.userId === id;
      await loginRevocation.revokeAll(trx, id, reason, isOwn ? caller.sessionId : undefined);
    }
    if (isChanged(account, columns, 'role')) await notices.notify(trx, id, 'role-changed');
    await auditLog.record(trx, {
      actorId: caller.userId,
      action: 'user.update',
      target: `user:${id}`,
      before: pickChanged(account, columns),
      after: defined({
        ...columns,
        password: hash === undefined ? undefined : '[changed]',
        quota_delta: delta === 0 ? undefined : delta,
        spend_limit: update.spend_limit,
        note: update.note,
      }),
      ...origin,
    });
  }

  /**
   * Locks and returns the account if the caller may manage it. Roots are locked first and in a fixed order, which rules
   * out deadlocks.
   */
  async #lockManaged(trx: Trx, caller: AccountCaller, id: number) {
    const { accounts } = this.#dependencies;
    const roots = await accounts.lockRoots(trx);
    const account = await accounts.lock(trx, id);
    if (account === undefined || account.kind !== 'person') throw notExistError('account');
    const callerRole = await this.#roleNow(trx, caller);
    if (!canManage(callerRole, account.role)) throw new AppError('rank_too_low');
    return { account, callerRole, isLastRoot: roots.length === 1 && roots[0] === id };
  }

  /**
   * The role of the caller, which may have been lowered since the request was authenticated: a new password waits for
   * its hash. @throws rank_too_low for an account that was disabled or removed
   */
  async #roleNow(trx: Trx, { userId }: AccountCaller): Promise<Role> {
    const actor = await this.#dependencies.accounts.find(userId, trx);
    if (actor?.status !== ENABLED) throw new AppError('rank_too_low');
    return actor.role;
  }

  async #assertNotTaken(trx: Trx, { id }: Account, { username, email }: AccountColumns): Promise<void> {
    const { accounts } = this.#dependencies;
    if (email && (await accounts.isLoginEmailTaken(trx, email, id))) throw new AppError('email_taken');
    if (username === undefined) return;
    const holder = await accounts.findByLogin(username, trx);
    if (holder !== undefined && holder.id !== id) throw new AppError('username_taken');
  }
}

type Columns = Omit<AccountColumns, 'login_email' | 'email_confirmed_at'>;

/** An administrator vouches for the e-mail they enter, so it counts for login immediately. */
const toLoginEmail = (email: string | null | undefined, now: number): AccountColumns =>
  email === undefined ? {} : { login_email: email, email_confirmed_at: email === null ? null : now };

const removesRootAccess = ({ role, status }: UserUpdate): boolean =>
  (role !== undefined && role !== 'root') || status === DISABLED;

const toColumns = ({
  username,
  email,
  display_name,
  role,
  status,
  concurrent_tasks,
  queued_tasks,
}: UserUpdate): Columns =>
  defined({
    username,
    email: normalizeEmail(email),
    display_name,
    role,
    status,
    concurrent_tasks,
    queued_tasks,
  });

/** Why the change ends the sessions of the account; undefined if it does not. */
function toEndReason(account: Account, columns: Columns, hasNewPassword: boolean): SessionEndReason | undefined {
  if (isChanged(account, columns, 'status')) return 'account_disabled';
  if (hasNewPassword) return 'password_set_by_administrator';
  return isChanged(account, columns, 'role') ? 'role_changed' : undefined;
}

const isChanged = (account: Account, columns: Columns, key: 'role' | 'status'): boolean =>
  columns[key] !== undefined && columns[key] !== account[key];

const pickChanged = (account: Account, columns: Columns): Partial<Account> =>
  Object.fromEntries(Object.keys(columns).map((key) => [key, account[key as keyof Columns]]));
