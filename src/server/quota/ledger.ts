import type { RequestKind, RequestStatus } from '../../contract/request-kinds.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { Trx } from '../tables.ts';

/** Money set aside before work begins. All amounts are whole quota, never negative. */
export interface Reservation {
  /** Task id or request id: one reservation each, for ever. */
  readonly ref: string;
  readonly userId: number;
  /** The API token of the request; its own limit counts too. Undefined for work a person starts in the console. */
  readonly tokenId?: number;
  /** The public model name, for the usage figures and for what a plan covers. */
  readonly model: string;
  readonly amount: number;
}

/** Tokens a model call used, for the usage figures. */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** What the request log keeps of a call beside its reservation and its tokens. Travels through the journal as JSON. */
export interface CallDetail {
  readonly kind: RequestKind;
  /** The name sent to the upstream. */
  readonly servedModel: string;
  /** 0: it was sent to none. */
  readonly channelId: number;
  readonly status: RequestStatus;
  /** Empty unless it failed. */
  readonly errorCode: string;
  /** Of the prompt tokens, those read from a cache. */
  readonly cachedTokens: number;
  /** Length of a video. */
  readonly seconds: number;
  readonly durationMs: number;
  /** Until the first event of a stream; null for everything else. */
  readonly firstTokenMs: number | null;
  readonly stream: boolean;
  readonly client: string;
  /** JSON of the price and of the facts it was applied to; empty where nothing is charged. */
  readonly price: string;
  readonly facts: string;
}

/** How a reservation is closed. */
export interface Settlement {
  readonly ref: string;
  /** Final cost in quota; undefined: a refund, all of it is returned. */
  readonly cost?: number;
  readonly usage?: TokenUsage;
  /** For the request log; without it the log has what the reservation says. */
  readonly detail?: CallDetail;
}

/** A reservation that was closed. */
export interface ClosedCall {
  readonly ref: string;
  readonly userId: number;
  readonly tokenId: number | null;
  readonly model: string;
  readonly reserved: number;
  /** When it was reserved, Unix milliseconds. */
  readonly reservedAt: number;
  readonly charged: number;
  readonly isSettled: boolean;
  readonly usage: TokenUsage;
  readonly detail: CallDetail | undefined;
}

/** Whose money it is, and by which token it is spent. */
export type Payer = Pick<Reservation, 'userId' | 'tokenId'>;

/** One step of a model call. */
export type CallWork =
  | { readonly reservation: Reservation }
  | { readonly settlement: Settlement; readonly payer: Payer };

/** `busy`: its rows are locked by others. `apart`: it needs a transaction of its own, be it to be refused. Nothing was changed then. */
export type CallWorkOutcome = 'done' | 'busy' | 'apart';

/**
 * Called in the transaction that closes reservations, with all of them.
 *
 * @param now the time of their entries, Unix milliseconds
 */
export type CloseListener = (trx: Trx, closed: readonly ClosedCall[], now: number) => Promise<void>;

/** A change of a wallet from outside: by an administrator, a redemption code or a gift. */
export interface Grant {
  readonly userId: number;
  /** Whole quota; negative takes away. */
  readonly amount: number;
  /** Names the cause; a second grant with the same one fails. */
  readonly ref: string;
  readonly note?: string;
}

export type LedgerKind = 'reserve' | 'settle' | 'refund' | 'grant' | 'expire' | 'closing';

/**
 * The ledger. Every method works inside the caller's transaction, so that money and the state it belongs to change
 * together. One entry per cause: (ref, kind) is unique. Every balance equals the sum of its entries and never goes below 0.
 */
