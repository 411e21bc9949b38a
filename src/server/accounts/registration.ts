import type { Role } from '../../contract/account-fields.ts';
import type { Locale } from '../../contract/messages/format-message.ts';
import type { LongListPage, LongPage } from '../../contract/responses.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import type { Live, SiteSettings } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import { randomText } from '../platform/tokens.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { SpendLimitState } from '../quota/spend-limits.ts';
import type { Tables, Trx } from '../tables.ts';
import { type Account, type AccountFilter, type AccountStore, NO_LOGIN_EMAIL } from './account-store.ts';
import type { BindingStore } from './bindings.ts';
import { type EmailConfirmationService, normalizeEmail } from './email.ts';
import { assertUncommonPassword, type PasswordHasher } from './passwords.ts';
import type { AccountRateLimits } from './rate-limits.ts';
import type { TwoFactorStore } from './two-factor.ts';

/** Finds an account's current plan. `expiresAt`: Unix seconds, 0 = no end. */
export type FindPlan = (userId: number) => Promise<{ readonly code: string; readonly expiresAt: number }>;

/** Assigns the plan with that code to an account. @returns false if no such plan can be assigned */
export type GivePlan = (trx: Trx, userId: number, code: string) => Promise<boolean>;

/** An account as its owner and administrators see it, without any secret. */
export interface Profile {
  readonly account: Account;
  readonly wallet: Awaited<ReturnType<Ledger['wallet']>>;
  readonly plan: Awaited<ReturnType<FindPlan>>;
  /** Of the account, or else of its plan. */
  readonly spendLimit: SpendLimitState | undefined;
  readonly hasTwoFactor: boolean;
  readonly phoneBound: boolean;
  readonly messagingBound: boolean;
}

/** A person an identity provider has authenticated, for whom an account is created. */
export interface Newcomer {
  /** Preferred name in any form; another one is chosen if it is taken. */
  readonly username: string;
  readonly displayName: string | undefined;
  /** An address that the provider has verified, in lower case. */
  readonly verifiedEmail: string | undefined;
  /** Code of the plan; undefined: that of all new accounts. */
  readonly plan: string | undefined;
}

interface Registration {
  readonly username: string;
  readonly password: string;
  readonly email?: string;
}

/** An account that an administrator creates. */
export interface NewUser extends Registration {
  readonly displayName?: string;
  readonly role?: Role;
  /** Initial quota of the wallet. */
  readonly quota: number;
}

interface RegistrationDependencies {
  readonly database: Database<Tables>;
  readonly accounts: AccountStore;
  readonly bindings: BindingStore;
  readonly twoFactors: TwoFactorStore;
  readonly clock: Clock;
  readonly passwords: PasswordHasher;
  readonly rateLimits: AccountRateLimits;
  readonly ledger: Ledger;
  readonly emailConfirmations: EmailConfirmationService;
  readonly findPlan: FindPlan;
  readonly givePlan: GivePlan;
  readonly log: Log;
  readonly settings: Live<Pick<SiteSettings, 'registration' | 'newUserQuota' | 'newUserPlan' | 'passwordSignIn'>>;
}

/** Registers accounts and reads their profiles. */
export class RegistrationService {
  readonly #dependencies: RegistrationDependencies;

  constructor(dependencies: RegistrationDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Self-registration. An e-mail that another account logs in with is stored but does not count for login, so that
   * registering does not reveal which e-mails have an account. If the service sends mail, no e-mail counts before it is
   * confirmed.
   *
   * @param clientIp the IP whose limit the registration counts against
   * @throws registration_closed, username_taken, password_too_common, rate_limit_exceeded, unavailable
   */
  async register(
    registration: Registration,
    clientIp: string,
    locale: Locale,
  ): Promise<{ readonly id: number; readonly username: string }> {
    const { rateLimits, settings, emailConfirmations } = this.#dependencies;
    const site = settings.current();
    if (site.registration === 'closed' || !site.passwordSignIn) throw new AppError('registration_closed');
    await rateLimits.registrationsByNetwork.consume(toIpLimitKey(clientIp));
    const user = { ...registration, role: 'user', quota: site.newUserQuota } as const;
    const email = normalizeEmail(registration.email) ?? null;
    const isConfirmed = email !== null && emailConfirmations.isRequired;
    if (isConfirmed) await emailConfirmations.consumeLimit(email);
    const id = await this.#insert(
      user,
      async (trx, newId) => {
        if (isConfirmed) await emailConfirmations.queue(trx, newId, email, locale);
        await this.#giveFirstPlan(trx, newId, site.newUserPlan);
      },
      isConfirmed ? 'confirm' : 'keep',
    );
    return { id, username: registration.username };
  }

  /**
   * Creates an account on behalf of someone else.
   *
   * @param inTransaction runs in the transaction that creates the account
   * @throws username_taken, email_taken, password_too_common
   */
  create(user: NewUser, inTransaction: (trx: Trx, id: number) => Promise<void>): Promise<number> {
    return this.#insert(user, inTransaction, 'refuse');
  }

