import type { RequestKind, RequestStatus } from '../../contract/request-kinds.ts';
import type { SpendLimit } from '../../contract/spend-limits.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { Trx } from '../tables.ts';
import type { SpendLimitState, SpendSubject, SubjectKey } from './spend-limits.ts';

/** Quota set aside before work begins. Amounts are whole and never negative. */
export interface Reservation {
  /** Task id or request id; a reference is never reused. */
  readonly ref: string;
  readonly userId: number;
  /** The API token of the request, whose own limit applies too. Undefined for work started in the console. */
  readonly tokenId?: number;
  /** The member who spends, if `userId` is an organization; the member’s own limit applies too. */
  readonly actorId?: number;
  /** The public model name, for the usage figures and for the plan's list of models. */
  readonly model: string;
  readonly amount: number;
  /** Called with the spend limits that the reservation counts towards, as they are after it or when it is refused. */
  readonly onSpendLimits?: (limits: readonly SpendLimitState[]) => void;
}

/** Tokens used by a model call, for the usage figures. */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** Fields of the request log beyond the reservation and the token counts. Travels through the journal as JSON. */
export interface CallDetail {
  readonly kind: RequestKind;
  /** The model name sent to the upstream. */
  readonly servedModel: string;
  /** 0: the call was sent to no channel. */
  readonly channelId: number;
  readonly status: RequestStatus;
  /** Empty unless the call failed. */
  readonly errorCode: string;
  /** The part of the prompt tokens that was read from a cache. */
  readonly cachedTokens: number;
  /** Length of the video. */
  readonly seconds: number;
  readonly durationMs: number;
  /** Time to the first event of a stream; null for all other calls. */
  readonly firstTokenMs: number | null;
  readonly stream: boolean;
  readonly client: string;
  /** JSON of the price and of the facts it was applied to; empty when nothing is charged. */
  readonly price: string;
  readonly facts: string;
}

/** Instructions for closing a reservation. */
export interface Settlement {
  readonly ref: string;
  /** Final cost in quota; undefined: a refund of the full amount. */
  readonly cost?: number;
  readonly usage?: TokenUsage;
  /** For the request log; without it, the log row is built from the reservation. */
  readonly detail?: CallDetail;
}

/** A reservation that was closed. */
export interface ClosedCall {
  readonly ref: string;
  readonly userId: number;
  readonly tokenId: number | null;
  /** The member of an organization. */
  readonly actorId: number | null;
  readonly model: string;
  readonly reserved: number;
  /** Time of the reservation, Unix milliseconds. */
  readonly reservedAt: number;
  readonly charged: number;
  readonly isSettled: boolean;
  readonly usage: TokenUsage;
  readonly detail: CallDetail | undefined;
}

/** The account that pays, and the token it pays through. */
export type Payer = Pick<Reservation, 'userId' | 'tokenId' | 'actorId'>;

/** Reservations and settlements of one transaction. */
export interface Charges {
  readonly reservations?: readonly Reservation[];
  readonly settlements?: readonly Settlement[];
}

/**
 * Called once with all reservations that a transaction closes, in that transaction.
 * @param now the time of their entries, Unix milliseconds
 */
export type CloseListener = (trx: Trx, closed: readonly ClosedCall[], now: number) => Promise<void>;

/** An external change of a wallet: by an administrator, a redemption code or a gift. */
export interface Grant {
  readonly userId: number;
  /** Whole quota; negative to deduct. */
  readonly amount: number;
  /** Names the cause; a second grant with the same reference fails. */
  readonly ref: string;
  readonly note?: string;
}

/** Kind of a ledger entry; `closing` replaces the older entries of an account and month. */
export type LedgerKind = 'reserve' | 'settle' | 'refund' | 'grant' | 'expire' | 'closing';

/**
 * The ledger. Every method works inside the caller's transaction, so that money and the state it belongs to change
 * together. One entry per cause: (ref, kind) is unique. Every balance equals the sum of its entries and never goes
 * below 0.
 */
export interface Ledger {
  /**
   * Settles reservations at their final cost and makes new ones, of any accounts. Settlements come first, so that the
   * quota they release can be reserved. An excess is returned to its source; a shortfall is charged to the plan's
   * allowance first, then to the wallet as far as its balance covers it. A new amount is reserved from the plan's
   * allowance first, then from the wallet. If it throws, the caller must roll the transaction back; a transaction calls
   * it once, because it locks rows in the order of all transactions.
   * @returns the charged amounts in the order of `settlements`; undefined for a reservation that was already closed
   * @throws AppError `quota_not_enough` (the message says whether for the wallet, a token limit or a spend limit), `model_not_allowed`
   */
  charge(trx: Trx, charges: Charges): Promise<(number | undefined)[]>;
  /** `charge` for a single reservation. */
  reserve(trx: Trx, reservation: Reservation): Promise<void>;
  /** `charge` for a single settlement with its cost. */
  settle(trx: Trx, ref: string, cost: number, usage?: TokenUsage, detail?: CallDetail): Promise<number | undefined>;
  /**
   * `charge` for a single settlement that returns the full amount.
   * @returns whether this call closed the reservation: the loser of a race gets false
   */
  refund(trx: Trx, ref: string, detail?: CallDetail): Promise<boolean>;
  /** @throws AppError `quota_not_enough` when deducting more than the balance, `already_exists` for a known `ref` */
  grant(trx: Trx, grant: Grant): Promise<void>;
  /** Creates the wallet of a new account. */
  openWallet(trx: Trx, userId: number, amount: number): Promise<void>;
  /**
   * Sets or lifts (undefined) a token's own limit. Called when a token is created or changed; the limit is stored only
   * here.
   */
  setTokenLimit(trx: Trx, tokenId: number, limit: number | undefined): Promise<void>;
  /** Limit and usage of those of the tokens that have a limit. */
  tokenLimits(
    tokenIds: readonly number[],
  ): Promise<ReadonlyMap<number, { readonly limit: number; readonly used: number }>>;
  /**
   * Sets a limit per day, week or month, or removes it (undefined). Only later reservations count; the limit is
   * stored only here.
   */
  setSpendLimit(trx: Trx, subject: SpendSubject, limit: SpendLimit | undefined): Promise<void>;
  /** Limits of the given subjects with their spending; subjects without a limit are omitted. */
  spendLimits(subjects: readonly SpendSubject[]): Promise<ReadonlyMap<SubjectKey, SpendLimitState>>;
  /** `balance`: without open reservations. `used`: settled quota. `requests`: number of settled reservations. */
  wallet(userId: number): Promise<{ readonly balance: number; readonly used: number; readonly requests: number }>;
  /** The balance, locked until the transaction ends, so that a change computed from it is exact. */
  lockBalance(trx: Trx, userId: number): Promise<number>;
  /**
   * Changes a wallet for an administrator. An absolute quota is compared with the locked balance.
   * @returns the amount added
   * @throws AppError `quota_not_enough`
   */
  adjustWallet(trx: Trx, userId: number, change: WalletAdjustment): Promise<number>;
}

