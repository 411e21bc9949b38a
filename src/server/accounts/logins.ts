import type { Transaction } from 'kysely';
import { addressKey } from '../platform/address.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError } from '../platform/errors.ts';
import { hashToken, randomToken } from '../platform/secrets.ts';
import type { Tables } from '../tables.ts';
import type { Budgets } from './budgets.ts';
import { bookTry, deleteExpiredLogins, insertPending, takePending } from './login-store.ts';
import type { HeldPasswords, Passwords } from './passwords.ts';
import type { Sessions, Visitor } from './sessions.ts';
import { type Account, ENABLED, findAccount, findByLogin, findPassword, lockAccount, replaceHash } from './store.ts';
import type { TwoFactors } from './two-factor.ts';

type Trx = Transaction<Tables>;

export const PENDING_MS = 5 * 60_000;
const MOST_WRONG_CODES = 5;

/** What a login is for beside a session; device sign-in has one. */
export interface LoginPurpose {
  readonly name: string;
  /** Called in the transaction that makes the session; throwing undoes the login. */
  loggedIn(trx: Trx, subject: string, account: Account): Promise<void>;
}

export interface PasswordLogin {
  /** User name or e-mail. */
  readonly username: string;
  readonly password: string;
  readonly from: Visitor;
  /** The cookie the browser came with: that session ends, whosever it is. */
  readonly oldSession?: string | undefined;
  readonly purpose?: { readonly name: string; readonly subject: string };
}

export interface SecondStep {
  /** Value of the first step's cookie. */
  readonly pending: string | undefined;
  readonly code: string;
  readonly from: Visitor;
  readonly oldSession?: string | undefined;
}

/** `session` and `pending` are cookie values, in clear only here. */
export type LoginOutcome =
  | { readonly step: 'done'; readonly account: Account; readonly session: string }
  | { readonly step: 'second'; readonly pending: string };

/** Every way to log in goes through here and spends the same budgets. */
export interface Logins {
  /** @throws wrong_login, account_disabled, rate_limit_exceeded, unavailable */
  logIn(login: PasswordLogin): Promise<LoginOutcome>;
  /** Finishes the pending login of the cookie. @throws login_expired, wrong_code, account_disabled, rate_limit_exceeded */
  finish(step: SecondStep): Promise<Extract<LoginOutcome, { step: 'done' }>>;
  /** The password alone, for protocols without a second step. @throws as `logIn` */
  checkPassword(login: Pick<PasswordLogin, 'username' | 'password'> & { readonly address: string }): Promise<Account>;
  /**
   * Runs work once the account's present password was shown; `hash` in it hashes under the same permit.
   * @throws wrong_password, rate_limit_exceeded, unavailable
   */
  confirm<R>(
    userId: number,
    password: string,
    address: string,
    work: (held: HeldPasswords, stored: string) => Promise<R>,
  ): Promise<R>;
  /** Tells which purpose a pending login's `purpose` names. */
  serve(purpose: LoginPurpose): void;
  removeExpired(): Promise<void>;
}

export interface LoginParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly passwords: Passwords;
  readonly budgets: Budgets;
  readonly sessions: Sessions;
  readonly twoFactors: TwoFactors;
}

