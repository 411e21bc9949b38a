import { type AmountUnit, formatAmount } from '../../contract/amounts.ts';
import type { Localized } from '../../contract/messages/format-message.ts';
import { defined } from '../../contract/objects.ts';
import type { Notifier } from '../notifications/notifier.ts';
import { AppError, invalidRequest, isAppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { afterCommit, type Database } from '../platform/db/database.ts';
import type { Tables, Trx } from '../tables.ts';
import type { PostgresCallCharges } from './call-charges.ts';
import {
  type Allowances,
  assertAmount,
  type CallDetail,
  type CallWork,
  type CallWorkOutcome,
  type ClosedCall,
  type CloseListener,
  dayOf,
  type Grant,
  groupAlike,
  groupBy,
  type Ledger,
  type Reservation,
  type Settlement,
  type SettlementListener,
  type SettlementSplit,
  type SpendListener,
  splitSettlement,
  sumOf,
  type TokenUsage,
} from './ledger.ts';
import type { LedgerStore, NewLedgerEntry, ReservationRow } from './ledger-store.ts';

/** Allowances of an account without a plan: no quota, and every model is permitted. */
export const NO_ALLOWANCES: Allowances = {
  take: async () => ({ taken: 0, slot: '' }),
  giveBack: async () => 0,
  permittedModels: async () => undefined,
};

interface LedgerServiceDependencies {
  readonly store: LedgerStore;
  readonly clock: Clock;
  /** Default: no account has a plan. */
  readonly allowances?: Allowances;
  /** Default: none. */
  readonly onSpend?: SpendListener;
  /** The unit in which refusals state amounts, read from the current settings. Default: credits of 500,000 quota. */
  readonly amountUnit?: () => AmountUnit;
  /** Called after the commit with the number of reservations it closed; used for metrics. */
  readonly onSettled?: SettlementListener;
  /** Writes the request log. Default: none. */
  readonly onClosed?: CloseListener;
  /** PostgreSQL only: charges many model calls in one statement. Default: none. */
  readonly callCharges?: PostgresCallCharges;
}

/** Largest balance a grant may reach; with later refunds added, the balance remains a safe integer. */
const MAX_WALLET = 9_000_000_000_000_000;

/**
 * The ledger over its store. Amounts are validated here again, because a fraction or a negative amount would create
 * money.
 */
export class LedgerService implements Ledger {
  readonly #store: LedgerStore;
  readonly #clock: Clock;
  readonly #amountUnit: () => AmountUnit;
  readonly #reserver: Reserver;
  readonly #settler: Settler;
  readonly #callCharges: PostgresCallCharges | undefined;

  constructor({
    store,
    clock,
    allowances = NO_ALLOWANCES,
    onSpend = async () => {},
    amountUnit = () => ({ quotaPerCredit: 500_000, currency: '' }),
    onSettled = () => {},
    onClosed = async () => {},
    callCharges,
  }: LedgerServiceDependencies) {
    this.#store = store;
    this.#clock = clock;
    this.#amountUnit = amountUnit;
    const writer = { store, clock, allowances, onSpend, amountUnit };
    this.#reserver = new Reserver(writer);
    this.#settler = new Settler({ ...writer, onSettled, onClosed });
    this.#callCharges = callCharges;
  }

  reserveAll(trx: Trx, reservations: readonly Reservation[]): Promise<void> {
    return this.#reserver.reserveAll(trx, reservations);
  }

  settleAll(trx: Trx, settlements: readonly Settlement[]): Promise<(number | undefined)[]> {
    return this.#settler.settleAll(trx, settlements);
  }

  chargeCalls(work: readonly CallWork[], waitMs: number): Promise<readonly CallWorkOutcome[]> {
    return this.#callCharges?.charge(work, waitMs) ?? Promise.resolve(work.map(() => 'apart' as const));
  }

  reserve(trx: Trx, reservation: Reservation): Promise<void> {
    return this.#reserver.reserveAll(trx, [reservation]);
  }

  async settle(
    trx: Trx,
    ref: string,
    cost: number,
    usage?: TokenUsage,
    detail?: CallDetail,
  ): Promise<number | undefined> {
    return (await this.#settler.settleAll(trx, [{ ref, cost, usage, detail }]))[0];
  }

  async refund(trx: Trx, ref: string, detail?: CallDetail): Promise<boolean> {
    return (await this.#settler.settleAll(trx, [{ ref, detail }]))[0] !== undefined;
  }

  async grant(trx: Trx, { userId, amount, ref, note }: Grant): Promise<void> {
    if (!Number.isSafeInteger(amount)) throw new TypeError('a grant is whole quota');
    const isNew = await this.#store.addEntryOnce(trx, {
      user_id: userId,
      kind: 'grant',
      amount,
      plan_amount: 0,
      charged: 0,
      ref,
      token_id: null,
      model: null,
      note: note ?? null,
      created_at: this.#clock.now(),
    });
    if (!isNew) throw new AppError('already_exists', { params: { what: 'grant' } });
    if (amount < 0 && (await this.#store.takeExactly(trx, userId, -amount)) === undefined) {
      const available = await this.#store.balanceIn(trx, userId);
      throw notEnoughError({ needed: -amount, available }, this.#amountUnit());
    }
    if (amount > 0 && !(await this.#store.giveWithin(trx, userId, amount, MAX_WALLET)))
      throw invalidRequest(`A wallet holds at most ${MAX_WALLET}.`, 'quota');
  }

  async openWallet(trx: Trx, userId: number, amount: number): Promise<void> {
    assertAmount(amount);
    await this.#store.addWallet(trx, userId);
    if (amount > 0) await this.grant(trx, { userId, amount, ref: `open:${userId}` });
  }

  setTokenLimit(trx: Trx, tokenId: number, limit: number | undefined): Promise<void> {
    return this.#store.setTokenLimit(trx, tokenId, limit);
  }

  tokenLimits(tokenIds: readonly number[]): ReturnType<Ledger['tokenLimits']> {
    return this.#store.tokenLimits(tokenIds);
  }

  wallet(userId: number): ReturnType<Ledger['wallet']> {
    return this.#store.wallet(userId);
  }

  lockBalance(trx: Trx, userId: number): Promise<number> {
    return this.#store.lockBalance(trx, userId);
  }
}

type PlanFunding = Pick<ReservationRow, 'plan_amount' | 'plan_slot'>;

const amountOf = ({ amount }: Reservation): number => amount;
const NO_PLAN_FUNDING: PlanFunding = { plan_amount: 0, plan_slot: null };

/**
 * Reserves quota. Rows are locked in the same order as by a settlement (plan, token, wallet), so that two transactions
 * never deadlock. Several reservations against one row are combined into one write.
 */
class Reserver {
  readonly #dependencies: ReserveAndSettleDependencies;

  constructor(dependencies: ReserveAndSettleDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws AppError `quota_not_enough`, `model_not_allowed`; the caller must then roll the transaction back */
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

  /** The amount the plan pays of each reservation, in their order. */
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

interface SettlerDependencies extends ReserveAndSettleDependencies {
  readonly onSettled: SettlementListener;
  readonly onClosed: CloseListener;
}

/** A reservation that is being settled. Amounts that prove unavailable are corrected step by step. */
interface OpenSettlement extends SettlementSplit {
  readonly reservation: ReservationRow;
  /** False for a refund. */
  readonly isSettled: boolean;
  readonly usage: TokenUsage;
  readonly detail: CallDetail | undefined;
  charged: number;
  /** Charged beyond the reservation, from the plan's allowance and from the wallet. */
  planExtra: number;
  walletExtra: number;
  /** The part of `planBack` whose period is over. */
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
 * Settles reservations. Rows are locked in the same order as by a reservation (plan, token, wallet), so that two
 * transactions never deadlock. Returns of several settlements to one row are combined into one write, before any
 * further charge.
 */
class Settler {
  readonly #dependencies: SettlerDependencies;

  constructor(dependencies: SettlerDependencies) {
    this.#dependencies = dependencies;
  }

  /** @returns the charged amounts in the order of `settlements`; undefined for a reservation that was already closed */
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

  /** If several settlements name one reservation, the first one counts. */
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

  /** A cost beyond the reservation is charged to the plan first, like the reservation itself. */
  async #takeExtrasFromPlans(trx: Trx, all: readonly OpenSettlement[]): Promise<void> {
    for (const each of all) {
      const { user_id: userId, model } = each.reservation;
      each.planExtra = await this.#dependencies.allowances.take(trx, { userId, model, amount: each.extra }).then(
        ({ taken }) => taken,
        (error: unknown) => {
          // The plan has changed since and no longer covers the model: nothing was written, so the wallet pays.
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

  /** Charges the rest to the wallet only as far as its balance covers it: a balance never goes below zero. */
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

/** Whether two calls on the same day share one row of the usage figures. */
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
  // The period is over, so the returned part is void. This entry keeps the sum of the entries equal to the quota used
  // of that period.
  return [entry, { ...shared, kind: 'expire', amount: 0, plan_amount: -planLapsed, charged: 0 }];
}

/** Shared by reserving and settling: the ledger's rows, the plans' allowances, and the listener for wallet changes. */
interface ReserveAndSettleDependencies {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly allowances: Allowances;
  /** The unit in which refusals state amounts. */
  readonly amountUnit: () => AmountUnit;
  /** Called in the transaction that charged a wallet. */
  readonly onSpend: SpendListener;
}

interface Shortage {
  /** Quota. */
  readonly needed: number;
  /** Remaining quota. */
  readonly available: number;
  /** The limit of the API key that was reached, in quota; absent when the account has too little. */
  readonly limit?: number;
}

/**
 * The `quota_not_enough` error. Its message states amounts in display units, because clients show it to their users.
 */
export const notEnoughError = ({ needed, available, limit }: Shortage, unit: AmountUnit): AppError =>
  new AppError(
    'quota_not_enough',
    defined({
      messageKey: limit === undefined ? undefined : ('token_limit_reached' as const),
      params: defined({
        needed: localizeAmount(needed, unit),
        available: localizeAmount(available, unit),
        limit: limit === undefined ? undefined : localizeAmount(limit, unit),
      }),
    }),
  );

/**
 * Formats lazily, and only in the language of the reader: a busy caller without credits is refused many times a second.
 */
const localizeAmount = (quota: number, unit: AmountUnit): Localized => ({
  get en() {
    return formatAmount(quota, unit, 'en', 'exact');
  },
  get 'zh-CN'() {
    return formatAmount(quota, unit, 'zh-CN', 'exact');
  },
});

/** A listener that notifies an account, at most once a day, when its wallet falls below `lowQuota()`; 0: never. */
export function notifyLowBalance(
  notifier: Notifier,
  clock: Clock,
  lowQuota: () => number,
  amountUnit: () => AmountUnit,
): SpendListener {
  return async (trx, userId, { before, after }) => {
    const threshold = lowQuota();
    if (before < threshold || after >= threshold) return;
    const left = (language: string): string => formatAmount(after, amountUnit(), language);
    await notifier.notify(trx, {
      userId,
      topic: 'quota.low',
      type: 'system',
      title: { en: 'Your balance is running low', 'zh-CN': '您的余额即将用尽' },
      content: { en: `${left('en')} left.`, 'zh-CN': `剩余 ${left('zh-CN')}。` },
      targetUrl: '/account/overview',
      deduplicationKey: `quota.low:${dayOf(clock.now())}`,
      event: { type: 'wallet.low', subject: `wallet:${userId}`, data: { quota: after, threshold } },
    });
  };
}

interface AbandonedReservationDependencies {
  readonly database: Database<Tables>;
  readonly store: LedgerStore;
  readonly ledger: Ledger;
  readonly clock: Clock;
}

const BATCH = 200;

/**
 * Refunds reservations whose process died before settling them. For work without a row of its own to recover from
 * (model calls, `req_`). `olderThanMs` must exceed the longest such work, because a call in progress looks the same.
 * Each refund is a transaction of its own, decided by deleting the reservation, so races and late settlements are
 * harmless.
 * @returns the number of refunded reservations
 */
export async function refundAbandonedReservations(
  { database, store, ledger, clock }: AbandonedReservationDependencies,
  { prefix, olderThanMs }: { readonly prefix: string; readonly olderThanMs: number },
): Promise<number> {
  const before = clock.now() - olderThanMs;
  let refunded = 0;
  for (;;) {
    const refs = await store.openRefs(before, prefix, BATCH);
    const ends = await Promise.all(refs.map((ref) => database.transaction((trx) => ledger.refund(trx, ref))));
    refunded += ends.filter(Boolean).length;
    if (refs.length < BATCH) return refunded;
  }
}
