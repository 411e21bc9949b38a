import type { Clock } from '../platform/clock.ts';
import { AppError, invalid } from '../platform/errors.ts';
import type { Allowances, Quota, SpendWatch, TokenUse } from './quota.ts';
import { closingOf, dayOf } from './rules.ts';
import type { QuotaStore } from './store.ts';

/** An account without a plan: nothing is taken from one and every model is permitted. */
export const NO_ALLOWANCES: Allowances = {
  take: async () => ({ taken: 0, slot: '' }),
  giveBack: async () => 0,
  permittedModels: async () => undefined,
};

const NO_TOKENS: TokenUse = { promptTokens: 0, completionTokens: 0 };

/** Most a wallet may be granted; what refunds add on top still is a safe integer. */
const MOST = 9_000_000_000_000_000;

/** The ledger over its store. Amounts are checked here once more, since a float or a negative would mint money. */
export function makeQuota(
  store: QuotaStore,
  clock: Clock,
  allowances: Allowances = NO_ALLOWANCES,
  watch: SpendWatch = async () => {},
): Quota {
  const close = async (
    trx: Parameters<Quota['settle']>[0],
    ref: string,
    cost: number,
    kind: 'settle' | 'refund',
    use: TokenUse = NO_TOKENS,
  ) => {
    const hold = await store.takeHold(trx, ref);
    if (hold === undefined) return undefined;
    const now = clock.now();
    const wanted = closingOf(hold, cost);
    // Rows in the order a reservation takes them, so that the two never wait for each other: plan, token, wallet.
    if (wanted.extra > 0 && hold.token_id !== null) await store.changeTokenUse(trx, hold.token_id, 0);
    // More than was reserved is taken only as far as the wallet reaches: a balance never goes below zero.
    const extra = wanted.extra > 0 ? await store.takeUpTo(trx, hold.user_id, wanted.extra) : 0;
    if (extra > 0) {
      const after = await store.balanceIn(trx, hold.user_id);
      await watch(trx, hold.user_id, { before: after + extra, after });
    }
    const charged = wanted.charged - (wanted.extra - extra);
    const { planBack } = wanted;
    const planLapsed =
      hold.plan_slot === null || planBack === 0
        ? 0
        : planBack - (await allowances.giveBack(trx, hold.plan_slot, planBack));
    if (hold.token_id !== null && charged !== hold.amount)
      await store.changeTokenUse(trx, hold.token_id, charged - hold.amount);
    if (kind === 'settle')
      await store.addUse(trx, { ...hold, ...use, day: dayOf(now), charged, back: wanted.walletBack });
    else if (wanted.walletBack > 0) await store.giveBack(trx, hold.user_id, wanted.walletBack);
    const entry = {
      user_id: hold.user_id,
      ref,
      token_id: hold.token_id,
      model: hold.model,
      note: null,
      created_at: now,
    };
    await store.addEntry(trx, { ...entry, kind, amount: wanted.walletBack - extra, plan_amount: planBack, charged });
    // Its period is over: what came back is gone at once, so that the entries still add up to what was used of it.
    if (planLapsed > 0)
      await store.addEntry(trx, { ...entry, kind: 'expire', amount: 0, plan_amount: -planLapsed, charged: 0 });
    return charged;
  };

  return {
    async reserve(trx, { ref, userId, tokenId, model, amount }) {
      assertAmount(amount);
      const { taken, slot } = await allowances.take(trx, { userId, model, amount });
      if (tokenId !== undefined && !(await store.takeFromToken(trx, tokenId, amount)))
        throw new AppError('token_quota_not_enough');
      const fromWallet = amount - taken;
      const left = fromWallet > 0 ? await store.takeExactly(trx, userId, fromWallet) : undefined;
      if (fromWallet > 0 && left === undefined) {
        throw new AppError('quota_not_enough', {
          params: { needed: amount, available: taken + (await store.balanceIn(trx, userId)) },
        });
      }
      const now = clock.now();
      await store.addHold(trx, {
        ref,
        user_id: userId,
        token_id: tokenId ?? null,
        model,
        amount,
        plan_amount: taken,
        plan_slot: taken > 0 ? slot : null,
        created_at: now,
      });
      await store.addEntry(trx, {
        user_id: userId,
        kind: 'reserve',
        amount: -fromWallet,
        plan_amount: -taken,
        charged: 0,
        ref,
        token_id: tokenId ?? null,
        model,
        note: null,
        created_at: now,
      });
      if (left !== undefined) await watch(trx, userId, { before: left + fromWallet, after: left });
    },
    async settle(trx, ref, cost, use) {
      assertAmount(cost);
      if (use !== undefined) for (const count of [use.promptTokens, use.completionTokens]) assertAmount(count);
      return close(trx, ref, cost, 'settle', use);
    },
    async refund(trx, ref) {
      return (await close(trx, ref, 0, 'refund')) !== undefined;
    },
    async grant(trx, { userId, amount, ref, note }) {
      if (!Number.isSafeInteger(amount)) throw new TypeError('a grant is whole quota');
      const isNew = await store.addEntryOnce(trx, {
        user_id: userId,
        kind: 'grant',
        amount,
        plan_amount: 0,
        charged: 0,
        ref,
        token_id: null,
        model: null,
        note: note ?? null,
        created_at: clock.now(),
      });
      if (!isNew) throw new AppError('already_exists', { params: { what: 'grant' } });
      if (amount < 0 && (await store.takeExactly(trx, userId, -amount)) === undefined) {
        throw new AppError('quota_not_enough', {
          params: { needed: -amount, available: await store.balanceIn(trx, userId) },
        });
      }
      if (amount > 0 && !(await store.giveWithin(trx, userId, amount, MOST)))
        throw invalid(`A wallet holds at most ${MOST}.`, 'quota');
    },
    async open(trx, userId, amount) {
      assertAmount(amount);
      await store.addWallet(trx, userId);
      if (amount > 0) await this.grant(trx, { userId, amount, ref: `open:${userId}` });
    },
    limitToken: (trx, tokenId, limit) => store.limitToken(trx, tokenId, limit),
    tokenLimits: (tokenIds) => store.tokenLimits(tokenIds),
    wallet: (userId) => store.wallet(userId),
  };
}

function assertAmount(amount: number): void {
  if (!Number.isSafeInteger(amount) || amount < 0) throw new TypeError('an amount is whole quota, not negative');
}
