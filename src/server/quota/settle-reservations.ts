import { isAppError } from '../platform/app-error.ts';
import { afterCommit } from '../platform/db/database.ts';
import type { Trx } from '../tables.ts';
import { groupAlike, groupBy, sumOf } from './group-by-and-sum.ts';
import type { NewLedgerEntry, ReservationRow } from './reservation-and-ledger-store.ts';
import type {
  CallDetail,
  ClosedCall,
  CloseListener,
  Settlement,
  SettlementListener,
  TokenUsage,
} from './reservation-and-ledger-types.ts';
import type { ReserveAndSettleDependencies } from './reserve-and-settle-dependencies.ts';
import { assertAmount, type SettlementSplit, splitSettlement } from './settlement-split.ts';
import { dayOf } from './utc-days.ts';

interface SettlerDependencies extends ReserveAndSettleDependencies {
  readonly onSettled: SettlementListener;
  readonly onClosed: CloseListener;
}

/** A reservation while it is being settled; what turns out not to be available is corrected step by step. */
interface OpenSettlement extends SettlementSplit {
  readonly reservation: ReservationRow;
  /** False for a refund. */
  readonly isSettled: boolean;
  readonly usage: TokenUsage;
  readonly detail: CallDetail | undefined;
  charged: number;
  /** Taken beyond the reservation, from the plan's allowance and from the wallet. */
  planExtra: number;
  walletExtra: number;
  /** Part of `planBack` whose period is over. */
  planLapsed: number;
}

const NO_TOKEN_USAGE: TokenUsage = { promptTokens: 0, completionTokens: 0 };

const openSettlement = (
  reservation: ReservationRow,
  { cost, usage = NO_TOKEN_USAGE, detail }: Settlement,
): OpenSettlement => ({
  ...splitSettlement(reservation, cost ?? 0),
  reservation,
  isSettled: cost !== undefined,
  usage,
  detail,
  planExtra: 0,
  walletExtra: 0,
  planLapsed: 0,
});

/**
 * Settles reservations. Rows are taken in the order in which a reservation takes them (plan, token, wallet), so that two
 * transactions never deadlock. What several settlements return to one row is returned in one write, before anything more is
 * taken from it.
 */
export class Settler {
  readonly #dependencies: SettlerDependencies;

  constructor(dependencies: SettlerDependencies) {
    this.#dependencies = dependencies;
  }

  /** @returns the amounts charged, in the order of `settlements`; undefined for a reservation that is closed already */
  async settleAll(trx: Trx, settlements: readonly Settlement[]): Promise<(number | undefined)[]> {
    for (const { cost = 0, usage = NO_TOKEN_USAGE } of settlements)
      for (const amount of [cost, usage.promptTokens, usage.completionTokens]) assertAmount(amount);
    if (settlements.length === 0) return [];
    const outcomes = await this.#closeReservations(trx, settlements);
    const all = outcomes.filter((each) => each !== undefined);
    const covered = all.filter(({ extra }) => extra === 0);
    const exceeding = all.filter(({ extra }) => extra > 0);
    const now = this.#dependencies.clock.now();
    await this.#returnToPlans(trx, covered);
    await this.#takeExtrasFromPlans(trx, exceeding);
    await this.#lockTokens(trx, exceeding);
    await this.#adjustTokens(trx, covered);
    await this.#adjustWallets(trx, covered);
    await this.#takeExtrasFromWallets(trx, exceeding);
    await this.#adjustTokens(trx, exceeding);
    await this.#adjustWallets(trx, exceeding);
    await this.#addUsage(trx, all, dayOf(now));
    await this.#dependencies.store.addEntries(
      trx,
      all.flatMap((each) => toEntries(each, now)),
    );
    await this.#dependencies.onClosed(trx, all.map(toClosedCall), now);
    afterCommit(trx, () => this.#count(all));
    return outcomes.map((each) => each?.charged);
  }

