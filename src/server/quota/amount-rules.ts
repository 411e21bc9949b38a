import { DAY_MS } from '../../contract/time.ts';
/** What a reservation was made of. */
export interface ReservedAmounts {
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

/** Days since 1970-01-01 UTC. */
export const dayOf = (unixMs: number): number => Math.floor(unixMs / DAY_MS);

/** The date of such a day, as `2026-11-22`. */
export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 'yyyy-mm-dd'.length);

/** Money is whole quota. A float or a negative would make some of nothing. */
export function assertAmount(amount: number): void {
  if (!Number.isSafeInteger(amount) || amount < 0) throw new TypeError('an amount is whole quota, not negative');
}

/** Those with the same key together, in their order; no group is empty. */
export const groupBy = <T>(all: readonly T[], keyOf: (each: T) => unknown): Iterable<readonly [T, ...T[]]> =>
  Map.groupBy(all, keyOf).values() as Iterable<[T, ...T[]]>;

export function sumOf<T>(all: readonly T[], amountOf: (each: T) => number): number {
  let sum = 0;
  for (const each of all) sum += amountOf(each);
  return sum;
}
