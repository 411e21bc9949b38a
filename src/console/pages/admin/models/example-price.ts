import { type PriceLine, priceMedia, UnpricedError, type VideoPrice } from '../../../../contract/pricing.ts';
import type { AnyPrice } from './price-form-values.ts';

/** What one video costs, by the same rule the server charges by. */
export interface PriceExample {
  readonly quota: number;
  readonly terms: readonly PriceLine[];
  /** Multipliers that applied. */
  readonly times: readonly number[];
}

/** @returns undefined where no line of the price fits: such a call is refused */
export function examplePrice(
  price: AnyPrice,
  seconds: number,
  factors: Readonly<Record<string, string>>,
): PriceExample | undefined {
  // During typing, the form may contain durations that are not whole numbers yet.
  const whole = Number.isSafeInteger(seconds) && seconds > 0 ? seconds : 0;
  try {
    const { quota, lines, multipliers } = priceMedia(price as VideoPrice, { seconds: whole, factors });
    return { quota, terms: lines, times: multipliers.map(({ by }) => by) };
  } catch (error) {
    if (error instanceof UnpricedError) return undefined;
    throw error;
  }
}
