import { type CallFacts, priceCall } from './call-facts.ts';
import type { Price } from './pricing.ts';

/** One line of a receipt: `quantity × unit_quota × multiplier` is `quota`, to a millionth. */
export interface ReceiptLine {
  /** The key of the price; `not_charged`: what balance or reservation did not bear. */
  readonly label: string;
  /** Calls, seconds, pictures or tokens. */
  readonly quantity: number;
  /** Quota for one of the quantity. */
  readonly unit_quota: number;
  /** All multipliers together. */
  readonly multiplier: number;
  readonly quota: number;
}

const MICRO = 1_000_000;
/** From here on a double has too few digits for millionths, and lines are whole quota. */
const MAX_MICRO_QUOTA = 2 ** 30;
const MAX_NUDGES = 100;
/** What multipliers are read to; see `price-lines.ts`. */
const MULTIPLIER_UNIT = 1_000_000_000;

/**
 * The lines of what was charged, by the same function that charged it. Their sum, rounded up, is `charged`, also where a program adds
 * the numbers as floating point in their order.
 *
 * @param price undefined: it is not known any more, and the charge is one line
 */
export function toReceiptLines(price: Price | undefined, facts: CallFacts, charged: number): ReceiptLine[] {
  if (price === undefined) return charged === 0 ? [] : [wholeLine('total', charged)];
  const { lines, multipliers, quota } = priceCall(price, facts);
  const factor = multipliers.reduce((product, { by }) => product * by, 1);
  const exact = lines.map((line) => {
    const applied = line.isPlain === true ? [] : multipliers;
    // In millionths, rounded down: what is missing is less than a millionth a line.
    let top = BigInt(line.quantity) * BigInt(line.unitQuota) * BigInt(MICRO / line.per);
    for (const { by } of applied) top *= BigInt(Math.round(by * MULTIPLIER_UNIT));
    return {
      label: line.label,
      quantity: line.quantity,
      unit_quota: line.unitQuota / line.per,
      multiplier: line.isPlain === true ? 1 : factor,
      micro: top / BigInt(MULTIPLIER_UNIT) ** BigInt(applied.length),
    };
  });
  const rest = charged === quota ? [] : [wholeLine('not_charged', charged - quota)];
  const amounts = fitToWhole(
    exact.map(({ micro }) => micro),
    quota,
  );
  return [...exact.map(({ micro: _, ...line }, index) => ({ ...line, quota: amounts[index] ?? 0 })), ...rest];
}

const wholeLine = (label: string, quota: number): ReceiptLine => ({
  label,
  quantity: 1,
  unit_quota: quota,
  multiplier: 1,
  quota,
});

/** The sum of the lines as a program adds them, rounded up. */
export function sumOfReceipt(lines: readonly Pick<ReceiptLine, 'quota'>[]): number {
  const sum = Math.ceil(lines.reduce((total, { quota }) => total + quota, 0));
  // What is between -1 and 0 is rounded up to -0.
  return sum === 0 ? 0 : sum;
}

/** Amounts in millionths as numbers whose floating-point sum rounds up to `total`; in whole quota where millionths do not fit. */
function fitToWhole(amounts: readonly bigint[], total: number): number[] {
  if (total < MAX_MICRO_QUOTA) {
    const micro = amounts.map(Number);
    for (let nudges = 0; nudges < MAX_NUDGES; nudges++) {
      const values = micro.map((each) => each / MICRO);
      const off = total - sumOfReceipt(values.map((quota) => ({ quota })));
      if (off === 0) return values;
      // A millionth more where rounding down lost it, or less where the sum of floating point has gained it.
      const at = micro.findIndex((each) => each > 0);
      if (at === -1) break;
      micro[at] = (micro[at] ?? 0) + Math.sign(off);
    }
  }
  let [sum, taken] = [0n, 0n];
  return amounts.map((amount, index) => {
    sum += amount;
    const whole = index === amounts.length - 1 ? BigInt(total) : (sum + BigInt(MICRO) - 1n) / BigInt(MICRO);
    const own = whole - taken;
    taken = whole;
    return Number(own);
  });
}
