import type { AmountUnit } from '../../contract/format-amounts.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Trx } from '../tables.ts';
import { notEnoughError } from './not-enough-error.ts';
import type { PostgresCallCharges } from './postgres-call-charges.ts';
import type { LedgerStore } from './reservation-and-ledger-store.ts';
import type {
  Allowances,
  CallDetail,
  CallWork,
  CallWorkOutcome,
  CloseListener,
  Grant,
  Ledger,
  Reservation,
  Settlement,
  SettlementListener,
  SpendListener,
  TokenUsage,
} from './reservation-and-ledger-types.ts';
import { Reserver } from './reserve-quota.ts';
import { Settler } from './settle-reservations.ts';
import { assertAmount } from './settlement-split.ts';

/** An account without a plan: nothing is taken from one and every model is permitted. */
export const NO_ALLOWANCES: Allowances = {
  take: async () => ({ taken: 0, slot: '' }),
  giveBack: async () => 0,
  permittedModels: async () => undefined,
};

export interface LedgerServiceDependencies {
  readonly store: LedgerStore;
  readonly clock: Clock;
  /** Default: no account has a plan. */
  readonly allowances?: Allowances | undefined;
  /** Default: not called. */
  readonly onSpend?: SpendListener | undefined;
  /** What a refusal writes amounts in, as it is set now. Default: credits of 500,000 quota. */
  readonly amountUnit?: (() => AmountUnit) | undefined;
  /** Called after the commit with how many reservations it closed; for the metrics. */
  readonly onSettled?: SettlementListener | undefined;
  /** Writes the request log. Default: not called. */
  readonly onClosed?: CloseListener | undefined;
  /** PostgreSQL: does many model calls in one statement. Default: none. */
  readonly callCharges?: PostgresCallCharges | undefined;
}

/** Most a wallet may be granted; with what refunds add on top it is still a safe integer. */
const MAX_WALLET = 9_000_000_000_000_000;

/** The ledger over its store. Amounts are checked here once more, since a float or a negative would create money. */
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