export interface Ledger {
  /**
   * Reserves all the amounts, from the plan's allowance first, then from the wallet. When it throws, the transaction must be
   * rolled back.
   *
   * @throws AppError `quota_not_enough` (wallet or token limit, the message says which), `model_not_allowed`
   */
  reserveAll(trx: Trx, reservations: readonly Reservation[]): Promise<void>;
  /**
   * Settles reservations by their final cost. What was reserved beyond it is returned to where it came from; what is missing
   * is taken from the plan's allowance first, then from the wallet as far as that reaches.
   *
   * @returns the amounts charged in the order of `settlements`, undefined for a reservation that was closed already
   */
  settleAll(trx: Trx, settlements: readonly Settlement[]): Promise<(number | undefined)[]>;
  /**
   * PostgreSQL: does what `reserveAll` and `settleAll` do for model calls of any accounts, in one statement, outside of transactions.
   * What is not simple, such as calls that a plan pays or that must be refused, is left undone.
   *
   * @param waitMs longest wait for rows that others have locked; 0: without an end, for work of one account and token
   */
  chargeCalls(work: readonly CallWork[], waitMs: number): Promise<readonly CallWorkOutcome[]>;
  /** `reserveAll` of one. */
  reserve(trx: Trx, reservation: Reservation): Promise<void>;
  /** `settleAll` of one, by its cost. */
  settle(trx: Trx, ref: string, cost: number, usage?: TokenUsage, detail?: CallDetail): Promise<number | undefined>;
  /** `settleAll` of one, returning all of it. @returns whether this call closed it: the loser of a race gets false */
  refund(trx: Trx, ref: string, detail?: CallDetail): Promise<boolean>;
  /** @throws AppError `quota_not_enough` for more than there is to take away, `already_exists` for a known `ref` */
  grant(trx: Trx, grant: Grant): Promise<void>;
  /** Makes the wallet of a new account. */
  openWallet(trx: Trx, userId: number, amount: number): Promise<void>;
  /** Sets or lifts (undefined) a token's own limit. Called where a token is made or changed; the limit is stored here alone. */
  setTokenLimit(trx: Trx, tokenId: number, limit: number | undefined): Promise<void>;
  /** Limits and use of those of the tokens that have a limit. */
  tokenLimits(
    tokenIds: readonly number[],
  ): Promise<ReadonlyMap<number, { readonly limit: number; readonly used: number }>>;
  /** `balance`: without what is reserved. `used`: settled. `requests`: settled reservations. */
  wallet(userId: number): Promise<{ readonly balance: number; readonly used: number; readonly requests: number }>;
  /** The balance, locked until the transaction ends, so that a change computed from it is exact. */
  lockBalance(trx: Trx, userId: number): Promise<number>;
}

/** Called with what a wallet held before and after something was taken from it, in the same transaction. */
export type SpendListener = (
  trx: Trx,
  userId: number,
  wallet: { readonly before: number; readonly after: number },
) => Promise<void>;

/** Called with how many reservations a committed transaction charged (`settle`) or returned (`refund`). */
export type SettlementListener = (kind: 'settle' | 'refund', count: number) => void;

/**
 * A plan's allowance, which is spent before the wallet. Implemented by plans; without it there is none. `slot` names the
 * period an amount came from and is passed back with a refund or a settlement.
 */
export interface Allowances {
  /** @throws AppError `model_not_allowed` where the plan does not cover this model; nothing was written then */
  take(
    trx: Trx,
    request: { readonly userId: number; readonly model: string; readonly amount: number },
  ): Promise<{ readonly taken: number; readonly slot: string }>;
  /** @returns how much was returned: nothing where the period has ended */
  giveBack(trx: Trx, slot: string, amount: number): Promise<number>;
  /** Models the account's plan permits; undefined = all. */
  permittedModels(userId: number): Promise<ReadonlySet<string> | undefined>;
}

/** What a reservation was made of. */
interface ReservedAmounts {
  readonly amount: number;
  /** Part that came from a plan's allowance; the rest came from the wallet. */
  readonly plan_amount: number;
}

export interface SettlementSplit {
  readonly charged: number;
  /** Goes back into the wallet. */
  readonly walletBack: number;
  /** Goes back to the allowance's period. */
  readonly planBack: number;
  /** Was not reserved and is still to be taken. */
  readonly extra: number;
}

/** Splits the end of a reservation by its cost: the plan pays first, so the wallet gets back first. */
export function splitSettlement(reserved: ReservedAmounts, cost: number): SettlementSplit {
  const fromWallet = reserved.amount - reserved.plan_amount;
  const unused = Math.max(0, reserved.amount - cost);
  const walletBack = Math.min(unused, fromWallet);
  return { charged: cost, walletBack, planBack: unused - walletBack, extra: Math.max(0, cost - reserved.amount) };
}

/** Money is whole quota. A float or a negative would make some of nothing. */
export function assertAmount(amount: number): void {
  if (!Number.isSafeInteger(amount) || amount < 0) throw new TypeError('an amount is whole quota, not negative');
}

/** Those with the same key together, in their order; no group is empty. */
export const groupBy = <T>(all: readonly T[], keyOf: (each: T) => unknown): Iterable<readonly [T, ...T[]]> =>
  Map.groupBy(all, keyOf).values() as Iterable<[T, ...T[]]>;

/**
 * The same where a key would be a text of several parts, which costs more to build and hash than to compare the parts: for groups that are
 * few beside their members, as those of one batch of calls.
 */
export function groupAlike<T>(all: readonly T[], areAlike: (a: T, b: T) => boolean): (readonly [T, ...T[]])[] {
  const groups: [T, ...T[]][] = [];
  for (const each of all) {
    const known = groups.findLast(([first]) => areAlike(first, each));
    if (known === undefined) groups.push([each]);
    else known.push(each);
  }
  return groups;
}

export function sumOf<T>(all: readonly T[], amountOf: (each: T) => number): number {
  let sum = 0;
  for (const each of all) sum += amountOf(each);
  return sum;
}

/** Days since 1970-01-01 UTC. */
export const dayOf = (unixMs: number): number => Math.floor(unixMs / DAY_MS);

/** The date of such a day, as `2026-11-22`. */
export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 'yyyy-mm-dd'.length);
