import type { Trx } from '../tables.ts';
import { groupAlike, groupBy, sumOf } from './group-by-and-sum.ts';
import { notEnoughError } from './not-enough-error.ts';
import type { ReservationRow } from './reservation-and-ledger-store.ts';
import type { Reservation } from './reservation-and-ledger-types.ts';
import type { ReserveAndSettleDependencies } from './reserve-and-settle-dependencies.ts';
import { assertAmount } from './settlement-split.ts';

type PlanFunding = Pick<ReservationRow, 'plan_amount' | 'plan_slot'>;

const amountOf = ({ amount }: Reservation): number => amount;
const NO_PLAN_FUNDING: PlanFunding = { plan_amount: 0, plan_slot: null };

/**
 * Reserves quota. Rows are taken in the order in which a settlement takes them (plan, token, wallet), so that two
 * transactions never deadlock. What several reservations take from one row is taken in one write.
 */
export class Reserver {
  readonly #dependencies: ReserveAndSettleDependencies;

  constructor(dependencies: ReserveAndSettleDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws AppError `quota_not_enough`, `model_not_allowed`; the transaction must be rolled back then */
  async reserveAll(trx: Trx, all: readonly Reservation[]): Promise<void> {
    for (const { amount } of all) assertAmount(amount);
    const funding = await this.#takeFromPlans(trx, all);
    const fundingOf = (each: Reservation): PlanFunding => funding.get(each) ?? NO_PLAN_FUNDING;
    await this.#takeFromTokens(trx, all);
    const spent = await this.#takeFromWallets(trx, all, fundingOf);
    const now = this.#dependencies.clock.now();
    await this.#dependencies.store.addReservations(
      trx,
      all.map((each) => {
        const { plan_amount, plan_slot } = fundingOf(each);
        return {
          ref: each.ref,
          user_id: each.userId,
          token_id: each.tokenId ?? null,
          model: each.model,
          amount: each.amount,
          plan_amount,
          plan_slot,
          created_at: now,
        };
      }),
    );
    await this.#dependencies.store.addEntries(
      trx,
      all.map((each) => ({
        user_id: each.userId,
        kind: 'reserve',
        amount: fundingOf(each).plan_amount - each.amount,
        plan_amount: -fundingOf(each).plan_amount,
        charged: 0,
        ref: each.ref,
        token_id: each.tokenId ?? null,
        model: each.model,
        note: null,
        created_at: now,
      })),
    );
    for (const { userId, ...wallet } of spent) await this.#dependencies.onSpend(trx, userId, wallet);
  }

  /** What the plan pays of each, in their order. */
  async #takeFromPlans(trx: Trx, all: readonly Reservation[]): Promise<ReadonlyMap<Reservation, PlanFunding>> {
    const funding = new Map<Reservation, PlanFunding>();
    for (const same of groupAlike(all, (a, b) => a.userId === b.userId && a.model === b.model)) {
      const [{ userId, model }] = same;
      const { taken, slot } = await this.#dependencies.allowances.take(trx, {
        userId,
        model,
        amount: sumOf(same, amountOf),
      });
      let left = taken;
      for (const reservation of same) {
        const paid = Math.min(left, reservation.amount);
        left -= paid;
        funding.set(reservation, { plan_amount: paid, plan_slot: paid > 0 ? slot : null });
      }
    }
    return funding;
  }

  async #takeFromTokens(trx: Trx, all: readonly Reservation[]): Promise<void> {
    for (const same of groupBy(all, ({ tokenId }) => tokenId)) {
      const [{ tokenId }] = same;
      const needed = sumOf(same, amountOf);
      if (tokenId === undefined || (await this.#dependencies.store.takeFromToken(trx, tokenId, needed))) continue;
      const { limit = 0, used = 0 } = (await this.#dependencies.store.tokenLimits([tokenId], trx)).get(tokenId) ?? {};
      const available = Math.max(0, limit - used);
      throw notEnoughError({ needed, available, limit }, this.#dependencies.amountUnit());
    }
  }

  async #takeFromWallets(
    trx: Trx,
    all: readonly Reservation[],
    fundingOf: (each: Reservation) => PlanFunding,
  ): Promise<{ userId: number; before: number; after: number }[]> {
    const spent: { userId: number; before: number; after: number }[] = [];
    for (const same of groupBy(all, ({ userId }) => userId)) {
      const [{ userId }] = same;
      const needed = sumOf(same, amountOf);
      const fromPlan = sumOf(same, (each) => fundingOf(each).plan_amount);
      const fromWallet = needed - fromPlan;
      if (fromWallet === 0) continue;
      const after = await this.#dependencies.store.takeExactly(trx, userId, fromWallet);
      if (after === undefined) {
        const available = fromPlan + (await this.#dependencies.store.balanceIn(trx, userId));
        throw notEnoughError({ needed, available }, this.#dependencies.amountUnit());
      }
      spent.push({ userId, before: after + fromWallet, after });
    }
    return spent;
  }
}
