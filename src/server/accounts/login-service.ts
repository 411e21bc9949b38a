import { type Insertable, type Selectable, sql } from 'kysely';
import { canManage, ENABLED, ROLES, type Role } from '../../contract/account-fields.ts';
import type { LoginOutcomeName } from '../../contract/accounts.ts';
import type { ErrorCode } from '../../contract/error-codes.ts';
import type { Assertion, PresenceProof } from '../../contract/passkey-credentials.ts';
import type { LongListPage, LongPage } from '../../contract/responses.ts';
import { AppError, invalidRequest, isAppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { PeriodicWriter } from '../platform/concurrency.ts';
import type { Database } from '../platform/db/database.ts';
import { deleteOldRows, type OldRows, readLargeListPage } from '../platform/db/sql.ts';
import type { AccountCaller, LoginClient } from '../platform/http/route-registry.ts';
import type { Log } from '../platform/log.ts';
import { normalizeName } from '../platform/text.ts';
import { CREDENTIAL_PREFIX, hashToken, randomToken } from '../platform/tokens.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { Account, AccountStore } from './account-store.ts';
import type { PasskeyService } from './passkeys.ts';
import type { PasswordHasher, PermittedHasher } from './passwords.ts';
import {
  type AccountRateLimits,
  GuessLimit,
  type GuessSource,
  type KnownSources,
  toGuessSource,
} from './rate-limits.ts';
import type { SecondFactors, SecondStepProof } from './second-factors.ts';
import { type PendingLoginStore, type SessionService, type SessionStore, toClientColumns } from './sessions.ts';
import type { TwoFactorService } from './two-factor.ts';
import type { WaysIn } from './ways-in.ts';

/** Time between a correct password and the second step. */
export const PENDING_LOGIN_MS = 5 * 60_000;
const MAX_WRONG_CODES = 5;

/** A purpose of a login besides its session, such as device sign-in. */
interface LoginPurpose {
  readonly name: string;
  /** Called in the transaction that creates the session; throwing rolls the login back. */
  onLoggedIn(trx: Trx, subject: string, account: Account, login: StartedLogin): Promise<void>;
}

/** The session a login has started. */
export interface StartedLogin {
  /** SHA-256 of the session cookie. */
  readonly sessionHash: string;
  /** Whether the account has logged in from this source before. */
  readonly isKnownSource: boolean;
}

/** A login of an account that another party has authenticated. */
interface VerifiedLogin {
  readonly userId: number;
  readonly client: LoginClient;
  /** Whether that party has asked for a second factor; if not, the account's own second step follows. */
  readonly hasSecondFactor: boolean;
  readonly purpose: LoginSubject;
}

interface PasswordLogin {
  /** User name or e-mail. */
  readonly username: string;
  readonly password: string;
  /** The client. A successful login ends its existing session, whichever account that belongs to. */
  readonly client: LoginClient;
  readonly purpose?: LoginSubject;
}

interface LoginSubject {
  readonly name: string;
  readonly subject: string;
}

interface PasskeyLogin {
  readonly credential: Assertion;
  readonly client: LoginClient;
  readonly purpose?: LoginSubject;
}

interface SecondStep extends SecondStepProof {
  /** Value of the cookie from the first step. */
  readonly pending: string | undefined;
  readonly client: LoginClient;
}

/** `session` and `knownDevice` are cookie values, which exist in clear only here. */
interface CompletedLogin {
  readonly step: 'done';
  readonly account: Account;
  readonly session: string;
  readonly knownDevice: string;
}

/** `pending` is a cookie value, which exists in clear only here. */
export type LoginOutcome = CompletedLogin | { readonly step: 'second'; readonly pending: string };

interface LoginServiceDependencies {
  readonly database: Database<Tables>;
  readonly accounts: AccountStore;
  readonly pendingLogins: PendingLoginStore;
  readonly clock: Clock;
  readonly passwords: PasswordHasher;
  readonly rateLimits: AccountRateLimits;
  readonly knownSources: KnownSources;
  readonly loginHistory: LoginHistory;
  readonly sessions: SessionService;
  readonly twoFactors: TwoFactorService;
  readonly passkeys: PasskeyService;
  readonly secondFactors: SecondFactors;
  readonly waysIn: WaysIn;
}

interface VerifiedPassword {
  readonly account: Account;
  /** The stored hash that matched. */
  readonly stored: string;
  readonly isKnownSource: boolean;
}

/** Single entry point for all logins, so that all of them count against the same limits. */
export class LoginService {
  readonly #dependencies: LoginServiceDependencies;
  readonly #guesses: GuessLimit;
  readonly #purposes = new Map<string, LoginPurpose>();

  constructor(dependencies: LoginServiceDependencies) {
    this.#dependencies = dependencies;
    const { rateLimits } = dependencies;
    this.#guesses = new GuessLimit({
      byAccount: rateLimits.passwordsByAccount,
      byKnownSource: rateLimits.passwordsByKnownSource,
      byNetwork: rateLimits.passwordsByNetwork,
      resetsWrongGuesses: true,
    });
  }

  /** Registers the callback that runs in the transaction of logins with that purpose. */
  registerPurpose(purpose: LoginPurpose): void {
    this.#purposes.set(purpose.name, purpose);
  }

  /** @throws wrong_login, password_sign_in_off, account_disabled, rate_limit_exceeded, unavailable */
  async logIn(login: PasswordLogin): Promise<LoginOutcome> {
    const { database, accounts, secondFactors } = this.#dependencies;
    const { account: found, stored, isKnownSource } = await this.#verifyLogin(login);
    return database.transaction<LoginOutcome>(async (trx) => {
      // Under this lock the account cannot change before the session exists, and a later change ends the session.
      const account = await accounts.lock(trx, found.id);
      if (account === undefined || (await accounts.findPassword(found.id, trx))?.hash !== stored)
        throw new AppError('wrong_login');
      if (account.status !== ENABLED) throw new AppError('account_disabled');
      const purpose = login.purpose ?? PLAIN_LOGIN;
      if (!(await secondFactors.mustFollow(account.id, account.role, trx)))
        return this.#startSession(trx, account, { client: login.client, twoStep: false, isKnownSource }, purpose);
      return { step: 'second', pending: await this.#addPendingLogin(trx, account.id, purpose) };
    });
  }

  /** @throws login_expired if the account was removed, account_disabled */
  async logInVerified({ userId, client, hasSecondFactor, purpose }: VerifiedLogin): Promise<LoginOutcome> {
    const { database, accounts, secondFactors, knownSources } = this.#dependencies;
    const source = await knownSources.identify(userId, client);
    const facts = { client, twoStep: false, isKnownSource: source.knownSourceKey !== undefined };
    return this.#recordingFailure({ userId, ...facts }, () =>
      database.transaction<LoginOutcome>(async (trx) => {
        const account = await accounts.lock(trx, userId);
        if (account === undefined) throw new AppError('login_expired');
        if (account.status !== ENABLED) throw new AppError('account_disabled');
        if (hasSecondFactor || !(await secondFactors.mustFollow(userId, account.role, trx)))
          return this.#startSession(trx, account, facts, purpose);
        return { step: 'second', pending: await this.#addPendingLogin(trx, userId, purpose) };
      }),
    );
  }

  /**
   * Logs in with a passkey, which replaces password and second step.
   *
   * @throws passkeys_off, passkey_expired, wrong_passkey, account_disabled, rate_limit_exceeded
   */
  async logInWithPasskey({ credential, client, purpose = PLAIN_LOGIN }: PasskeyLogin): Promise<CompletedLogin> {
    const { database, accounts, passkeys, knownSources } = this.#dependencies;
    const passkey = await passkeys.find(credential);
    const source = await knownSources.identify(passkey?.user_id, client);
    const facts = { client, twoStep: true, isKnownSource: source.knownSourceKey !== undefined };
    return this.#recordingFailure({ userId: passkey?.user_id, ...facts }, async () => {
      const used = await passkeys.verify(credential, passkey, source);
      return database.transaction(async (trx) => {
        const account = await accounts.lock(trx, used.passkey.user_id);
        if (account === undefined) throw new AppError('wrong_passkey');
        if (account.status !== ENABLED) throw new AppError('account_disabled');
        await passkeys.recordUse(trx, used);
        return this.#startSession(trx, account, facts, purpose);
      });
    });
  }

  /**
   * Completes the pending login of the cookie.
   *
   * @throws login_expired, second_step_required, wrong_code, wrong_passkey, passkey_expired, account_disabled,
   *   rate_limit_exceeded
   */
  async completeSecondStep({ pending, code, credential, client }: SecondStep): Promise<CompletedLogin> {
    const { pendingLogins, clock, knownSources } = this.#dependencies;
    if (pending === undefined) throw new AppError('login_expired');
    const hash = hashToken(pending);
    const attempt = await pendingLogins.countAttempt(hash, MAX_WRONG_CODES, clock.now());
    if (attempt === undefined) throw new AppError('login_expired');
    const source = await knownSources.identify(attempt.user_id, client);
    const facts = { client, twoStep: true, isKnownSource: source.knownSourceKey !== undefined };
    const complete = (use: (trx: Trx) => Promise<void>) => this.#completePending(attempt, facts, use);
    return this.#recordingFailure({ userId: attempt.user_id, ...facts }, async () => {
      const { passkeys, twoFactors } = this.#dependencies;
      if (credential !== undefined) {
        const passkey = await passkeys.find(credential);
        const own = passkey?.user_id === attempt.user_id ? passkey : undefined;
        const used = await passkeys.verify(credential, own, source, true);
        return complete((trx) => passkeys.recordUse(trx, used));
      }
      if (code === undefined) throw new AppError('second_step_required');
      return twoFactors.withGuess(attempt.user_id, source, () =>
        complete((trx) => twoFactors.useCode(trx, attempt.user_id, code)),
      );
    });
  }

  /** Ends the outstanding second steps of a purpose whose subject matches. */
  async endPending(trx: Trx, purpose: string, matches: (subject: string) => boolean): Promise<void> {
    const { pendingLogins } = this.#dependencies;
    for (const { hash, subject } of await pendingLogins.list(trx, purpose))
      if (matches(subject)) await pendingLogins.consume(trx, hash);
  }

  /**
   * Runs work after the caller has proved the current password; `hasher` hashes under the same permit.
   *
   * @throws wrong_password, rate_limit_exceeded, unavailable
   */
  async withConfirmedPassword<R>(
    caller: AccountCaller,
    password: string,
    work: (hasher: PermittedHasher, stored: string) => Promise<R>,
  ): Promise<R> {
    const key = String(caller.userId);
    const source = toGuessSource(caller);
    await this.#guesses.assertNotExhausted(key, source);
    return this.#dependencies.passwords.withPermit(async (hasher) => {
      const stored = await this.#dependencies.accounts.findPassword(caller.userId);
      if (!(await this.#guess(key, source, false, () => hasher.verify(password, stored?.hash))))
        throw new AppError('wrong_password');
      return work(hasher, stored?.hash ?? '');
    });
  }

  async deleteExpired(): Promise<void> {
    const { pendingLogins, knownSources, clock } = this.#dependencies;
    await pendingLogins.deleteExpired(clock.now());
    await knownSources.deleteExpired();
  }

  async #verifyLogin({ username: typed, password, client }: PasswordLogin): Promise<VerifiedPassword> {
    const username = normalizeName(typed);
    const { accounts, knownSources, passwords, loginHistory, waysIn } = this.#dependencies;
    // Without passwords, every refusal is the same: none reveals who is root, nor whether another's password was right.
    const refusal = waysIn.isPasswordAllowed('user') ? 'wrong_login' : 'password_sign_in_off';
    const account = await accounts.findByLogin(username);
    // By id if the account exists, so that name and e-mail share a limit.
    const key = account === undefined ? `?${username.toLowerCase()}` : String(account.id);
    const source = await knownSources.identify(account?.id, client);
    const isKnownSource = source.knownSourceKey !== undefined;
    const recordFailure = (outcome: 'wrong_password' | 'disabled'): void => {
      if (account !== undefined)
        loginHistory.recordFailure({ userId: account.id, client, twoStep: false, isKnownSource }, outcome);
    };
    // A password drawn at random by the service cannot be guessed. Skipping the limit by account lets root log in
    // during an attack.
    const isUnguessable = (await accounts.findPassword(account?.id ?? 0))?.generated === 1;
    // Checked before queueing, so that guesses beyond the limit do not delay other logins waiting for a hash.
    await this.#guesses.assertNotExhausted(key, source, isUnguessable);
    const verified = await passwords.withPermit(async (hasher) => {
      const stored = (await accounts.findPassword(account?.id ?? 0))?.hash;
      const hidesKind = await accounts.hasImported();
      const isRight = await this.#guess(key, source, isUnguessable, () => hasher.verify(password, stored, hidesKind));
      if (!isRight || account === undefined || stored === undefined) {
        recordFailure('wrong_password');
        throw new AppError(refusal);
      }
      if (!waysIn.isPasswordAllowed(account.role)) throw new AppError(refusal);
      if (!passwords.needsRehash(stored)) return { account, stored, isKnownSource };
      const fresh = await hasher.hash(password);
      if (await accounts.replacePasswordHash(account.id, stored, fresh))
        return { account, stored: fresh, isKnownSource };
      // A concurrent login has replaced it by another hash of this password, unless the password was changed.
      const current = (await accounts.findPassword(account.id))?.hash;
      if (current === undefined || !(await hasher.verify(password, current))) throw new AppError(refusal);
      return { account, stored: current, isKnownSource };
    });
    if (verified.account.status === ENABLED) return verified;
    recordFailure('disabled');
    throw new AppError('account_disabled');
  }

  /** Counts a guess, checks it, and refunds it if it was correct. */
  async #guess(key: string, source: GuessSource, isUnguessable: boolean, verify: () => Promise<boolean>) {
    await this.#guesses.consume(key, source, isUnguessable);
    const isRight = await verify();
    if (isRight) await this.#guesses.succeed(key, source, isUnguessable);
    return isRight;
  }

  /** Records a failure named by `FAILURES` in the login history of the account, if there is one. */
  async #recordingFailure<R>(
    { userId, ...facts }: Omit<LoginAttempt, 'userId'> & { readonly userId: number | undefined },
    verify: () => Promise<R>,
  ): Promise<R> {
    try {
      return await verify();
    } catch (error) {
      const outcome = isAppError(error) ? FAILURES[error.code] : undefined;
      if (userId !== undefined && outcome !== undefined)
        this.#dependencies.loginHistory.recordFailure({ userId, ...facts }, outcome);
      throw error;
    }
  }

  /** @param use uses up the proof of the second step, and throws if it is wrong */
  #completePending(
    { hash, user_id: userId, purpose, subject }: PendingAttempt,
    facts: Omit<LoginAttempt, 'userId'>,
    use: (trx: Trx) => Promise<void>,
  ): Promise<CompletedLogin> {
    const { database, accounts, pendingLogins } = this.#dependencies;
    return database.transaction(async (trx) => {
      const account = await accounts.lock(trx, userId);
      if (account === undefined) throw new AppError('login_expired');
      if (account.status !== ENABLED) throw new AppError('account_disabled');
      await use(trx);
      if (!(await pendingLogins.consume(trx, hash))) throw new AppError('login_expired');
      return this.#startSession(trx, account, facts, { name: purpose, subject });
    });
  }

  async #addPendingLogin(trx: Trx, userId: number, purpose: LoginSubject): Promise<string> {
    const { pendingLogins, clock } = this.#dependencies;
    const pending = randomToken(CREDENTIAL_PREFIX.pendingLogin, 43);
    const now = clock.now();
    await pendingLogins.insert(trx, {
      hash: hashToken(pending),
      user_id: userId,
      purpose: purpose.name,
      subject: purpose.subject,
      created_at: now,
      expires_at: now + PENDING_LOGIN_MS,
    });
    return pending;
  }

  async #startSession(
    trx: Trx,
    account: Account,
    facts: Omit<LoginAttempt, 'userId'>,
    purpose: LoginSubject,
  ): Promise<CompletedLogin> {
    const { sessions, knownSources, loginHistory } = this.#dependencies;
    const { client } = facts;
    if (client.session !== undefined) await sessions.endByToken(trx, client.session);
    const session = await sessions.start(trx, account.id, client);
    const login = { sessionHash: hashToken(session), isKnownSource: facts.isKnownSource };
    await this.#purposes.get(purpose.name)?.onLoggedIn(trx, purpose.subject, account, login);
    const knownDevice = await knownSources.remember(trx, account.id, client);
    await loginHistory.recordSuccess(trx, { userId: account.id, ...facts });
    return { step: 'done', account, session, knownDevice };
  }
}

