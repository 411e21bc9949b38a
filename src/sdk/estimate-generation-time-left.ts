import type { VideoDuration } from './account.ts';

/** What measured durations say about a video that has run for a while. */
export type TimeLeft =
  | { readonly kind: 'left'; readonly seconds: number; readonly share: number }
  | { readonly kind: 'almost'; readonly share: number }
  | { readonly kind: 'slow'; readonly share: number };

/** What the bar shows at most before the video is there. */
const MAX_SHARE = 0.95;

/**
 * Up to the median the rest of the median is left; then the rest of the 90 % quantile is too wide to be told as a figure; after
 * that it is slower than nine of ten. `share` is elapsed time over the 90 % quantile, for a bar.
 * @param elapsed seconds since the request
 */
export function estimateGenerationTimeLeft(
  elapsed: number,
  { p50_seconds: median, p90_seconds: slow }: Pick<VideoDuration, 'p50_seconds' | 'p90_seconds'>,
): TimeLeft {
  const share = Math.min(MAX_SHARE, elapsed / Math.max(1, slow));
  if (elapsed > slow) return { kind: 'slow', share };
  return elapsed < median ? { kind: 'left', seconds: Math.ceil(median - elapsed), share } : { kind: 'almost', share };
}
