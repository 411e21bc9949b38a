import { type MediaLine, priceMedia, type VideoPrice } from './pricing.ts';

/** Whether a line may apply to a video of so many seconds. */
const isForSeconds = ({ when }: MediaLine, seconds: number): boolean =>
  when?.seconds === undefined || when.seconds.some((each) => String(each) === String(seconds));

/**
 * The least a video of so many seconds costs before its other facts are known: by the cheapest of the lines that may apply, without
 * multipliers. Quota.
 */
export function minimumVideoPrice(price: VideoPrice, seconds: number): number {
  const { lines, multipliers: _, ...rates } = price;
  if (lines === undefined) return priceMedia(rates, { seconds, factors: {} }).quota;
  const fitting = lines.filter((line) => isForSeconds(line, seconds));
  const quotas = (fitting.length > 0 ? fitting : lines).map(
    ({ when: __, ...line }) => priceMedia({ lines: [line] }, { seconds, factors: {} }).quota,
  );
  return Math.min(...quotas);
}