type PendingAttempt = NonNullable<Awaited<ReturnType<PendingLoginStore['countAttempt']>>>;

/** Outcomes in the login history, by error. */
const FAILURES: Readonly<Partial<Record<ErrorCode, Exclude<LoginOutcomeName, 'success'>>>> = {
  wrong_code: 'wrong_code',
  wrong_passkey: 'wrong_passkey',
  account_disabled: 'disabled',
};

const PLAIN_LOGIN: LoginSubject = { name: 'login', subject: '' };

/** One login attempt to record. */
interface LoginAttempt {
  readonly userId: number;
  /** Whether the login required a second step. */
  readonly twoStep: boolean;
  /** Whether the account has logged in from this source before. */
  readonly isKnownSource: boolean;
  readonly client: LoginClient;
}

interface LoginHistoryDependencies {
  readonly store: LoginHistoryStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** Successful and failed logins of each account, with their sources. */
export class LoginHistory {
  readonly #store: LoginHistoryStore;
  readonly #clock: Clock;
  readonly #failures: PeriodicWriter<NewLoginAttempt>;
  #failureCount = 0;

  constructor({ store, clock, log }: LoginHistoryDependencies) {
    this.#store = store;
    this.#clock = clock;
    this.#failures = new PeriodicWriter<NewLoginAttempt>({
      log,
      subject: 'failed logins',
      write: (batch) => store.insert([...batch.values()]),
    });
  }

  /** Records a success in the transaction that creates the session. */
  async recordSuccess(trx: Trx, attempt: LoginAttempt): Promise<void> {
    await this.#store.insert([this.#toRow(attempt, 'success')], trx);
  }

  /**
   * Queues a failure to be written later: a synchronous write for existing accounts only would reveal by its time which
   * accounts exist.
   */
  recordFailure(attempt: LoginAttempt, outcome: Exclude<LoginOutcomeName, 'success'>): void {
    this.#failureCount += 1;
    this.#failures.record(this.#failureCount, this.#toRow(attempt, outcome));
  }

  /** Attempts at one account, newest first. */
  async listOwn(userId: number, failed: boolean, page: LongPage): Promise<LongListPage<LoginAttemptRow>> {
    await this.#failures.flush();
    return this.#store.list({ userId, failed }, page);
  }

  /** Attempts at accounts this role manages. Addresses of equals and superiors are not shown. */
  async listManaged(role: Role, filter: LoginFilter, page: LongPage): Promise<LongListPage<LoginAttemptRow>> {
    await this.#failures.flush();
    const managed = ROLES.filter((each) => canManage(role, each));
    return this.#store.list({ ...filter, roles: managed.length === ROLES.length ? undefined : managed }, page);
  }

  /** Flushes pending writes and stops. */
  close(): Promise<void> {
    return this.#failures.close();
  }

  #toRow({ userId, twoStep, isKnownSource, client }: LoginAttempt, outcome: LoginOutcomeName): NewLoginAttempt {
    return {
      user_id: userId,
      outcome,
      two_step: twoStep ? 1 : 0,
      known_source: isKnownSource ? 1 : 0,
      ...toClientColumns(client),
      created_at: this.#clock.now(),
    };
  }
}

