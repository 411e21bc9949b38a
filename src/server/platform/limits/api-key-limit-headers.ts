/** A window of one minute of one key. */
export interface WindowFigures {
  readonly limit: number;
  readonly remaining: number;
  readonly resetsInMs: number;
}

/** What is left of a key's limits; undefined: it has no such limit. */
export interface LimitFigures {
  readonly requests: WindowFigures | undefined;
  readonly tokens: WindowFigures | undefined;
}

/** Whose names the headers have. Google's API has none: its 429 says in the body when to come again. */
export type LimitFormat = 'openai' | 'anthropic' | 'gemini';

/** The headers by which clients of a dialect know how much they may still send. */
export function toLimitHeaders(
  format: LimitFormat,
  { requests, tokens }: LimitFigures,
  nowMs: number,
): Readonly<Record<string, string>> {
  const named = { requests, tokens };
  const entries = Object.entries(named).flatMap(([what, figures]) =>
    figures === undefined ? [] : HEADERS[format](what, figures, nowMs),
  );
  return Object.fromEntries(entries);
}

const HEADERS: Readonly<
  Record<LimitFormat, (what: string, figures: WindowFigures, nowMs: number) => [string, string][]>
> = {
  // platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers
  openai: (what, { limit, remaining, resetsInMs }) => [
    [`x-ratelimit-limit-${what}`, String(limit)],
    [`x-ratelimit-remaining-${what}`, String(remaining)],
    [`x-ratelimit-reset-${what}`, formatDuration(resetsInMs)],
  ],
  // docs.claude.com/en/api/rate-limits#response-headers
  anthropic: (what, { limit, remaining, resetsInMs }, nowMs) => [
    [`anthropic-ratelimit-${what}-limit`, String(limit)],
    [`anthropic-ratelimit-${what}-remaining`, String(remaining)],
    [`anthropic-ratelimit-${what}-reset`, new Date(nowMs + resetsInMs).toISOString()],
  ],
  gemini: () => [],
};

/** As OpenAI writes durations of up to a minute: `340ms`, `8.64s`, `1m0s`. */
function formatDuration(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms));
  if (whole < 1_000) return `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const seconds = Number(((whole % 60_000) / 1_000).toFixed(3));
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds}s`;
}
