/** What a reservation was made of. */
export interface Held {
  readonly amount: number;
  /** Part that came from a plan's allowance; the rest came from the wallet. */
  readonly plan_amount: number;
}

export interface Closing {
  readonly charged: number;
  /** Goes back into the wallet. */
  readonly walletBack: number;
  /** Goes back to the allowance's period. */
  readonly planBack: number;
  /** Was not reserved and is still to be taken. */
  readonly extra: number;
}

/** Splits the end of a reservation by its cost: the plan pays first, so the wallet gets back first. */
export function closingOf(held: Held, cost: number): Closing {
  const fromWallet = held.amount - held.plan_amount;
  const unused = Math.max(0, held.amount - cost);
  const walletBack = Math.min(unused, fromWallet);
  return { charged: cost, walletBack, planBack: unused - walletBack, extra: Math.max(0, cost - held.amount) };
}

const DAY_MS = 86_400_000;

/** Days since 1970-01-01 UTC. */
export const dayOf = (unixMs: number): number => Math.floor(unixMs / DAY_MS);
