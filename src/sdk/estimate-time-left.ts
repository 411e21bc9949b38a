import type { VideoDuration } from './account.ts';

/** @internal Estimated remaining time of a video, from measured generation times. */
type TimeLeft =
  | { readonly kind: 'left'; readonly seconds: number; readonly share: number }
  | { readonly kind: 'almost'; readonly share: number }
  | { readonly kind: 'slow'; readonly share: number };

/** Maximum share shown by the progress bar until the video is finished. */
const MAX_SHARE = 0.95;

/**
 * @internal
 * Estimates the remaining time of a video. Separate from `Account`, whose endpoints the console's studio does not need.
 *
 * `left`: before the median, with the time to the median. `almost`: before the 90 % quantile, where the range is too
 * wide for a figure. `slow`: later, slower than nine of ten videos. `share` is the elapsed time divided by the 90 %
 * quantile, for a progress bar.
 *
 * @param elapsed seconds since the request
 */
export function estimateTimeLeft(
  elapsed: number,
  { p50_seconds: median, p90_seconds: slow }: Pick<VideoDuration, 'p50_seconds' | 'p90_seconds'>,
): TimeLeft {
  const share = Math.min(MAX_SHARE, elapsed / Math.max(1, slow));
  if (elapsed > slow) return { kind: 'slow', share };
  return elapsed < median ? { kind: 'left', seconds: Math.ceil(median - elapsed), share } : { kind: 'almost', share };
}