export function makeLogins(parts: LoginParts): Logins {
  const { database, clock, passwords, budgets, sessions, twoFactors } = parts;
  const { kysely } = database;
  const postgres = database.dialect === 'postgres';
  const purposes = new Map<string, LoginPurpose>();

  /** Spends, verifies, gives back. The account's budget is kept by id, so that name and e-mail share it. */
  const verify = async (
    account: Account | undefined,
    name: string,
    password: string,
    address: string,
    held: HeldPasswords,
  ): Promise<string | undefined> => {
    const network = addressKey(address);
    await budgets.passwordsOfAddress.spend(network);
    await budgets.passwordsOfAccount.spend(name);
    const stored = await findPassword(kysely, account?.id ?? 0);
    if (!(await held.verify(password, stored))) return undefined;
    await budgets.passwordsOfAddress.giveBack(network);
    await budgets.passwordsOfAccount.reset(name);
    return stored;
  };

  const withPassword = async <R>(
    login: Pick<PasswordLogin, 'username' | 'password'> & { readonly address: string },
    work: (account: Account, stored: string) => Promise<R>,
  ): Promise<R> => {
    const account = await findByLogin(kysely, login.username);
    const name = account === undefined ? `?${login.username.toLowerCase()}` : String(account.id);
    // Asked before the queue, so that a flood of guesses beyond the budget keeps nobody waiting for a hash.
    await budgets.passwordsOfAddress.assertLeft(addressKey(login.address));
    await budgets.passwordsOfAccount.assertLeft(name);
    const verified = await passwords.withPermit(async (held) => {
      const stored = await verify(account, name, login.password, login.address, held);
      if (account === undefined || stored === undefined) throw new AppError('wrong_login');
      if (!passwords.isStale(stored)) return { account, stored };
      const fresh = await held.hash(login.password);
      await replaceHash(kysely, account.id, stored, fresh);
      return { account, stored: fresh };
    });
    if (verified.account.status !== ENABLED) throw new AppError('account_disabled');
    return work(verified.account, verified.stored);
  };

  const begin = async (trx: Trx, account: Account, from: Visitor, old: string | undefined, purpose: Purpose) => {
    await purposes.get(purpose.name)?.loggedIn(trx, purpose.subject, account);
    if (old !== undefined) await sessions.endByToken(trx, old);
    return { step: 'done', account, session: await sessions.start(trx, account.id, from) } as const;
  };

  return {
    logIn: (login) =>
      withPassword({ ...login, address: login.from.address }, ({ id }, stored) =>
        database.transaction<LoginOutcome>(async (trx) => {
          // Under the lock nothing of this changes before the session is there, and whoever changes it later ends it.
          const account = await lockAccount(trx, postgres, id);
          if (account === undefined || (await findPassword(trx, id)) !== stored) throw new AppError('wrong_login');
          if (account.status !== ENABLED) throw new AppError('account_disabled');
          const purpose = login.purpose ?? PLAIN_LOGIN;
          if (!(await twoFactors.isOn(trx, id))) return begin(trx, account, login.from, login.oldSession, purpose);
          const pending = randomToken('rgpl_', 43);
          const now = clock.now();
          await insertPending(trx, {
            hash: hashToken(pending),
            user_id: id,
            purpose: purpose.name,
            subject: purpose.subject,
            created_at: now,
            expires_at: now + PENDING_MS,
          });
          return { step: 'second', pending };
        }),
      ),
    async finish({ pending, code, from, oldSession }) {
      if (pending === undefined) throw new AppError('login_expired');
      const hash = hashToken(pending);
      const booked = await bookTry(kysely, hash, MOST_WRONG_CODES, clock.now());
      if (booked === undefined) throw new AppError('login_expired');
      await budgets.codesOfAccount.spend(booked.user_id);
      const outcome = await database.transaction(async (trx) => {
        const account = await lockAccount(trx, postgres, booked.user_id);
        if (account === undefined) throw new AppError('login_expired');
        if (account.status !== ENABLED) throw new AppError('account_disabled');
        if (!(await twoFactors.accept(trx, account.id, code))) return undefined;
        if (!(await takePending(trx, hash))) throw new AppError('login_expired');
        return begin(trx, account, from, oldSession, { name: booked.purpose, subject: booked.subject });
      });
      if (outcome === undefined) throw new AppError('wrong_code');
      await budgets.codesOfAccount.giveBack(booked.user_id);
      return outcome;
    },
    checkPassword: (login) => withPassword(login, async (account) => account),
    async confirm(userId, password, address, work) {
      const account = await findAccount(kysely, userId);
      await budgets.passwordsOfAddress.assertLeft(addressKey(address));
      await budgets.passwordsOfAccount.assertLeft(userId);
      return passwords.withPermit(async (held) => {
        const stored = await verify(account, String(userId), password, address, held);
        if (stored === undefined) throw new AppError('wrong_password');
        return work(held, stored);
      });
    },
    serve: (purpose) => void purposes.set(purpose.name, purpose),
    removeExpired: async () => void (await deleteExpiredLogins(kysely, clock.now())),
  };
}

type Purpose = NonNullable<PasswordLogin['purpose']>;

const PLAIN_LOGIN: Purpose = { name: 'login', subject: '' };
