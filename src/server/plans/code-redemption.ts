import type { AccountAccess } from '../accounts/account-access.ts';
import { AppError } from '../platform/app-error.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { AccountCaller } from '../platform/http/request-context.ts';
import {
  assertWithinLimit,
  type RateLimiter,
  type RateLimitRule,
  type RateLimits,
} from '../platform/limits/rate-limits.ts';
import { hashToken } from '../platform/tokens.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Tables, Trx } from '../tables.ts';
import { normalizeCode } from './redemption-code-format.ts';
import type { CodeRow, RedemptionCodeStore } from './redemption-code-store.ts';
import type { GrantResult, Subscriptions } from './subscriptions.ts';

export interface CodeRedemptionDependencies {
  readonly database: Database<Tables>;
  readonly codes: RedemptionCodeStore;
  readonly clock: Clock;
  readonly rateLimits: RateLimits;
  readonly ledger: Pick<Ledger, 'grant'>;
  readonly subscriptions: Pick<Subscriptions, 'grant' | 'currentPlan'>;
  readonly access: Pick<AccountAccess, 'assertCanManage'>;
}

/** Who redeems a code. */
export type Redeemer = Pick<AccountCaller, 'userId' | 'role'>;

export interface Redemption extends GrantResult {
  /** Credited to the wallet. */
  readonly quota: number;
}

const HOUR_SECONDS = 3_600;
/** Limit on wrong codes; valid ones do not count. Codes are too long to be guessed: this only stops scripts that try. */
const FAILED_ATTEMPT_LIMITS = {
  account: { name: 'redeem-account', points: 100, durationSeconds: HOUR_SECONDS },
  address: { name: 'redeem-address', points: 300, durationSeconds: HOUR_SECONDS },
} as const satisfies Record<string, RateLimitRule>;

/** Redeems codes for accounts: the code and what it brings change in one transaction. */
export class CodeRedemption {
  readonly #dependencies: CodeRedemptionDependencies;
  readonly #accountLimiter: RateLimiter;
  readonly #addressLimiter: RateLimiter;

  constructor(dependencies: CodeRedemptionDependencies) {
    this.#dependencies = dependencies;
    this.#accountLimiter = dependencies.rateLimits.define(FAILED_ATTEMPT_LIMITS.account);
    this.#addressLimiter = dependencies.rateLimits.define(FAILED_ATTEMPT_LIMITS.address);
  }

  /**
   * @param typed the code as a person typed it
   * @throws AppError `code_invalid`, `code_used`, `code_expired`, `rank_too_low`, `package_unavailable`,
   *   `rate_limit_exceeded`
   */
  async redeem(caller: Redeemer, clientIp: string, typed: string): Promise<Redemption> {
    const { userId } = caller;
    const network = toIpLimitKey(clientIp);
    await consumeAttempt(this.#accountLimiter, String(userId));
    await consumeAttempt(this.#addressLimiter, network);
    const hash = hashToken(normalizeCode(typed));
    const result = (await this.#redeem(caller, hash)) ?? (await this.#toRefusal(hash));
    // A used or voided code was known and not guessed, so it does not count.
    if (!(result instanceof AppError && result.code === 'code_invalid'))
      await Promise.all([this.#accountLimiter.refund(String(userId)), this.#addressLimiter.refund(network)]);
    if (result instanceof AppError) throw result;
    if (result.packageCode !== '') return result;
    const { expiresAt } = await this.#dependencies.subscriptions.currentPlan(userId);
    return { ...result, expiresAt: expiresAt * 1000 };
  }

  #redeem(caller: Redeemer, hash: string): Promise<Redemption | undefined> {
    const { database, codes, clock, subscriptions, ledger } = this.#dependencies;
    const { userId } = caller;
    return database.transaction(async (trx) => {
      const code = await codes.redeem(trx, hash, userId, clock.now());
      if (code === undefined) return undefined;
      await this.#assertMayRedeem(trx, code, caller);
      const source = `code:${code.id}`;
      if (code.plan_id !== null) return { ...(await subscriptions.grant(trx, userId, code.plan_id, source)), quota: 0 };
      await ledger.grant(trx, { userId, amount: code.quota, ref: source, note: code.hint });
      return { outcome: 'credited' as const, packageCode: '', expiresAt: 0, quota: code.quota };
    });
  }

  /**
   * An administrator may not credit himself, with a code he or another administrator has made either: an `admin` redeems
   * only codes of somebody who can manage him.
   * @throws AppError `rank_too_low`
   */
  async #assertMayRedeem(trx: Trx, code: CodeRow, { userId, role }: Redeemer): Promise<void> {
    if (role !== 'admin') return;
    const { codes, access } = this.#dependencies;
    await access.assertCanManage(trx, await codes.findCreator(trx, code.batch_id), userId);
  }

  async #toRefusal(hash: string): Promise<AppError> {
    const row = await this.#dependencies.codes.findByHash(hash);
    if (row === undefined) return new AppError('code_invalid');
    return new AppError(row.state === 'used' ? 'code_used' : 'code_expired');
  }
}

/** A refused attempt does not count, so that many concurrent attempts with one valid code do not lock out the account. */
async function consumeAttempt(limiter: RateLimiter, key: string): Promise<void> {
  const verdict = await limiter.consume(key);
  if (!verdict.allowed) await limiter.refund(key);
  assertWithinLimit(verdict);
}
