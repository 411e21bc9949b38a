import type { Transaction } from 'kysely';
import type { Role } from '../../contract/roles.ts';
import type { Page } from '../../contract/schemas.ts';
import { addressKey } from '../platform/address.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { isUniqueViolation } from '../platform/db/dialect.ts';
import { AppError, invalid, notExist } from '../platform/errors.ts';
import type { AccountCaller } from '../platform/http/caller.ts';
import type { Quota } from '../quota/quota.ts';
import type { Tables } from '../tables.ts';
import type { Audit, AuditEntry } from './audit.ts';
import { findBindings } from './binding-store.ts';
import type { Budgets } from './budgets.ts';
import type { EndLogins } from './ending.ts';
import type { Logins } from './logins.ts';
import type { Passwords } from './passwords.ts';
import type { SecurityNotices } from './security-notices.ts';
import {
  type Account,
  type AccountFilter,
  emailInUse,
  findAccount,
  findByLogin,
  findPassword,
  insertAccount,
  listAccounts,
  lockAccount,
  putPassword,
  updateAccount,
} from './store.ts';
import { withTwoFactor } from './two-factor-store.ts';

type Trx = Transaction<Tables>;
export type Trace = Pick<AuditEntry, 'address' | 'requestId'>;

/** The plan an account is on; packages tell it. `expiresAt`: Unix seconds, 0 = no end. */
export type PlanOf = (userId: number) => Promise<{ readonly code: string; readonly expiresAt: number }>;

/** An account as it and the administrators see it; there is no field for a secret. */
export interface Profile {
  readonly account: Account;
  readonly wallet: Awaited<ReturnType<Quota['wallet']>>;
  readonly plan: Awaited<ReturnType<PlanOf>>;
  readonly hasTwoFactor: boolean;
  readonly phoneBound: boolean;
  readonly messagingBound: boolean;
}

export interface NewPerson {
  readonly username: string;
  readonly password: string;
  readonly email?: string | undefined;
  readonly displayName?: string | undefined;
  readonly role?: Role | undefined;
  /** Quota the wallet starts with. */
  readonly quota: number;
}

export interface SelfChange {
  readonly display_name?: string | undefined;
  readonly email?: string | undefined;
  readonly password?: string | undefined;
  readonly original_password?: string | undefined;
}

export interface People {
  /**
   * For anybody who asks.
   *
   * @param address of the client, whose budget it spends
   * @throws registration_closed, username_taken, email_taken, rate_limit_exceeded, unavailable
   */
  register(
    person: Omit<NewPerson, 'role' | 'quota' | 'displayName'>,
    address: string,
  ): Promise<{ id: number; username: string }>;
  /** Makes an account; `also` runs in the same transaction. @throws username_taken, email_taken */
  make(person: NewPerson, also?: (trx: Trx, id: number) => Promise<void>): Promise<number>;
  /** @throws not_exist */
  profile(id: number): Promise<Profile>;
  profiles(filter: AccountFilter, page: Page): Promise<{ rows: Profile[]; total: number }>;
  /** @throws forbidden, wrong_password, email_taken, invalid_request, rate_limit_exceeded */
  changeSelf(caller: AccountCaller, change: SelfChange, trace: Trace & { readonly address: string }): Promise<void>;
}

export interface PeopleParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly passwords: Passwords;
  readonly budgets: Budgets;
  readonly logins: Logins;
  readonly quota: Quota;
  readonly audit: Audit;
  readonly endLogins: EndLogins;
  readonly notice: SecurityNotices;
  readonly planOf: PlanOf;
  readonly registration: 'open' | 'closed';
  readonly newUserQuota: number;
}