/** A row of the login history. */
export type LoginAttemptRow = Selectable<Tables['login_history']>;
type NewLoginAttempt = Insertable<Tables['login_history']>;

interface LoginFilter {
  readonly userId?: number;
  /** Restricts the list to accounts with one of these roles. */
  readonly roles?: readonly Role[];
  readonly failed?: boolean;
}

const ATTEMPTS: OldRows = { table: 'login_history', key: 'id', time: 'created_at', keysAscendWithTime: true };

/** SQL of `login_history`. */
export class LoginHistoryStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(attempts: readonly NewLoginAttempt[], db: Executor = this.#database.kysely): Promise<void> {
    await db.insertInto('login_history').values(attempts).execute();
  }

  /** Newest first. */
  list({ userId, roles, failed }: LoginFilter, page: LongPage): Promise<LongListPage<LoginAttemptRow>> {
    const { kysely } = this.#database;
    let filtered = kysely.selectFrom('login_history');
    if (userId !== undefined) filtered = filtered.where('user_id', '=', userId);
    // A literal that matches the partial index of failed attempts: SQLite does not use that index with a parameter.
    if (failed === true) filtered = filtered.where('outcome', '!=', sql.lit('success'));
    if (roles !== undefined)
      filtered = filtered.where((row) =>
        row.exists(
          row
            .selectFrom('accounts')
            .select('accounts.id')
            .whereRef('accounts.id', '=', 'login_history.user_id')
            .where('accounts.role', 'in', [...roles]),
        ),
      );
    return readLargeListPage(kysely, filtered, 'id', page, (each) => each.selectAll());
  }

  /** Deletes at most `limit` attempts made before a time. @returns the number of deleted attempts */
  deleteBefore(before: number, limit: number): Promise<number> {
    return deleteOldRows(this.#database.kysely, ATTEMPTS, before, limit);
  }
}