  /** Creates an account without a password. An e-mail that another account logs in with does not count for login. */
  async createWithoutPassword(trx: Trx, newcomer: Newcomer): Promise<number> {
    const { accounts, ledger, settings, clock } = this.#dependencies;
    const now = clock.now();
    const email = newcomer.verifiedEmail ?? null;
    const countsForLogin = email !== null && !(await accounts.isLoginEmailTaken(trx, email));
    const { newUserQuota, newUserPlan } = settings.current();
    for (const username of toUsernames(newcomer.username)) {
      const id = await accounts.insert(trx, {
        username,
        email,
        ...(countsForLogin ? { login_email: email, email_confirmed_at: now } : NO_LOGIN_EMAIL),
        display_name: newcomer.displayName ?? username,
        role: 'user',
        created_at: now,
      });
      if (id === undefined) continue;
      await ledger.openWallet(trx, id, newUserQuota);
      await this.#giveFirstPlan(trx, id, newcomer.plan ?? newUserPlan);
      return id;
    }
    throw new AppError('username_taken');
  }

  /** @throws not_exist */
  async profile(id: number): Promise<Profile> {
    const account = await this.#dependencies.accounts.find(id);
    const [profile] = account === undefined ? [] : await this.#toProfiles([account]);
    if (profile === undefined) throw notExistError('account');
    return profile;
  }

  async listProfiles(filter: AccountFilter, page: LongPage): Promise<LongListPage<Profile>> {
    const { rows, ...place } = await this.#dependencies.accounts.list(filter, page);
    return { ...place, rows: await this.#toProfiles(rows) };
  }

  /**
   * @param loginEmail how a taken e-mail is handled: `refuse` throws, `keep` stores it without counting it for login;
   *   with both, a free e-mail counts for login immediately. `confirm` lets it count after confirmation
   */
  async #insert(
    user: NewUser,
    inTransaction: (trx: Trx, id: number) => Promise<void>,
    loginEmail: 'refuse' | 'keep' | 'confirm',
  ): Promise<number> {
    const { database, accounts, passwords, ledger, clock } = this.#dependencies;
    const { username, role = 'user', displayName = username } = user;
    const email = normalizeEmail(user.email) ?? null;
    await assertUncommonPassword(user.password, username);
    // Checked first only to save the hash; the insert decides.
    if ((await accounts.findByLogin(username)) !== undefined) throw new AppError('username_taken');
    const hash = await passwords.hash(user.password);
    return database.transaction(async (trx) => {
      const now = clock.now();
      // An administrator vouches for the address they enter.
      const confirmedAt = loginEmail === 'refuse' && email !== null ? now : null;
      const row = { username, email, display_name: displayName, role, created_at: now, ...NO_LOGIN_EMAIL };
      let id = await accounts.insert(
        trx,
        loginEmail === 'confirm' ? row : { ...row, login_email: email, email_confirmed_at: confirmedAt },
      );
      if (id === undefined && email !== null && (await accounts.isLoginEmailTaken(trx, email))) {
        if (loginEmail === 'refuse') throw new AppError('email_taken');
        id = await accounts.insert(trx, row);
      }
      if (id === undefined) throw new AppError('username_taken');
      await accounts.putPassword(trx, id, hash, now);
      await ledger.openWallet(trx, id, user.quota);
      await inTransaction(trx, id);
      return id;
    });
  }

  /** A missing plan must not block registration: the account then starts without one. */
  async #giveFirstPlan(trx: Trx, userId: number, plan: string | undefined): Promise<void> {
    const { givePlan, log } = this.#dependencies;
    if (plan !== undefined && !(await givePlan(trx, userId, plan)))
      log.warn({ plan }, 'the configured plan of new accounts cannot be given');
  }

  async #toProfiles(accounts: readonly Account[]): Promise<Profile[]> {
    const { bindings, twoFactors, ledger, findPlan } = this.#dependencies;
    const ids = accounts.map((account) => account.id);
    const [bound, withTwoFactor] = await Promise.all([bindings.find(ids), twoFactors.findUsersWithTwoFactor(ids)]);
    return Promise.all(
      accounts.map(async (account) => {
        const subject = { kind: 'account', id: account.id } as const;
        const [wallet, plan, spendLimits] = await Promise.all([
          ledger.wallet(account.id),
          findPlan(account.id),
          ledger.spendLimits([subject]),
        ]);
        const kinds = bound.get(account.id);
        return {
          account,
          wallet,
          plan,
          spendLimit: spendLimits.get(`account:${account.id}`),
          hasTwoFactor: withTwoFactor.has(account.id),
          phoneBound: kinds?.has('phone') ?? false,
          messagingBound: kinds?.has('messaging') ?? false,
        };
      }),
    );
  }
}

const USERNAME_LENGTH = 30;
const USERNAME_TRIES = 9;

/** Valid user names like the preferred one: with a number if it is taken, at last with random characters. */
function* toUsernames(preferred: string): Generator<string> {
  const plain = preferred
    .normalize('NFKD')
    .toLowerCase()
    .replace(/@.*$/s, '')
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, USERNAME_LENGTH - 9);
  const base = plain.length >= 3 ? plain : `user-${plain}`.replace(/-$/, '');
  yield base;
  for (let number = 2; number <= USERNAME_TRIES; number++) yield `${base}-${number}`;
  for (let tries = 0; tries < 3; tries++) yield `${base}-${randomText(8, 'abcdefghijkmnpqrstuvwxyz23456789')}`;
}
