import { type AmountUnit, formatAmount, leftOf, type SpendLimit, type SpendPeriod } from '../../contract/amounts.ts';
import type { Localized } from '../../contract/messages/format-message.ts';
import { defined } from '../../contract/objects.ts';
import type { Notifier } from '../notifications/notifier.ts';
import { AppError, invalidRequest, isAppError } from '../platform/app-error.ts';
import { getOrCreateEntry } from '../platform/cache.ts';
import type { Clock } from '../platform/clock.ts';
import { afterCommit, type Database } from '../platform/db/database.ts';
import { randomText } from '../platform/tokens.ts';
import type { Tables, Trx } from '../tables.ts';
import {
  type Allowances,
  type AllowanceTerms,
  assertAmount,
  type CallDetail,
  type Charges,
  type ClosedCall,
  type CloseListener,
  type DailyUsage,
  dayOf,
  type Grant,
  groupAlike,
  groupBy,
  type Ledger,
  type LedgerStore,
  type NewLedgerEntry,
  type Reservation,
  type ReservationRow,
  type Settlement,
  type SettlementListener,
  type SettlementSplit,
  type SpendListener,
  splitSettlement,
  sumOf,
  type TokenChange,
  type TokenUsage,
  type WalletAdjustment,
  type WalletChange,
} from './ledger.ts';
import {
  type CountedWindow,
  kindOf,
  parseCountedWindows,
  type SpendLimitState,
  type SpendLimitStore,
  type SpendSubject,
  type SpentWindow,
  type SubjectKey,
  toSubjectKey,
} from './spend-limits.ts';

/** Allowances of an account without a plan: no quota, and every model is permitted. */
export const NO_ALLOWANCES: Allowances = {
  findTerms: async (_trx, requests) => requests.map(() => ({ hasAllowance: false, spendLimit: undefined })),
  take: async () => ({ taken: 0, slot: '' }),
  giveBack: async () => 0,
  permittedModels: async () => undefined,
  findSpendLimit: async () => undefined,
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
  /** Default: no account or token has a spend limit. */
  readonly spending?: Spending;
}

/** Limits per day, week or month. */
interface Spending {
  readonly store: SpendLimitStore;
  /** IANA name of the time zone of the site. */
  readonly timeZone: () => string;
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
  readonly #charger: Charger;
  readonly #onSpend: SpendListener;
  readonly #spending: Spending | undefined;
  readonly #allowances: Allowances;

  constructor({
    store,
    clock,
    allowances = NO_ALLOWANCES,
    onSpend = async () => {},
    amountUnit = () => ({ quotaPerCredit: 500_000, currency: '' }),
    onSettled = () => {},
    onClosed = async () => {},
    spending,
  }: LedgerServiceDependencies) {
    this.#spending = spending;
    this.#allowances = allowances;
    this.#store = store;
    this.#clock = clock;
    this.#amountUnit = amountUnit;
    this.#onSpend = onSpend;
    this.#charger = new Charger({ store, clock, allowances, onSpend, amountUnit, onSettled, onClosed, spending });
  }

  charge(trx: Trx, charges: Charges): Promise<(number | undefined)[]> {
    return this.#charger.charge(trx, charges);
  }

  async reserve(trx: Trx, reservation: Reservation): Promise<void> {
    await this.charge(trx, { reservations: [reservation] });
  }

  async settle(
    trx: Trx,
    ref: string,
    cost: number,
    usage?: TokenUsage,
    detail?: CallDetail,
  ): Promise<number | undefined> {
    return (await this.charge(trx, { settlements: [{ ref, cost, usage, detail }] }))[0];
  }