export function makePeople(parts: PeopleParts): People {
  const { database, clock, passwords, logins, quota, audit, endLogins, planOf } = parts;
  const { kysely } = database;
  const postgres = database.dialect === 'postgres';

  const make: People['make'] = async (person, also = async () => {}) => {
    const { username, role = 'user' } = person;
    const email = toEmail(person.email) ?? null;
    // Asked first only to spare the hash; the insert decides.
    if ((await findByLogin(kysely, username)) !== undefined) throw new AppError('username_taken');
    const hash = await passwords.hash(person.password);
    return database.transaction(async (trx) => {
      const now = clock.now();
      const display_name = person.displayName ?? username;
      const id = await insertAccount(trx, { username, email, display_name, role, created_at: now });
      if (id === undefined) {
        throw new AppError(email !== null && (await emailInUse(trx, email)) ? 'email_taken' : 'username_taken');
      }
      await putPassword(trx, id, hash, now);
      await quota.open(trx, id, person.quota);
      await also(trx, id);
      return id;
    });
  };

  const toProfiles = async (accounts: readonly Account[]): Promise<Profile[]> => {
    const ids = accounts.map((account) => account.id);
    const [bindings, twoFactors] = await Promise.all([findBindings(kysely, ids), withTwoFactor(kysely, ids)]);
    return Promise.all(
      accounts.map(async (account) => {
        const [wallet, plan] = await Promise.all([quota.wallet(account.id), planOf(account.id)]);
        const bound = bindings.get(account.id);
        return {
          account,
          wallet,
          plan,
          hasTwoFactor: twoFactors.has(account.id),
          phoneBound: bound?.has('phone') ?? false,
          messagingBound: bound?.has('messaging') ?? false,
        };
      }),
    );
  };

  /** Everything a person may change of themselves but the password. */
  const applySelf = async (trx: Trx, userId: number, change: SelfChange, trace: Trace): Promise<void> => {
    const account = await lockAccount(trx, postgres, userId);
    if (account === undefined) throw new AppError('unauthorized');
    const email = toEmail(change.email);
    if (email && (await emailInUse(trx, email, userId))) throw new AppError('email_taken');
    const columns = {
      ...(change.display_name === undefined ? {} : { display_name: change.display_name }),
      ...(email === undefined ? {} : { email }),
    };
    if (Object.keys(columns).length > 0) await updateAccount(trx, userId, columns);
    if (email !== undefined && email !== account.email) {
      const [before, after] = [{ email: account.email }, { email }];
      await audit.record(trx, {
        actorId: userId,
        action: 'self.email',
        target: `user:${userId}`,
        before,
        after,
        ...trace,
      });
    }
  };

  const changeSelf: People['changeSelf'] = async (caller, change, trace) => {
    const { userId } = caller;
    const touchesLogin =
      change.email !== undefined || change.password !== undefined || change.original_password !== undefined;
    if (caller.kind === 'device' && touchesLogin) throw new AppError('forbidden');
    const { password, original_password: original } = change;
    if (password === undefined) {
      await database.transaction((trx) => applySelf(trx, userId, change, trace));
      return;
    }
    if (original === undefined)
      throw invalid('original_password is required to change the password.', 'original_password');
    const keep = caller.kind === 'session' ? caller.sessionId : undefined;
    await logins.confirm(userId, original, trace.address, async (held, stored) => {
      const hash = await held.hash(password);
      await database.transaction(async (trx) => {
        await applySelf(trx, userId, change, trace);
        if ((await findPassword(trx, userId)) !== stored) throw new AppError('wrong_password');
        await putPassword(trx, userId, hash, clock.now());
        await endLogins(trx, userId, keep);
        await audit.record(trx, { actorId: userId, action: 'self.password', target: `user:${userId}`, ...trace });
        await parts.notice(trx, userId, 'password');
      });
    });
  };

  return {
    make,
    async register({ username, password, email }, address) {
      if (parts.registration === 'closed') throw new AppError('registration_closed');
      await parts.budgets.registrationsOfAddress.spend(addressKey(address));
      const id = await make({ username, password, email, role: 'user', quota: parts.newUserQuota });
      return { id, username };
    },
    async profile(id) {
      const account = await findAccount(kysely, id);
      const [profile] = account === undefined ? [] : await toProfiles([account]);
      if (profile === undefined) throw notExist('account');
      return profile;
    },
    async profiles(filter, page) {
      const { rows, total } = await listAccounts(kysely, filter, page);
      return { rows: await toProfiles(rows), total };
    },
    changeSelf: (...change) => unlessTaken('email_taken', () => changeSelf(...change)),
  };
}

/** Lower case, as mail systems treat addresses in practice; null takes the address away. */
export function toEmail(text: string | undefined): string | null | undefined {
  return text === undefined ? undefined : text.toLowerCase() || null;
}

/** Two who want one name at the same moment: the unique index tells the second. */
export async function unlessTaken<R>(code: 'email_taken' | 'username_taken', work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError(code, { cause: error });
    throw error;
  }
}