/** A change of a wallet by an administrator. */
export interface WalletAdjustment {
  /** The new balance of the wallet. */
  readonly quota?: number;
  /** Added to the wallet; negative subtracts. Excludes `quota`. */
  readonly quota_delta?: number;
  /** Reason for the wallet change; stored with its ledger entry. */
  readonly note?: string;
}

/** Called with the balance of a wallet before and after a charge, in the same transaction. */
export type SpendListener = (
  trx: Trx,
  userId: number,
  wallet: { readonly before: number; readonly after: number },
) => Promise<void>;

/** Called with the number of reservations a committed transaction charged (`settle`) or returned (`refund`). */
export type SettlementListener = (kind: 'settle' | 'refund', count: number) => void;

/**
 * A plan's allowance, which is spent before the wallet. Implemented by plans; without an implementation there is no
 * allowance. `slot` names the period an amount came from, and is passed back with a refund or a settlement.
 */
export interface Allowances {
  /**
   * The terms of each account's current plan, in one query for all of them.
   * @throws AppError `model_not_allowed` when an account's plan does not cover its model
   */
  findTerms(
    trx: Trx,
    requests: readonly { readonly userId: number; readonly model: string }[],
  ): Promise<AllowanceTerms[]>;
  /** @throws AppError `model_not_allowed` when the plan does not cover this model; nothing was written then */
  take(
    trx: Trx,
    request: { readonly userId: number; readonly model: string; readonly amount: number },
  ): Promise<{ readonly taken: number; readonly slot: string }>;
  /** @returns the amount returned; 0 when the period is over */
  giveBack(trx: Trx, slot: string, amount: number): Promise<number>;
  /** Models the account's plan permits; undefined: all. */
  permittedModels(userId: number): Promise<ReadonlySet<string> | undefined>;
  /** The spend limit that the account's plan sets for accounts without their own. */
  findSpendLimit(userId: number): Promise<SpendLimit | undefined>;
}

/** Terms of a plan that apply to reservations. */
export interface AllowanceTerms {
  /** Whether there is an allowance to `take` from. */
  readonly hasAllowance: boolean;
  /** Applies to an account without a spend limit of its own. */
  readonly spendLimit: SpendLimit | undefined;
}

/** The sources of a reserved amount. */
interface ReservedAmounts {
  readonly amount: number;
  /** The part paid by a plan's allowance; the wallet paid the rest. */
  readonly plan_amount: number;
}

/** A settlement, split by source. Amounts in quota. */
export interface SettlementSplit {
  readonly charged: number;
  /** Returned to the wallet. */
  readonly walletBack: number;
  /** Returned to the allowance's period. */
  readonly planBack: number;
  /** Beyond the reservation, still to be charged. */
  readonly extra: number;
}

/** Splits a settlement by its cost. The plan pays first, so the wallet is refunded first. */
export function splitSettlement(reserved: ReservedAmounts, cost: number): SettlementSplit {
  const fromWallet = reserved.amount - reserved.plan_amount;
  const unused = Math.max(0, reserved.amount - cost);
  const walletBack = Math.min(unused, fromWallet);
  return { charged: cost, walletBack, planBack: unused - walletBack, extra: Math.max(0, cost - reserved.amount) };
}

/** Throws unless the amount is whole and not negative; anything else would create money. */
export function assertAmount(amount: number): void {
  if (!Number.isSafeInteger(amount) || amount < 0) throw new TypeError('an amount is whole quota, not negative');
}

/** Groups items with the same key, in their original order; no group is empty. */
export const groupBy = <T>(all: readonly T[], keyOf: (each: T) => unknown): Iterable<readonly [T, ...T[]]> =>
  Map.groupBy(all, keyOf).values() as Iterable<[T, ...T[]]>;

/**
 * Like `groupBy`, for keys of several parts: comparing the parts is cheaper than building and hashing a combined text.
 * For few groups with many members, such as one batch of calls.
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

/** Sum of one amount over all items. */
export function sumOf<T>(all: readonly T[], amountOf: (each: T) => number): number {
  let sum = 0;
  for (const each of all) sum += amountOf(each);
  return sum;
}

/** Days since 1970-01-01 UTC. */
export const dayOf = (unixMs: number): number => Math.floor(unixMs / DAY_MS);

/** The date of such a day, as `2026-11-22`. */
export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 'yyyy-mm-dd'.length);
