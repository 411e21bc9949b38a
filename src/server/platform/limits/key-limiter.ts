import type { MessageKey } from '../../../contract/messages/format-message.ts';
import { leftOf } from '../../../contract/spend-limits.ts';
import { AppError } from '../app-error.ts';
import type { Clock } from '../clock.ts';
import type { ConcurrencySlots, TakenPoints } from './counters.ts';
import type { KeyedBudget, RateLimits } from './rate-limits.ts';

/** The limits set by the owner of a key; an unset limit is undefined. */
export interface KeyLimits {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly concurrentCalls?: number;
  readonly concurrentTasks?: number;
  /** Videos that may wait for a place. */
  readonly queuedTasks?: number;
}

/** A key with at least one limit. */
export interface LimitedKey {
  readonly tokenId: number;
  readonly limits: KeyLimits;
}

/** The planned use of a request. */
interface RequestUse {
  readonly format: LimitFormat;
  /** Estimated tokens of a model call; undefined for all other requests. */
  readonly tokens: number | undefined;
}

/** An admitted request. */
export interface Admission {
  /** Headers for the response. */
  readonly headers: Readonly<Record<string, string>>;
  /** Must be called when the request is over, with the tokens it actually used; a second call has no effect. */
  end(tokens: number): void;
}

const MINUTE_SECONDS = 60;
const NO_SLOT = async (): Promise<void> => {};
/** Retry delay when the next slot depends on the end of another call. */
const SLOT_RETRY_MS = 1_000;

/**
 * The limits of individual keys: requests and tokens per minute, and concurrent model calls. A minute starts with its
 * first request. Counted in the same store as the rate limits, across all processes.
 */
export class ApiKeyLimiter {
  readonly #requests: KeyedBudget;
  readonly #tokens: KeyedBudget;
  readonly #calls: ConcurrencySlots;
  readonly #clock: Clock;

  constructor(limits: RateLimits, clock: Clock) {
    this.#requests = limits.defineBudget({ name: 'key-requests', durationSeconds: MINUTE_SECONDS });
    this.#tokens = limits.defineBudget({ name: 'key-tokens', durationSeconds: MINUTE_SECONDS });
    this.#calls = limits.defineSlots('key-calls');
    this.#clock = clock;
  }

  /**
   * Admits a request, or refuses it without using anything. The estimated use of a call is counted before the call
   * starts, so that concurrent calls cannot exceed the limit together. A call that may exceed a full minute's tokens
   * uses all of them.
   * @throws AppError `rate_limit_exceeded` naming the limit, with the headers of the dialect
   */
  async admit({ tokenId, limits }: LimitedKey, { tokens, format }: RequestUse): Promise<Admission> {
    const key = String(tokenId);
    const { requestsPerMinute, tokensPerMinute, concurrentCalls } = limits;
    const release =
      concurrentCalls === undefined || tokens === undefined ? NO_SLOT : await this.#calls.acquire(key, concurrentCalls);
    if (release === undefined) throw refusal('key_calls_limit', concurrentCalls, SLOT_RETRY_MS, {});
    const requests = requestsPerMinute === undefined ? undefined : await this.#requests.take(key, 1, requestsPerMinute);
    const needed = Math.min(tokens ?? 0, tokensPerMinute ?? 0);
    const used =
      needed === 0 || tokensPerMinute === undefined || requests?.taken === false
        ? undefined
        : await this.#tokens.take(key, needed, tokensPerMinute);
    const figures = { requests: toFigures(requests, requestsPerMinute), tokens: toFigures(used, tokensPerMinute) };
    const headers = toLimitHeaders(format, figures, this.#clock.now());
    const refused = findRefusal(requests, used, figures, headers);
    if (refused !== undefined) {
      // Returned immediately, because the next request of the key must see the unchanged count.
      if (requests?.taken === true) await this.#requests.adjust(key, requests.endsAt, -1);
      await release();
      throw refused;
    }
    const end = once((actual) => {
      void release();
      if (used !== undefined && actual !== needed) void this.#tokens.adjust(key, used.endsAt, actual - needed);
    });
    return { headers, end };
  }
}

/** The error for a key with the maximum number of unfinished videos. */
export const tooManyTasksError = (limit: number): AppError => refusal('key_tasks_limit', limit, TASK_RETRY_MS, {});
const TASK_RETRY_MS = 10_000;

function findRefusal(
  requests: TakenPoints | undefined,
  tokens: TakenPoints | undefined,
  { requests: requestFigures, tokens: tokenFigures }: LimitFigures,
  headers: Readonly<Record<string, string>>,
): AppError | undefined {
  if (requests?.taken === false)
    return refusal('key_requests_limit', requestFigures?.limit, requests.endsInMs, headers);
  if (tokens?.taken === false) return refusal('key_tokens_limit', tokenFigures?.limit, tokens.endsInMs, headers);
  return undefined;
}

function refusal(
  messageKey: MessageKey,
  limit: number | undefined,
  retryAfterMs: number,
  headers: Readonly<Record<string, string>>,
): AppError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  const params = { limit: limit ?? 0, seconds };
  return new AppError('rate_limit_exceeded', { messageKey, params, retryAfterSeconds: seconds, headers });
}

const toFigures = (taken: TakenPoints | undefined, limit: number | undefined): WindowFigures | undefined =>
  taken === undefined || limit === undefined
    ? undefined
    : { limit, remaining: Math.max(0, limit - taken.used), resetsInMs: taken.endsInMs };

function once(action: (tokens: number) => void): (tokens: number) => void {
  let isDone = false;
  return (tokens) => {
    if (isDone) return;
    isDone = true;
    action(tokens);
  };
}

/** The window of one limit. */
interface WindowFigures {
  readonly limit: number;
  readonly remaining: number;
  readonly resetsInMs: number;
}

/** The remainder of a key's limits; undefined: the key has no such limit. */
interface LimitFigures {
  readonly requests: WindowFigures | undefined;
  readonly tokens: WindowFigures | undefined;
}

/** The API whose header names are used. Google's API has none: its 429 states the retry delay in the body. */
type LimitFormat = 'openai' | 'anthropic' | 'gemini';

/** The headers by which clients of a dialect see what the spend limit leaves that leaves the least, in quota. */
export function toQuotaHeaders(
  format: LimitFormat,
  limits: readonly { readonly amount: number; readonly spent: number; readonly renewsAt: number }[],
  nowMs: number,
): Readonly<Record<string, string>> {
  const [tightest] = limits.toSorted((one, other) => leftOf(one) - leftOf(other));
  if (tightest === undefined) return {};
  const resetsInMs = Math.max(0, tightest.renewsAt - nowMs);
  const figures = { limit: tightest.amount, remaining: leftOf(tightest), resetsInMs };
  return Object.fromEntries(HEADERS[format]('quota', figures, nowMs));
}

/** The headers by which clients of a dialect see their remaining limits. */
function toLimitHeaders(
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

/** Formats durations like OpenAI: `340ms`, `8.64s`, `1m0s`, `25h0m3s`. */
function formatDuration(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms));
  if (whole < 1_000) return `${whole}ms`;
  const hours = Math.floor(whole / 3_600_000);
  const minutes = Math.floor((whole % 3_600_000) / 60_000);
  const seconds = Number(((whole % 60_000) / 1_000).toFixed(3));
  if (hours > 0) return `${hours}h${minutes}m${Math.floor(seconds)}s`;
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds}s`;
}