/** Maximum age of a login that proves presence where the account has nothing else to prove it with. */
const FRESH_LOGIN_MS = 10 * 60_000;

interface PresenceCheckDependencies {
  readonly database: Database<Tables>;
  readonly logins: LoginService;
  readonly secondFactors: SecondFactors;
  readonly twoFactors: TwoFactorService;
  readonly waysIn: WaysIn;
  readonly sessions: SessionStore;
  readonly clock: Clock;
}

/**
 * Checks that the owner of a session is present before the session adds another way in: a stolen cookie alone must not
 * outlive its session.
 */
export class PresenceCheck {
  readonly #dependencies: PresenceCheckDependencies;

  constructor(dependencies: PresenceCheckDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Accepts a passkey, or a code if two-step verification is on, or else the password. An account with none of these
   * must have logged in within ten minutes.
   *
   * @throws second_step_required, invalid_request, wrong_password, wrong_code, wrong_passkey, passkey_expired,
   *   rate_limit_exceeded
   */
  async assertPresent(caller: AccountCaller, { password, code, credential }: PresenceProof): Promise<void> {
    const { database, logins, secondFactors, twoFactors, waysIn } = this.#dependencies;
    if (credential !== undefined || (await twoFactors.isEnabled(caller.userId)))
      return secondFactors.confirm(caller, { code, credential });
    const owner = { id: caller.userId, role: caller.role };
    if (await waysIn.hasPassword(owner, database.kysely)) {
      if (password === undefined) throw invalidRequest('Give the password, or the use of a passkey.', 'password');
      return logins.withConfirmedPassword(caller, password, async () => {});
    }
    if ((await secondFactors.hasPasskey(caller.userId)) || !(await this.#isFreshLogin(caller)))
      throw new AppError('second_step_required');
  }

  async #isFreshLogin(caller: AccountCaller): Promise<boolean> {
    const { sessions, clock } = this.#dependencies;
    if (caller.kind !== 'session') return false;
    const start = await sessions.findStart(caller.sessionId);
    return start !== undefined && clock.now() - start.created_at <= FRESH_LOGIN_MS;
  }
}
