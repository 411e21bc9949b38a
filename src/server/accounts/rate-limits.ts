import { assertWithinLimit, type RateLimiter, type RateLimits } from '../platform/limits/rate-limits.ts';

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
  /** Confirmation mails an account requests again. */
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
