import { DAY_MS } from '../../contract/time-units.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { AccountCaller, LoginClient } from '../platform/http/route-registry.ts';
import { assertWithinLimit, type RateLimiter, type RateLimits } from '../platform/limits/rate-limits.ts';
import { CREDENTIAL_PREFIX, hashToken, randomToken } from '../platform/tokens.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { SessionStore } from './sessions.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * A rate limit that throws when exceeded. Consume before the attempt and refund on success, so that a hundred
 * concurrent attempts count as a hundred.
 */
export class AttemptLimit {
  readonly #limiter: RateLimiter;

  constructor(limiter: RateLimiter) {
    this.#limiter = limiter;
  }

  /** @throws rate_limit_exceeded if no attempt is left */
  async consume(key: string | number): Promise<void> {
    assertWithinLimit(await this.#limiter.consume(String(key)));
  }

  /** Checks without consuming, before expensive work that precedes the attempt. @throws rate_limit_exceeded */
  async assertNotExhausted(key: string | number): Promise<void> {
    assertWithinLimit(await this.#limiter.peek(String(key)));
  }

  refund(key: string | number): Promise<void> {
    return this.#limiter.refund(String(key));
  }

  reset(key: string | number): Promise<void> {
    return this.#limiter.reset(String(key));
  }
}

/**
 * Limits on guesses, on objects anonymous callers create, and on messages that cost money. Each window starts with its
 * first use.
 */
export class AccountRateLimits {
  /**
   * Wrong passwords from sources unknown to the account, by account (name and e-mail together), over every way to log
   * in.
   */
  readonly passwordsByAccount: AttemptLimit;
  /** Wrong passwords from a source known to the account, which attackers at other sources cannot exhaust. */
  readonly passwordsByKnownSource: AttemptLimit;
  /** Wrong passwords by IP (IPv6: by /64), across accounts. */
  readonly passwordsByNetwork: AttemptLimit;
  /** Wrong second steps, over all pending logins and settings of an account. */
  readonly secondStepsByAccount: AttemptLimit;
  readonly secondStepsByKnownSource: AttemptLimit;
  /**
   * Registrations by IP, rejected ones included: each costs a hash and a row, or reveals whether a name is taken. An
   * office or a class behind one IP stays within the limit; an administrator can create larger batches of accounts.
   */
  readonly registrationsByNetwork: AttemptLimit;
  readonly phoneMessagesByAccount: AttemptLimit;
  readonly phoneMessagesByPhone: AttemptLimit;
  readonly phoneMessagesTotal: AttemptLimit;
  readonly messagingByAccount: AttemptLimit;
  /** Confirmation mails an account requests: for a new address, or again. */
  readonly emailsByAccount: AttemptLimit;
  /** Mails to one address, across all requesters and whether or not an account has the address. */
  readonly emailsByRecipient: AttemptLimit;
  readonly emailsTotal: AttemptLimit;
  /** Requests for a reset link and uses of one, by IP. */
  readonly passwordResetsByNetwork: AttemptLimit;

  constructor(limits: RateLimits) {
    const define = (name: string, points: number, durationSeconds: number) =>
      new AttemptLimit(limits.define({ name, points, durationSeconds }));
    this.passwordsByAccount = define('password-account', 10, 15 * MINUTE);
    this.passwordsByKnownSource = define('password-known-source', 10, 15 * MINUTE);
    this.passwordsByNetwork = define('password-address', 30, 15 * MINUTE);
    this.secondStepsByAccount = define('second-step-account', 10, HOUR);
    this.secondStepsByKnownSource = define('second-step-known-source', 10, HOUR);
    this.registrationsByNetwork = define('registration-address', 100, HOUR);
    this.phoneMessagesByAccount = define('phone-account', 3, HOUR);
    this.phoneMessagesByPhone = define('phone-number', 10, DAY);
    this.phoneMessagesTotal = define('phone-all', 100, HOUR);
    this.messagingByAccount = define('messaging-account', 10, HOUR);
    this.emailsByAccount = define('email-account', 5, HOUR);
    this.emailsByRecipient = define('email-recipient', 5, HOUR);
    this.emailsTotal = define('email-all', 1000, HOUR);
    this.passwordResetsByNetwork = define('password-reset-address', 20, HOUR);
  }
}

/** The limiter of requests per minute and key; 0 means unlimited. */
export const defineKeyLimit = (limits: RateLimits, requestsPerMinute: number): RateLimiter | undefined =>
  requestsPerMinute === 0
    ? undefined
    : limits.define({ name: 'key-requests', points: requestsPerMinute, durationSeconds: MINUTE, perProcess: true });

/**
 * The origin of a guess. A source from which the account has logged in before has its own limit, so that attackers who
 * exhaust the account's limit do not lock its owner out of known sources (OWASP, "Slow Down Online Guessing Attacks
 * with Device Cookies").
 */
export interface GuessSource {
  /**
   * IP, or /64 of IPv6; undefined for a request with a valid credential, which others on the same network do not have.
   */
  readonly network: string | undefined;
  /** Identifies a source known to the account; undefined: the source is unknown. */
  readonly knownSourceKey: string | undefined;
}

/** The source of a logged-in caller who proves the password or second step again. */
export const toGuessSource = (caller: AccountCaller): GuessSource => ({
  network: undefined,
  knownSourceKey: caller.kind === 'session' ? `session:${caller.sessionId}` : caller.kind,
});

interface GuessLimitRules {
  readonly byAccount: AttemptLimit;
  readonly byKnownSource: AttemptLimit;
  readonly byNetwork?: AttemptLimit;
  /**
   * Whether a correct guess also resets the wrong guesses before it, except those of the network. Otherwise only the
   * correct guess is refunded.
   */
  readonly resetsWrongGuesses: boolean;
}

/** The limits one kind of guess counts against, chosen by its source. */
export class GuessLimit {
  readonly #rules: GuessLimitRules;

  constructor(rules: GuessLimitRules) {
    this.#rules = rules;
  }

  /** @throws rate_limit_exceeded */
  async assertNotExhausted(account: string, source: GuessSource, isRandomSecret = false): Promise<void> {
    for (const [limit, key] of this.#applicable(account, source, isRandomSecret)) await limit.assertNotExhausted(key);
  }

  /** Counts a guess before it is checked. @throws rate_limit_exceeded */
  async consume(account: string, source: GuessSource, isRandomSecret = false): Promise<void> {
    for (const [limit, key] of this.#applicable(account, source, isRandomSecret)) await limit.consume(key);
  }

  /** Refunds a correct guess. */
  async succeed(account: string, source: GuessSource, isRandomSecret = false): Promise<void> {
    for (const [limit, key] of this.#applicable(account, source, isRandomSecret)) {
      if (this.#rules.resetsWrongGuesses && limit !== this.#rules.byNetwork) await limit.reset(key);
      else await limit.refund(key);
    }
  }

  /**
   * @param isRandomSecret the secret is long and random: guesses need no limit by account, which attackers could
   *   exhaust
   */
  #applicable(
    account: string,
    { network, knownSourceKey }: GuessSource,
    isRandomSecret: boolean,
  ): [AttemptLimit, string][] {
    const { byAccount, byKnownSource, byNetwork } = this.#rules;
    const applicable: [AttemptLimit, string][] = [];
    if (byNetwork !== undefined && network !== undefined) applicable.push([byNetwork, network]);
    if (knownSourceKey !== undefined) applicable.push([byKnownSource, `${account}:${knownSourceKey}`]);
    else if (!isRandomSecret) applicable.push([byAccount, account]);
    return applicable;
  }
}

const REMEMBERED_MS = 90 * DAY_MS;
const MAX_COOKIE_LENGTH = 100;
/** An id no account has. */
const NO_ACCOUNT = 0;

interface KnownSourceDependencies {
  readonly store: KnownSourceStore;
  readonly sessions: SessionStore;
  readonly clock: Clock;
}

/**
 * The devices (by a cookie) and networks each account has logged in from. They authenticate no one, but have separate
 * limits.
 */
export class KnownSources {
  readonly #store: KnownSourceStore;
  readonly #sessions: SessionStore;
  readonly #clock: Clock;

  constructor({ store, sessions, clock }: KnownSourceDependencies) {
    this.#store = store;
    this.#sessions = sessions;
    this.#clock = clock;
  }

  /**
   * The source whose limits a guess at this account counts against. An undefined id means that no such account exists.
   */
  async identify(userId: number | undefined, client: LoginClient): Promise<GuessSource> {
    const network = toIpLimitKey(client.address);
    const now = this.#clock.now();
    const session =
      client.session === undefined ? undefined : await this.#sessions.findByHash(hashToken(client.session), now);
    if (session !== undefined && session.user_id === userId)
      return { network: undefined, knownSourceKey: `session:${session.id}` };
    const device = toDeviceSource(client.knownDevice);
    const sources = [`network:${network}`, device].filter((source) => source !== undefined);
    // Runs the same queries for an unknown account, so that the response time does not reveal whether it exists.
    const known = await this.#store.findKnown(userId ?? NO_ACCOUNT, sources, now - REMEMBERED_MS);
    if (device !== undefined && known.has(device)) return { network: undefined, knownSourceKey: device };
    return { network, knownSourceKey: sources.find((source) => known.has(source)) };
  }

  /** Records the source of a successful login and returns the value of the device's cookie. */
  async remember(trx: Trx, userId: number, { knownDevice, address }: LoginClient): Promise<string> {
    const cookie =
      toDeviceSource(knownDevice) === undefined ? randomToken(CREDENTIAL_PREFIX.knownDevice, 43) : knownDevice;
    const sources = [toDeviceSource(cookie), `network:${toIpLimitKey(address)}`].filter(
      (source) => source !== undefined,
    );
    await this.#store.remember(trx, userId, sources, this.#clock.now());
    return cookie ?? '';
  }

  async deleteExpired(): Promise<void> {
    await this.#store.deleteUnusedSince(this.#clock.now() - REMEMBERED_MS);
  }
}

const toDeviceSource = (cookie: string | undefined): string | undefined =>
  cookie?.startsWith(CREDENTIAL_PREFIX.knownDevice) && cookie.length < MAX_COOKIE_LENGTH
    ? `device:${hashToken(cookie)}`
    : undefined;

/** Maximum number of sources per account; the least recently used are evicted. */
const MAX_PER_ACCOUNT = 20;

/** SQL of `known_login_sources`: devices and networks from which an account has logged in. */
export class KnownSourceStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** The subset of the sources from which the account has logged in since `usedSince` (Unix milliseconds). */
  async findKnown(
    userId: number,
    sources: readonly string[],
    usedSince: number,
    db: Executor = this.#database.kysely,
  ): Promise<ReadonlySet<string>> {
    if (sources.length === 0) return new Set();
    const rows = await db
      .selectFrom('known_login_sources')
      .select('source')
      .where('user_id', '=', userId)
      .where('source', 'in', [...sources])
      .where('last_used_at', '>=', usedSince)
      .execute();
    return new Set(rows.map((row) => row.source));
  }

  /** Records the sources of a successful login. */
  async remember(trx: Trx, userId: number, sources: readonly string[], now: number): Promise<void> {
    for (const source of sources) {
      await trx
        .insertInto('known_login_sources')
        .values({ user_id: userId, source, last_used_at: now })
        .onConflict((conflict) => conflict.columns(['user_id', 'source']).doUpdateSet({ last_used_at: now }))
        .execute();
    }
    const surplus = await trx
      .selectFrom('known_login_sources')
      .select('source')
      .where('user_id', '=', userId)
      .orderBy('last_used_at', 'desc')
      .orderBy('source')
      .offset(MAX_PER_ACCOUNT)
      .limit(MAX_PER_ACCOUNT)
      .execute();
    if (surplus.length === 0) return;
    await trx
      .deleteFrom('known_login_sources')
      .where('user_id', '=', userId)
      .where(
        'source',
        'in',
        surplus.map((row) => row.source),
      )
      .execute();
  }

  async deleteOfUser(trx: Trx, userId: number): Promise<void> {
    await trx.deleteFrom('known_login_sources').where('user_id', '=', userId).execute();
  }

  async deleteUnusedSince(time: number): Promise<void> {
    await this.#database.kysely.deleteFrom('known_login_sources').where('last_used_at', '<', time).execute();
  }
}