  async refund(trx: Trx, ref: string, detail?: CallDetail): Promise<boolean> {
    return (await this.charge(trx, { settlements: [{ ref, detail }] }))[0] !== undefined;
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
      actor_id: null,
      created_at: this.#clock.now(),
    });
    if (!isNew) throw new AppError('already_exists', { params: { what: 'grant' } });
    if (amount < 0) await this.#deduct(trx, userId, -amount);
    if (amount > 0 && !(await this.#store.giveWithin(trx, userId, amount, MAX_WALLET)))
      throw invalidRequest(`A wallet holds at most ${MAX_WALLET}.`, 'quota');
  }

  /** Heard like a charge: a deduction or a transfer may be what leaves a wallet low. */
  async #deduct(trx: Trx, userId: number, amount: number): Promise<void> {
    const after = await this.#store.takeExactly(trx, userId, amount);
    if (after === undefined) {
      const available = await this.#store.balanceIn(trx, userId);
      throw notEnoughError({ needed: amount, available }, this.#amountUnit());
    }
    await this.#onSpend(trx, userId, { before: after + amount, after });
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

  async setSpendLimit(trx: Trx, subject: SpendSubject, limit: SpendLimit | undefined): Promise<void> {
    if (limit !== undefined) assertAmount(limit.amount);
    await this.#spending?.store.set(trx, toSubjectKey(subject), limit);
  }

  async spendLimits(subjects: readonly SpendSubject[]): Promise<ReadonlyMap<SubjectKey, SpendLimitState>> {
    const states = new Map<SubjectKey, SpendLimitState>();
    if (this.#spending === undefined || subjects.length === 0) return states;
    const { store, timeZone } = this.#spending;
    const own = await store.limitsOf(subjects.map(toSubjectKey));
    for (const each of subjects) {
      const subject = toSubjectKey(each);
      const limit =
        own.get(subject) ?? (each.kind === 'account' ? await this.#allowances.findSpendLimit(each.id) : undefined);
      if (limit === undefined) continue;
      const time = { now: this.#clock.now(), zone: timeZone() };
      const { spent, endsAt } = await store.currentWindow(subject, limit.period, time);
      states.set(subject, { ...limit, spent, renewsAt: endsAt });
    }
    return states;
  }

  wallet(userId: number): ReturnType<Ledger['wallet']> {
    return this.#store.wallet(userId);
  }

  lockBalance(trx: Trx, userId: number): Promise<number> {
    return this.#store.lockBalance(trx, userId);
  }

  async adjustWallet(trx: Trx, userId: number, change: WalletAdjustment): Promise<number> {
    const { quota, quota_delta, note, idempotencyKey } = change;
    if (quota === undefined && quota_delta === undefined) return 0;
    // Locked, so that a repeated request waits for the first one and finds its entry.
    const balance = await this.lockBalance(trx, userId);
    const amount = quota === undefined ? (quota_delta ?? 0) : quota - balance;
    if (amount === 0) return 0;
    const ref = `admin:${idempotencyKey === undefined ? randomText(20) : `${userId}:${idempotencyKey}`}`;
    const granted = idempotencyKey === undefined ? undefined : await this.#store.grantedAmount(trx, ref);
    if (granted !== undefined) {
      // The difference to an absolute quota is another one after each call, so it does not identify the request.
      if (quota === undefined && granted !== amount) throw new AppError('idempotency_mismatch');
      return 0;
    }
    await this.grant(trx, defined({ userId, amount, ref, note }));
    return amount;
  }
}

interface ChargerDependencies {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly allowances: Allowances;
  /** The unit in which refusals state amounts. */
  readonly amountUnit: () => AmountUnit;
  /** Called in the transaction that charged a wallet. */
  readonly onSpend: SpendListener;
  readonly onSettled: SettlementListener;
  readonly onClosed: CloseListener;
  readonly spending: Spending | undefined;
}

type PlanFunding = Pick<ReservationRow, 'plan_amount' | 'plan_slot'>;

const NO_PLAN_FUNDING: PlanFunding = { plan_amount: 0, plan_slot: null };

/** A new reservation with the part that the plan pays, and the spend windows it counts in. */
type FundedReservation = Reservation &
  PlanFunding & { readonly counted: CountedWindow[]; readonly planSpendLimit: SpendLimit | undefined };

const amountOf = ({ amount }: Reservation): number => amount;

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

/** A step on the allowance of one account. */
interface AllowanceStep {
  readonly userId: number;
  run(): Promise<void>;
}

/**
 * Settles reservations and makes new ones. Transactions of any accounts never deadlock, because all of them lock rows
 * in one order: allowances, tokens, spend windows, wallets, each in ascending order of their keys. Changes of one row
 * are combined into one write, and the rows of a table share a statement.
 */
class Charger {
  readonly #dependencies: ChargerDependencies;

  constructor(dependencies: ChargerDependencies) {
    this.#dependencies = dependencies;
  }

  async charge(trx: Trx, { reservations = [], settlements = [] }: Charges): Promise<(number | undefined)[]> {
    assertAmounts(reservations, settlements);
    const { store, clock, onClosed, onSpend } = this.#dependencies;
    const outcomes = await this.#closeReservations(trx, settlements);
    const closed = outcomes.filter((each) => each !== undefined);
    const opened = await this.#changeAllowances(trx, closed, reservations);
    await this.#changeTokens(trx, closed, opened);
    await this.#changeSpending(trx, closed, opened);
    const spent = await this.#changeWallets(trx, closed, opened);
    await this.#chargeExtras(trx, closed.filter(isExceeding));
    const now = clock.now();
    if (opened.length > 0) {
      const rows = opened.map((each) => toReservationRow(each, now));
      await store.addReservations(trx, rows);
    }
    await store.addEntries(trx, [
      ...closed.flatMap((each) => toEntries(each, now)),
      ...opened.map((each) => toReserveEntry(each, now)),
    ]);
    if (closed.length > 0) {
      await store.addUsage(trx, toDailyUsage(closed, dayOf(now)));
      await onClosed(trx, closed.map(toClosedCall), now);
      afterCommit(trx, () => this.#count(closed));
    }
    for (const { userId, ...wallet } of spent) await onSpend(trx, userId, wallet);
    return outcomes.map((each) => each?.charged);
  }

  #count(closed: readonly OpenSettlement[]): void {
    const { onSettled } = this.#dependencies;
    const settled = closed.filter(({ isSettled }) => isSettled).length;
    if (settled > 0) onSettled('settle', settled);
    if (settled < closed.length) onSettled('refund', closed.length - settled);
  }

  /** If several settlements name one reservation, the first one counts. */
  async #closeReservations(trx: Trx, settlements: readonly Settlement[]): Promise<(OpenSettlement | undefined)[]> {
    if (settlements.length === 0) return [];
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

  /** @returns the reservations with the part that a plan pays of each */
  async #changeAllowances(
    trx: Trx,
    closed: readonly OpenSettlement[],
    reservations: readonly Reservation[],
  ): Promise<FundedReservation[]> {
    const funding = new Map<Reservation, PlanFunding>();
    const groups = groupAlike(reservations, (a, b) => a.userId === b.userId && a.model === b.model);
    const terms = await this.#findTerms(trx, groups);
    const steps = [
      ...this.#returnSteps(trx, closed),
      ...this.#extraSteps(trx, closed.filter(isExceeding)),
      ...this.#takeSteps(trx, groups, terms, funding),
    ];
    // The sort is stable, so the steps of one account stay in this order.
    for (const { run } of steps.sort((a, b) => a.userId - b.userId)) await run();
    const limits = new Map(groups.map(([{ userId }], index) => [userId, terms[index]?.spendLimit]));
    return reservations.map((each) => {
      const { plan_amount, plan_slot } = funding.get(each) ?? NO_PLAN_FUNDING;
      return { ...each, plan_amount, plan_slot, counted: [], planSpendLimit: limits.get(each.userId) };
    });
  }

  #findTerms(trx: Trx, groups: readonly (readonly [Reservation, ...Reservation[]])[]): Promise<AllowanceTerms[]> {
    if (groups.length === 0) return Promise.resolve([]);
    return this.#dependencies.allowances.findTerms(
      trx,
      groups.map(([first]) => first),
    );
  }

  #returnSteps(trx: Trx, closed: readonly OpenSettlement[]): AllowanceStep[] {
    const owed = closed.filter(({ planBack, reservation }) => planBack > 0 && reservation.plan_slot !== null);
    return Array.from(
      groupBy(owed, ({ reservation }) => reservation.plan_slot),
      (same) => {
        const { user_id: userId, plan_slot } = same[0].reservation;
        const run = async (): Promise<void> => {
          const owing = sumOf(same, ({ planBack }) => planBack);
          let back = await this.#dependencies.allowances.giveBack(trx, plan_slot ?? '', owing);
          for (const each of same) {
            each.planLapsed = Math.max(0, each.planBack - back);
            back -= each.planBack - each.planLapsed;
          }
        };
        return { userId, run };
      },
    );
  }

  /** A cost beyond the reservation is charged to the plan first, like the reservation itself. */
  #extraSteps(trx: Trx, exceeding: readonly OpenSettlement[]): AllowanceStep[] {
    return exceeding.map((each) => {
      const { user_id: userId, model } = each.reservation;
      const run = async (): Promise<void> => {
        each.planExtra = await this.#dependencies.allowances.take(trx, { userId, model, amount: each.extra }).then(
          ({ taken }) => taken,
          (error: unknown) => {
            // The plan has changed since and no longer covers the model: nothing was written, so the wallet pays.
            if (isAppError(error, 'model_not_allowed')) return 0;
            throw error;
          },
        );
      };
      return { userId, run };
    });
  }

  #takeSteps(
    trx: Trx,
    groups: readonly (readonly [Reservation, ...Reservation[]])[],
    terms: readonly AllowanceTerms[],
    funding: Map<Reservation, PlanFunding>,
  ): AllowanceStep[] {
    const { allowances } = this.#dependencies;
    return groups
      .filter((_, index) => terms[index]?.hasAllowance)
      .map((same) => {
        const [{ userId, model }] = same;
        const run = async (): Promise<void> => {
          const { taken, slot } = await allowances.take(trx, { userId, model, amount: sumOf(same, amountOf) });
          let left = taken;
          for (const reservation of same) {
            const paid = Math.min(left, reservation.amount);
            left -= paid;
            funding.set(reservation, { plan_amount: paid, plan_slot: paid > 0 ? slot : null });
          }
        };
        return { userId, run };
      });
  }

  async #changeTokens(
    trx: Trx,
    closed: readonly OpenSettlement[],
    opened: readonly FundedReservation[],
  ): Promise<void> {
    const { store, amountUnit } = this.#dependencies;
    const changes = tokenChanges(closed, opened);
    if (changes.length === 0) return;
    const limited = await store.limitedTokens(
      trx,
      changes.map(({ id }) => id),
    );
    const counted = changes.filter(({ id }) => limited.has(id));
    if (counted.length === 0) return;
    const changed = await store.changeTokens(trx, counted);
    const refused = counted.find(({ id }) => !changed.has(id));
    if (refused === undefined) return;
    const { limit = 0, used = 0 } = (await store.tokenLimits([refused.id], trx)).get(refused.id) ?? {};
    const available = Math.max(0, limit - used - refused.settled);
    throw notEnoughError({ needed: refused.taken, available, limit }, amountUnit());
  }

  /**
   * Settles what counts in spend windows and counts new reservations in theirs. A settlement beyond its reservation only
   * locks its windows, since its cost depends on the wallet.
   */
  async #changeSpending(
    trx: Trx,
    closed: readonly OpenSettlement[],
    opened: readonly FundedReservation[],
  ): Promise<void> {
    const { spending, clock, amountUnit } = this.#dependencies;
    if (spending === undefined) return;
    const { store, timeZone } = spending;
    const settled = closed.flatMap((each) => toWindowSettlements(each, isExceeding(each) ? 0 : undefined));
    const limits = opened.length === 0 ? NO_LIMITS : await store.limitsOf(toSubjects(opened), trx);
    const hasLimits = limits.size > 0 || opened.some(({ planSpendLimit }) => planSpendLimit !== undefined);
    if (settled.length === 0 && !hasLimits) return;
    const taken: WindowChange[] = [];
    const time = { now: clock.now(), zone: timeZone() };
    for (const reservation of opened)
      for (const subject of subjectsOf(reservation)) {
        const ofPlan = kindOf(subject) === 'account' ? reservation.planSpendLimit : undefined;
        const limit = limits.get(subject) ?? ofPlan;
        // Free calls are never refused.
        if (limit === undefined || reservation.amount === 0) continue;
        const window = await store.currentWindow(subject, limit.period, time, trx);
        reservation.counted.push([subject, window.startsAt]);
        taken.push({ subject, startsAt: window.startsAt, delta: 0, taken: reservation.amount, limit, window });
      }
    const states = new Map<SubjectKey, SpendLimitState>();
    for (const { subject, startsAt, delta, amount, limit, window } of sumByWindow([...settled, ...taken])) {
      if (delta !== undefined) await store.settle(trx, subject, startsAt, delta);
      if (limit === undefined || window === undefined) continue;
      const before = delta === undefined ? window.spent : await store.spentIn(subject, startsAt, trx);
      const spent = await store.take(trx, subject, { ...window, spent: before }, amount, limit.amount);
      const state = {
        ...limit,
        spent: spent ?? (await store.spentIn(subject, startsAt, trx)),
        renewsAt: window.endsAt,
      };
      states.set(subject, state);
      if (spent !== undefined) continue;
      reportLimits(opened, states);
      throw spendLimitError({ subject, needed: amount }, state, clock.now(), amountUnit());
    }
    reportLimits(opened, states);
  }

  /** @returns the wallets that pay for reservations */
  async #changeWallets(
    trx: Trx,
    closed: readonly OpenSettlement[],
    opened: readonly FundedReservation[],
  ): Promise<{ userId: number; before: number; after: number }[]> {
    const { store, amountUnit } = this.#dependencies;
    const changes = walletChanges(closed, opened);
    if (changes.length === 0) return [];
    const balances = await store.changeWallets(trx, changes);
    const refused = changes.find(({ id }) => !balances.has(id));
    if (refused !== undefined) {
      const { id, taken, back } = refused;
      if (taken === 0) throw noWalletError(id);
      const fromPlan = sumOf(opened, ({ userId, plan_amount }) => (userId === id ? plan_amount : 0));
      const available = fromPlan + back + (await store.balanceIn(trx, id));
      throw notEnoughError({ needed: fromPlan + taken, available }, amountUnit());
    }
    return changes
      .filter(({ taken }) => taken > 0)
      .map(({ id, taken }) => {
        const after = balances.get(id) ?? 0;
        return { userId: id, before: after + taken, after };
      });
  }

  /**
   * Charges what no plan has paid to wallets, but only as far as their balances cover it: a balance never goes below
   * zero. Tokens and wallets are locked already.
   */
  async #chargeExtras(trx: Trx, exceeding: readonly OpenSettlement[]): Promise<void> {
    if (exceeding.length === 0) return;
    const { store, onSpend, spending } = this.#dependencies;
    for (const each of exceeding) {
      const { user_id: userId } = each.reservation;
      const missing = each.extra - each.planExtra;
      each.walletExtra = await store.takeUpTo(trx, userId, missing);
      each.charged -= missing - each.walletExtra;
      if (each.walletExtra === 0) continue;
      const after = await store.balanceIn(trx, userId);
      await onSpend(trx, userId, { before: after + each.walletExtra, after });
    }
    const tokens = new ChangesById(noTokenChange);
    const wallets = new ChangesById(noWalletChange);
    for (const { charged, isSettled, reservation } of exceeding) {
      const { token_id: tokenId, user_id: userId, amount } = reservation;
      if (tokenId !== null) tokens.of(tokenId).settled += charged - amount;
      addUse(wallets.of(userId), charged, isSettled);
    }
    await store.changeTokens(trx, tokens.inOrder());
    for (const { subject, startsAt, delta } of exceeding.flatMap((each) => toWindowSettlements(each)))
      await spending?.store.settle(trx, subject, startsAt, delta);
    await store.changeWallets(trx, wallets.inOrder());
  }
}

