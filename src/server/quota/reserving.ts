import type { Clock } from '../platform/clock.ts';
import { AppError } from '../platform/errors.ts';
import type { Allowances, Quota, Reservation, SpendWatch } from './quota.ts';
import { assertAmount, groupBy, sumOf } from './rules.ts';
import type { Hold, QuotaStore } from './store.ts';

export interface LedgerParts {
  readonly store: QuotaStore;
  readonly clock: Clock;
  readonly allowances: Allowances;
  readonly watch: SpendWatch;
}

type Trx = Parameters<Quota['reserve']>[0];
type Held = Pick<Hold, 'plan_amount' | 'plan_slot'>;

const amountOf = ({ amount }: Reservation): number => amount;
const NOTHING: Held = { plan_amount: 0, plan_slot: null };

/**
 * Takes rows in the order in which an end takes them, plan, token, wallet, so that two transactions never wait for each
 * other. What several reservations take from one row is taken at once.
 */
export function makeReserveAll({ store, clock, allowances, watch }: LedgerParts): Quota['reserveAll'] {
  /** What the plan pays of each, in their order. */
  const takeFromPlans = async (trx: Trx, all: readonly Reservation[]): Promise<ReadonlyMap<Reservation, Held>> => {
    const held = new Map<Reservation, Held>();
    for (const same of groupBy(all, ({ userId, model }) => `${userId} ${model}`)) {
      const [{ userId, model }] = same;
      const { taken, slot } = await allowances.take(trx, { userId, model, amount: sumOf(same, amountOf) });
      let left = taken;
      for (const reservation of same) {
        if (left === 0) break;
        const paid = Math.min(left, reservation.amount);
        left -= paid;
        held.set(reservation, { plan_amount: paid, plan_slot: paid > 0 ? slot : null });
      }
    }
    return held;
  };

  return async (trx, all) => {
    for (const { amount } of all) assertAmount(amount);
    const plans = await takeFromPlans(trx, all);
    const planOf = (each: Reservation): Held => plans.get(each) ?? NOTHING;
    for (const same of groupBy(all, ({ tokenId }) => tokenId)) {
      const [{ tokenId }] = same;
      if (tokenId !== undefined && !(await store.takeFromToken(trx, tokenId, sumOf(same, amountOf))))
        throw new AppError('token_quota_not_enough');
    }
    const spent: { userId: number; before: number; after: number }[] = [];
    for (const same of groupBy(all, ({ userId }) => userId)) {
      const [{ userId }] = same;
      const needed = sumOf(same, amountOf);
      const taken = sumOf(same, (each) => planOf(each).plan_amount);
      const fromWallet = needed - taken;
      if (fromWallet === 0) continue;
      const after = await store.takeExactly(trx, userId, fromWallet);
      if (after === undefined) {
        const available = taken + (await store.balanceIn(trx, userId));
        throw new AppError('quota_not_enough', { params: { needed, available } });
      }
      spent.push({ userId, before: after + fromWallet, after });
    }
    const now = clock.now();
    await store.addHolds(
      trx,
      all.map((each) => ({
        ref: each.ref,
        user_id: each.userId,
        token_id: each.tokenId ?? null,
        model: each.model,
        amount: each.amount,
        ...planOf(each),
        created_at: now,
      })),
    );
    await store.addEntries(
      trx,
      all.map((each) => ({
        user_id: each.userId,
        kind: 'reserve',
        amount: planOf(each).plan_amount - each.amount,
        plan_amount: -planOf(each).plan_amount,
        charged: 0,
        ref: each.ref,
        token_id: each.tokenId ?? null,
        model: each.model,
        note: null,
        created_at: now,
      })),
    );
    for (const { userId, ...wallet } of spent) await watch(trx, userId, wallet);
  };
}
