import Type from 'typebox';

/** What prices of every kind are made of: terms, their exact sum, and the result. Whole numbers and BigInt, no floating point. */

export const Quota = Type.Integer({ minimum: 0, maximum: 1_000_000_000_000, description: 'Whole quota.' });

/** One term of a price. All of them together, times the multipliers, are the quota before it is rounded up. */
export interface PriceLine {
  /** The key of the price, without `_per_million`; tokens that have no price of their own count as `input` or `output`. */
  readonly label: string;
  /** Calls, seconds, tokens, or units of a vendor, which may have six decimals. */
  readonly quantity: number;
  /** Whole quota for each `per` of the quantity. */
  readonly unitQuota: number;
  /** 1 for calls and seconds, a million for tokens and for rates with decimals. */
  readonly per: 1 | 1_000_000;
  /** Multipliers do not apply to it. */
  readonly isPlain?: boolean;
}

/** A multiplier that applied, with the factor and value that selected it. */
export interface AppliedMultiplier {
  readonly factor: string;
  readonly value: string;
  readonly by: number;
}

export interface PricedCall {
  /** Terms that are not zero, in the order they are added. */
  readonly lines: readonly PriceLine[];
  readonly multipliers: readonly AppliedMultiplier[];
  /** Integer quota, rounded up once, so that no use is free. */
  readonly quota: number;
}

/** Tokens are priced by the million. */
export const TOKENS_PER_PRICE = 1_000_000;

/** Multipliers are read as decimals of at most this many places; a price with more is refused when it is saved. */
export const MAX_MULTIPLIER_DECIMALS = 9;

/** Amounts that may have decimals, such as units of a vendor, are exact to a millionth. */
const MILLION = 1_000_000n;

/** A quantity in millionths, exact for whole numbers. */
export const toMillionths = (quantity: number): bigint =>
  Number.isInteger(quantity) ? BigInt(quantity) * MILLION : BigInt(Math.round(quantity * 1_000_000));

export const MAX_QUOTA = BigInt(Number.MAX_SAFE_INTEGER);

export const isCharged = ({ quantity, unitQuota }: PriceLine): boolean => quantity > 0 && unitQuota > 0;

/**
 * The sum of the terms times the multipliers, rounded up once. Multipliers are taken as the decimals they are written as:
 * 1.1 is eleven tenths.
 *
 * @throws RangeError where a multiplier is negative or not finite
 */
export function sumOfLines(lines: readonly PriceLine[], multipliers: readonly AppliedMultiplier[]): bigint {
  let numerator = 0n;
  for (const { quantity, unitQuota, per } of lines)
    numerator += toMillionths(quantity) * BigInt(unitQuota) * BigInt(TOKENS_PER_PRICE / per);
  let denominator = MILLION * BigInt(TOKENS_PER_PRICE);
  for (const { by } of multipliers) {
    const [top, bottom] = toFraction(by);
    numerator *= top;
    denominator *= bottom;
  }
  return (numerator + denominator - 1n) / denominator;
}

function toFraction(value: number): [numerator: bigint, denominator: bigint] {
  if (!Number.isFinite(value) || value < 0) throw new RangeError('a multiplier is a number, not negative');
  const [whole = '0', decimals = ''] = value.toFixed(MAX_MULTIPLIER_DECIMALS).split('.');
  return [BigInt(whole + decimals), 10n ** BigInt(decimals.length)];
}