/** Whether the cost is higher than the reservation. */
const isExceeding = ({ extra }: OpenSettlement): boolean => extra > 0;

/** One change per id, created on first use. */
class ChangesById<C extends { readonly id: number }> {
  readonly #changes = new Map<number, C>();
  readonly #create: (id: number) => C;

  constructor(create: (id: number) => C) {
    this.#create = create;
  }

  of(id: number): C {
    return getOrCreateEntry(this.#changes, id, () => this.#create(id));
  }

  /** In ascending order of the ids, in which all transactions lock rows. */
  inOrder(): C[] {
    return [...this.#changes.values()].sort((a, b) => a.id - b.id);
  }
}

const noTokenChange = (id: number): TokenChange => ({ id, reservations: 0, taken: 0, settled: 0 });
const noWalletChange = (id: number): WalletChange => ({ id, back: 0, taken: 0, charged: 0, requests: 0 });

function addUse(change: WalletChange, charged: number, isSettled: boolean): void {
  change.charged += charged;
  if (isSettled) change.requests++;
}

/** A settlement beyond its reservation only locks its token, since its cost depends on the wallet. */
function tokenChanges(closed: readonly OpenSettlement[], opened: readonly Reservation[]): TokenChange[] {
  const changes = new ChangesById(noTokenChange);
  for (const { charged, extra, reservation } of closed) {
    const { token_id: id, amount } = reservation;
    if (id === null || (charged === amount && extra === 0)) continue;
    const change = changes.of(id);
    if (extra === 0) change.settled += charged - amount;
  }
  for (const { tokenId, amount } of opened) {
    // A free call passes even a key that has spent more than its limit, as it passes spend limits and an empty wallet.
    if (tokenId === undefined || amount === 0) continue;
    const change = changes.of(tokenId);
    change.reservations++;
    change.taken += amount;
  }
  return changes.inOrder();
}

/** A settlement beyond its reservation only locks its wallet; `#chargeExtras` charges it. */
function walletChanges(closed: readonly OpenSettlement[], opened: readonly FundedReservation[]): WalletChange[] {
  const changes = new ChangesById(noWalletChange);
  for (const { charged, extra, isSettled, walletBack, reservation } of closed) {
    if (extra === 0 && walletBack === 0 && !isSettled) continue;
    const change = changes.of(reservation.user_id);
    if (extra > 0) continue;
    change.back += walletBack;
    addUse(change, charged, isSettled);
  }
  for (const { userId, amount, plan_amount } of opened)
    if (amount > plan_amount) changes.of(userId).taken += amount - plan_amount;
  return changes.inOrder();
}

const noWalletError = (userId: number): Error => new Error(`account ${userId} has no wallet`);

const toReservationRow = (
  { ref, userId, tokenId, actorId, model, amount, plan_amount, plan_slot, counted }: FundedReservation,
  now: number,
): ReservationRow => ({
  ref,
  user_id: userId,
  token_id: tokenId ?? null,
  model,
  amount,
  plan_amount,
  plan_slot,
  created_at: now,
  spend_windows: counted.length === 0 ? null : JSON.stringify(counted),
  actor_id: actorId ?? null,
});

const toReserveEntry = (
  { ref, userId, tokenId, actorId, model, amount, plan_amount }: FundedReservation,
  now: number,
): NewLedgerEntry => ({
  user_id: userId,
  kind: 'reserve',
  amount: plan_amount - amount,
  plan_amount: -plan_amount,
  charged: 0,
  ref,
  token_id: tokenId ?? null,
  model,
  note: null,
  actor_id: actorId ?? null,
  created_at: now,
});

/** Usage figures of settlements; those of one account, token, model and channel are added up. */
function toDailyUsage(closed: readonly OpenSettlement[], day: number): DailyUsage[] {
  const settled = closed.filter(({ isSettled }) => isSettled);
  return groupAlike(settled, areCountedTogether).map((same) => {
    const [{ reservation, detail }] = same;
    return {
      user_id: reservation.user_id,
      day,
      token_id: reservation.token_id ?? 0,
      model: reservation.model,
      channel_id: detail?.channelId ?? 0,
      requests: same.length,
      quota: sumOf(same, ({ charged }) => charged),
      prompt_tokens: sumOf(same, ({ usage }) => usage.promptTokens),
      completion_tokens: sumOf(same, ({ usage }) => usage.completionTokens),
    };
  });
}

/** Whether two calls on the same day share one row of the usage figures. */
const areCountedTogether = (a: OpenSettlement, b: OpenSettlement): boolean =>
  a.reservation.user_id === b.reservation.user_id &&
  a.reservation.token_id === b.reservation.token_id &&
  a.reservation.model === b.reservation.model &&
  (a.detail?.channelId ?? 0) === (b.detail?.channelId ?? 0);

function assertAmounts(reservations: readonly Reservation[], settlements: readonly Settlement[]): void {
  for (const { amount } of reservations) assertAmount(amount);
  for (const { cost = 0, usage = NO_TOKEN_USAGE } of settlements) {
    assertAmount(cost);
    assertAmount(usage.promptTokens);
    assertAmount(usage.completionTokens);
  }
}

const toClosedCall = ({ reservation, charged, isSettled, usage, detail }: OpenSettlement): ClosedCall => ({
  ref: reservation.ref,
  userId: reservation.user_id,
  tokenId: reservation.token_id,
  actorId: reservation.actor_id,
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
    actor_id: reservation.actor_id,
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

/** How a transaction changes one spend window. */
interface WindowChange {
  readonly subject: SubjectKey;
  readonly startsAt: number;
  /** Difference between cost and reservation of settlements. */
  readonly delta: number;
  /** Amount of a new reservation, and the limit it must stay within. */
  readonly taken?: number;
  readonly limit?: SpendLimit;
  readonly window?: SpentWindow;
}

function reportLimits(opened: readonly FundedReservation[], states: ReadonlyMap<SubjectKey, SpendLimitState>): void {
  if (states.size === 0) return;
  for (const reservation of opened) {
    const own = subjectsOf(reservation).flatMap((subject) => states.get(subject) ?? []);
    if (own.length > 0) reservation.onSpendLimits?.(own);
  }
}

const NO_LIMITS: ReadonlyMap<SubjectKey, SpendLimit> = new Map();

function subjectsOf({ userId, tokenId, actorId }: Reservation): readonly SubjectKey[] {
  const subjects = [toSubjectKey({ kind: 'account', id: userId })];
  if (tokenId !== undefined) subjects.push(toSubjectKey({ kind: 'token', id: tokenId }));
  if (actorId !== undefined) subjects.push(toSubjectKey({ kind: 'member', id: actorId, organizationId: userId }));
  return subjects;
}

/** The distinct subjects: most calls of a batch share one key, and so one subject. */
const toSubjects = (reservations: readonly Reservation[]): readonly SubjectKey[] => [
  ...new Set(groupAlike(reservations, areOfSameCaller).flatMap(([first]) => subjectsOf(first))),
];

const areOfSameCaller = (a: Reservation, b: Reservation): boolean =>
  a.userId === b.userId && a.tokenId === b.tokenId && a.actorId === b.actorId;

const toWindowSettlements = (
  { charged, reservation }: OpenSettlement,
  delta = charged - reservation.amount,
): WindowChange[] =>
  parseCountedWindows(reservation.spend_windows).map(([subject, startsAt]) => ({ subject, startsAt, delta }));

/** Adds up the changes of each window, in the order in which all transactions lock windows. */
function sumByWindow(changes: readonly WindowChange[]) {
  const keyOf = ({ subject, startsAt }: WindowChange): string => `${subject} ${startsAt}`;
  return Array.from(groupBy(changes, keyOf), (same) => {
    const [first] = same;
    const settlements = same.filter(({ taken }) => taken === undefined);
    const { limit, window } = same.find((each) => each.limit !== undefined) ?? first;
    return {
      key: keyOf(first),
      subject: first.subject,
      startsAt: first.startsAt,
      limit,
      window,
      /** Undefined: nothing was settled. */
      delta: settlements.length === 0 ? undefined : sumOf(settlements, (each) => each.delta),
      amount: sumOf(same, ({ taken = 0 }) => taken),
    };
  }).sort((a, b) => (a.key < b.key ? -1 : 1));
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
      quotaLeft: available,
      params: defined({
        needed: localizeAmount(needed, unit),
        available: localizeAmount(available, unit),
        limit: limit === undefined ? undefined : localizeAmount(limit, unit),
      }),
    }),
  );

const PERIOD_NAMES: Readonly<Record<SpendPeriod, Localized>> = {
  day: { en: 'day', 'zh-CN': '每日' },
  week: { en: 'week', 'zh-CN': '每周' },
  month: { en: 'month', 'zh-CN': '每月' },
};

const OWNER_NAMES: Readonly<Record<SpendSubject['kind'], Localized>> = {
  token: { en: 'this key', 'zh-CN': '此密钥' },
  account: { en: 'this account', 'zh-CN': '此账号' },
  member: { en: 'this member', 'zh-CN': '此成员' },
};

/** The `quota_not_enough` error of a spend limit; it names the limit and when it renews (Unix milliseconds). */
const spendLimitError = (
  { subject, needed }: { readonly subject: SubjectKey; readonly needed: number },
  limit: SpendLimitState,
  now: number,
  unit: AmountUnit,
): AppError =>
  new AppError('quota_not_enough', {
    messageKey: 'spend_limit_reached',
    quotaLeft: leftOf(limit),
    params: {
      owner: OWNER_NAMES[kindOf(subject)],
      needed: localizeAmount(needed, unit),
      available: localizeAmount(leftOf(limit), unit),
      limit: localizeAmount(limit.amount, unit),
      period: PERIOD_NAMES[limit.period],
      renews: new Date(limit.renewsAt).toISOString(),
    },
    retryAfterSeconds: Math.max(1, Math.ceil((limit.renewsAt - now) / 1_000)),
  });

const localizeAmount = (quota: number, unit: AmountUnit): Localized => ({
  en: formatAmount(quota, unit, 'en', 'exact'),
  'zh-CN': formatAmount(quota, unit, 'zh-CN', 'exact'),
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
      // With the account: a person may receive the notices of several wallets.
      deduplicationKey: `quota.low:${userId}:${dayOf(clock.now())}`,
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
