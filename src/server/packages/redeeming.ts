import { addressKey } from '../platform/address.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError } from '../platform/errors.ts';
import { assertAllowed } from '../platform/limits/assert-allowed.ts';
import type { Limiter, LimitRule, Limits } from '../platform/limits/limits.ts';
import { hashToken } from '../platform/secrets.ts';
import type { Quota } from '../quota/quota.ts';
import type { Tables } from '../tables.ts';
import { findByHash, takeCode } from './code-store.ts';
import { readCode } from './code-text.ts';
import type { Granted, Plans } from './plans.ts';

export interface RedeemParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly quota: Pick<Quota, 'grant'>;
  readonly plans: Pick<Plans, 'grant' | 'planOf'>;
}

/**
 * Uses a code for an account: the code and what it brings change in one transaction.
 *
 * @throws code_invalid, code_used, code_expired, package_unavailable, rate_limit_exceeded
 */
export type Redeem = (userId: number, address: string, typed: string) => Promise<Granted & { readonly quota: number }>;

const HOUR = 3_600;
/** Wrong codes; right ones cost nothing. Codes are too long to be guessed: this keeps scripts from trying. */
const RULES = {
  account: { name: 'redeem-account', points: 100, durationSeconds: HOUR },
  address: { name: 'redeem-address', points: 300, durationSeconds: HOUR },
} as const satisfies Record<string, LimitRule>;

export function makeRedeem({ database, clock, limits, quota, plans }: RedeemParts): Redeem {
  const ofAccount = limits.define(RULES.account);
  const ofAddress = limits.define(RULES.address);

  /** Why a code cannot be used. */
  const refusal = async (hash: string): Promise<AppError> => {
    const row = await findByHash(database.kysely, hash);
    if (row === undefined) return new AppError('code_invalid');
    return new AppError(row.state === 'used' ? 'code_used' : 'code_expired');
  };

  const use = (userId: number, hash: string) =>
    database.transaction(async (trx) => {
      const code = await takeCode(trx, hash, userId, clock.now());
      if (code === undefined) return undefined;
      if (code.card_id !== null)
        return { ...(await plans.grant(trx, userId, code.card_id, `code:${code.id}`)), quota: 0 };
      await quota.grant(trx, { userId, amount: code.quota, ref: `code:${code.id}`, note: code.hint });
      return { outcome: 'credited' as const, packageCode: '', expiresAt: 0, quota: code.quota };
    });

  return async (userId, address, typed) => {
    const network = addressKey(address);
    await admit(ofAccount, String(userId));
    await admit(ofAddress, network);
    const hash = hashToken(readCode(typed));
    const granted = (await use(userId, hash)) ?? (await refusal(hash));
    // A used or withdrawn code was known, not guessed.
    if (!(granted instanceof AppError && granted.code === 'code_invalid'))
      await Promise.all([ofAccount.giveBack(String(userId)), ofAddress.giveBack(network)]);
    if (granted instanceof AppError) throw granted;
    if (granted.packageCode !== '') return granted;
    return { ...granted, expiresAt: (await plans.planOf(userId)).expiresAt * 1000 };
  };
}

/** Tries that were refused cost nothing, so that many at once with one good code lock nobody out. */
async function admit(limiter: Limiter, key: string): Promise<void> {
  const verdict = await limiter.consume(key);
  if (!verdict.allowed) await limiter.giveBack(key);
  assertAllowed(verdict);
}
