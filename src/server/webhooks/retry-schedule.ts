const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Waits after the first to the ninth failed try: ten tries over 75 h 35 min (the schedule of Standard Webhooks 1.0.0). */
const WAITS_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];
export const MAX_TRIES = WAITS_MS.length + 1;
/** So that receivers that failed together are not asked together again. */
const JITTER = 0.1;
const MAX_RETRY_AFTER_MS = 24 * HOUR;

/**
 * When a delivery is tried again.
 *
 * @param tries so far, the failed one included
 * @param retryAfterMs what the receiver asked for; a longer wait than planned is granted, up to a day
 * @param random from 0 to 1
 * @returns Unix milliseconds; undefined: it was the last try
 */
export function nextTryAt(
  tries: number,
  now: number,
  retryAfterMs: number | undefined,
  random: number,
): number | undefined {
  const planned = WAITS_MS[tries - 1];
  if (planned === undefined) return undefined;
  const jittered = planned * (1 + JITTER * (2 * random - 1));
  return now + Math.round(Math.max(jittered, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)));
}

/** Reads Retry-After (RFC 9110 section 10.2.3): seconds or a date. @returns milliseconds; undefined where it says nothing */
export function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text.trim())) return Number(text) * SECOND;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
