import type { VideoPrice } from '../channels/channels.ts';

/** What a request is billed by, as the vendor's adapter read it. */
export interface Meter {
  readonly seconds: number;
  readonly factors: { readonly [factor: string]: string };
}

/**
 * Price in whole quota: `per_call + per_second × seconds`, times every multiplier the model's row names for the request's
 * factors, rounded up once at the end. Multipliers are taken as the decimals they are written as, so 1.1 is eleven tenths.
 * Throws RangeError where the result is no safe integer.
 */
export function priceOf(price: VideoPrice, meter: Meter): number {
  let numerator = BigInt(price.per_call) + BigInt(price.per_second) * BigInt(meter.seconds);
  let denominator = 1n;
  for (const [factor, values] of Object.entries(price.multipliers ?? {})) {
    const value = meter.factors[factor];
    const multiplier = value === undefined || !Object.hasOwn(values, value) ? undefined : values[value];
    if (multiplier === undefined) continue;
    const [top, bottom] = toFraction(multiplier);
    numerator *= top;
    denominator *= bottom;
  }
  const rounded = (numerator + denominator - 1n) / denominator;
  if (rounded > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError('the price is out of range');
  return Number(rounded);
}

const MAX_DECIMALS = 9;

function toFraction(value: number): [bigint, bigint] {
  if (!Number.isFinite(value) || value < 0) throw new RangeError('a multiplier is a number, not negative');
  const [whole = '0', decimals = ''] = value.toFixed(MAX_DECIMALS).split('.');
  return [BigInt(whole + decimals), 10n ** BigInt(decimals.length)];
}
