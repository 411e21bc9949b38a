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

/** Money is whole quota. A float or a negative would make some of nothing. */
export function assertAmount(amount: number): void {
  if (!Number.isSafeInteger(amount) || amount < 0) throw new TypeError('an amount is whole quota, not negative');
}