  #count(all: readonly OpenSettlement[]): void {
    const { onSettled } = this.#dependencies;
    const settled = all.filter(({ isSettled }) => isSettled).length;
    if (settled > 0) onSettled('settle', settled);
    if (settled < all.length) onSettled('refund', all.length - settled);
  }

  /** Of several settlements of one reservation the first one counts. */
  async #closeReservations(trx: Trx, settlements: readonly Settlement[]): Promise<(OpenSettlement | undefined)[]> {
    const rows = await this.#dependencies.store.takeReservations(
      trx,
      settlements.map(({ ref }) => ref),
    );
    const reservations = new Map(rows.map((row) => [row.ref, row]));
    return settlements.map((settlement) => {
      const reservation = reservations.get(settlement.ref);
      reservations.delete(settlement.ref);
      return reservation && openSettlement(reservation, settlement);
    });
  }

  async #returnToPlans(trx: Trx, all: readonly OpenSettlement[]): Promise<void> {
    const owed = all.filter(({ planBack, reservation }) => planBack > 0 && reservation.plan_slot !== null);
    for (const same of groupBy(owed, ({ reservation }) => reservation.plan_slot ?? '')) {
      const slot = same[0].reservation.plan_slot ?? '';
      let back = await this.#dependencies.allowances.giveBack(
        trx,
        slot,
        sumOf(same, ({ planBack }) => planBack),
      );
      for (const each of same) {
        each.planLapsed = Math.max(0, each.planBack - back);
        back -= each.planBack - each.planLapsed;
      }
    }
  }

  /** A cost beyond the reservation comes from the plan first, like the reservation itself. */
  async #takeExtrasFromPlans(trx: Trx, all: readonly OpenSettlement[]): Promise<void> {
    for (const each of all) {
      const { user_id: userId, model } = each.reservation;
      each.planExtra = await this.#dependencies.allowances.take(trx, { userId, model, amount: each.extra }).then(
        ({ taken }) => taken,
        (error: unknown) => {
          // The plan has changed since and does not cover the model any more: nothing was written, the wallet pays.
          if (isAppError(error, 'model_not_allowed')) return 0;
          throw error;
        },
      );
    }
  }

  async #lockTokens(trx: Trx, all: readonly OpenSettlement[]): Promise<void> {
    for (const [{ reservation }] of groupBy(all, ({ reservation }) => reservation.token_id))
      if (reservation.token_id !== null) await this.#dependencies.store.adjustTokenUse(trx, reservation.token_id, 0);
  }

  /** What the plan does not cover is taken as far as the wallet reaches: a balance never goes below zero. */
  async #takeExtrasFromWallets(trx: Trx, all: readonly OpenSettlement[]): Promise<void> {
    for (const each of all) {
      const { user_id: userId } = each.reservation;
      const missing = each.extra - each.planExtra;
      each.walletExtra = await this.#dependencies.store.takeUpTo(trx, userId, missing);
      each.charged -= missing - each.walletExtra;
      if (each.walletExtra === 0) continue;
      const after = await this.#dependencies.store.balanceIn(trx, userId);
      await this.#dependencies.onSpend(trx, userId, { before: after + each.walletExtra, after });
    }
  }

  async #adjustTokens(trx: Trx, all: readonly OpenSettlement[]): Promise<void> {
    for (const same of groupBy(all, ({ reservation }) => reservation.token_id)) {
      const tokenId = same[0].reservation.token_id;
      const change = sumOf(same, ({ charged, reservation: { amount } }) => charged - amount);
      if (tokenId !== null && change !== 0) await this.#dependencies.store.adjustTokenUse(trx, tokenId, change);
    }
  }

  async #adjustWallets(trx: Trx, all: readonly OpenSettlement[]): Promise<void> {
    for (const same of groupBy(all, ({ reservation }) => reservation.user_id)) {
      const change = {
        user: same[0].reservation.user_id,
        back: sumOf(same, ({ walletBack }) => walletBack),
        charged: sumOf(same, ({ charged }) => charged),
        requests: sumOf(same, ({ isSettled }) => Number(isSettled)),
      };
      if (change.back > 0 || change.requests > 0) await this.#dependencies.store.addUse(trx, change);
    }
  }

  async #addUsage(trx: Trx, all: readonly OpenSettlement[], day: number): Promise<void> {
    const settled = all.filter(({ isSettled }) => isSettled);
    for (const same of groupAlike(settled, areCountedTogether)) {
      const [{ reservation, detail }] = same;
      await this.#dependencies.store.addUsage(trx, {
        userId: reservation.user_id,
        day,
        tokenId: reservation.token_id ?? 0,
        model: reservation.model,
        channelId: detail?.channelId ?? 0,
        requests: same.length,
        charged: sumOf(same, ({ charged }) => charged),
        promptTokens: sumOf(same, ({ usage }) => usage.promptTokens),
        completionTokens: sumOf(same, ({ usage }) => usage.completionTokens),
      });
    }
  }
}

/** Whether two calls of one day are in one row of the usage figures. */
const areCountedTogether = (a: OpenSettlement, b: OpenSettlement): boolean =>
  a.reservation.user_id === b.reservation.user_id &&
  a.reservation.token_id === b.reservation.token_id &&
  a.reservation.model === b.reservation.model &&
  (a.detail?.channelId ?? 0) === (b.detail?.channelId ?? 0);

const toClosedCall = ({ reservation, charged, isSettled, usage, detail }: OpenSettlement): ClosedCall => ({
  ref: reservation.ref,
  userId: reservation.user_id,
  tokenId: reservation.token_id,
  model: reservation.model,
  reserved: reservation.amount,
  reservedAt: reservation.created_at,
  charged,
  isSettled,
  usage,
  detail,
});

function toEntries(settlement: OpenSettlement, now: number): NewLedgerEntry[] {
  const { reservation, isSettled, charged, walletBack, walletExtra, planBack, planExtra, planLapsed } = settlement;
  const shared = {
    user_id: reservation.user_id,
    ref: reservation.ref,
    token_id: reservation.token_id,
    model: reservation.model,
    note: null,
    created_at: now,
  };
  const entry: NewLedgerEntry = {
    ...shared,
    kind: isSettled ? 'settle' : 'refund',
    amount: walletBack - walletExtra,
    plan_amount: planBack - planExtra,
    charged,
  };
  if (planLapsed === 0) return [entry];
  // The period is over, so the returned part is void; this entry keeps the sum of entries equal to what was used of it.
  return [entry, { ...shared, kind: 'expire', amount: 0, plan_amount: -planLapsed, charged: 0 }];
}
