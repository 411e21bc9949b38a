/** Sums of the source, whole quota. Text in reports: they may be more than JavaScript counts exactly. */
export interface ImportSums {
  /** Both balances of all accounts that are imported. */
  balance: bigint;
  /** What goes into wallets. */
  granted: bigint;
  /** What accounts were overdrawn by. `balance` = `granted` - `debts`. */
  debts: bigint;
  /** Balances of accounts that are not imported. */
  leftBehind: bigint;
  /** What limited keys may still spend. */
  keyLimits: bigint;
  /** Unused redemption codes. */
  codes: bigint;
  /** What plans bought there still cover. */
  subscriptions: bigint;
  /** Paid for videos that had ended and are history here. */
  endedTasks: bigint;
  /** Paid for videos that were not finished. */
  unfinishedTasks: bigint;
  /** Of that, what is held here for those that come over. */
  heldTasks: bigint;
}

export const zeroSums = (): ImportSums => ({
  balance: 0n,
  granted: 0n,
  debts: 0n,
  leftBehind: 0n,
  keyLimits: 0n,
  codes: 0n,
  subscriptions: 0n,
  endedTasks: 0n,
  unfinishedTasks: 0n,
  heldTasks: 0n,
});
