import type { Kysely } from 'kysely';
import { leftOf } from '../../../contract/amounts.ts';
import type { ErrorCode } from '../../../contract/error-codes.ts';
import type { MessageKey } from '../../../contract/messages/format-message.ts';
import { defined } from '../../../contract/objects.ts';
import { AppError } from '../app-error.ts';
import { type Clock, systemClock } from '../clock.ts';
import { hashToken } from '../tokens.ts';
import {
  ConcurrencySlots,
  type Counters,
  MemoryCounters,
  NO_MAX,
  READ_ONLY,
  type SlotStore,
  type TakenPoints,
} from './counters.ts';
import { type CounterSnapshots, postgresCounters, postgresSlots, type RateLimitTables } from './postgres-counters.ts';
import type { ValkeyConnection } from './valkey.ts';

/** How many points a key may use in a window that starts with its first use. */
export interface RateLimitRule {
  /** Unique; part of the stored key. */
  readonly name: string;
  readonly points: number;
  readonly durationSeconds: number;
  /** Counted by each process for itself, in memory: for events too frequent to be stored. */
  readonly perProcess?: boolean;
}

interface RateLimitResult {
  readonly allowed: boolean;
  readonly remaining: number;
  /** For Retry-After; 0 when allowed. */
  readonly retryAfterMs: number;
}

/**
 * One limit. No method throws: when the shared store is unavailable, each process continues with its own counters and
 * half the points, and logs it. To count only failures, `consume` before the attempt and `refund` after success. `peek`
 * before and `penalty` after would admit every attempt that arrives in between.
 */
export interface RateLimiter {
  /** Uses points and returns whether they were still available. */
  consume(key: string, points?: number): Promise<RateLimitResult>;
  /** Uses points whether or not they are available; the result applies to the next use. */
  penalty(key: string, points?: number): Promise<RateLimitResult>;
  refund(key: string, points?: number): Promise<void>;
  /** Whether a point is available, without using it. */
  peek(key: string): Promise<RateLimitResult>;
  reset(key: string): Promise<void>;
}

/** A limit whose maximum differs by key. Like `RateLimiter`, it does not throw. */
export interface KeyedBudget {
  /** Uses points if they fit below `max`. While the store is down, this process admits up to half of `max`. */
  take(key: string, points: number, max: number): Promise<TakenPoints>;
  /** Corrects the points used, unless that window has ended. */
  adjust(key: string, endsAt: number, points: number): Promise<void>;
}

/** Creates limits on one store. */
export interface RateLimits {
  define(rule: RateLimitRule): RateLimiter;
  defineBudget(rule: Pick<RateLimitRule, 'name' | 'durationSeconds'>): KeyedBudget;
  /** @param name unique; part of the stored key */
  defineSlots(name: string): ConcurrencySlots;
  close(): Promise<void>;
}

interface RateLimitsOptions {
  /** A Valkey or Redis shared by all processes. */
  readonly valkeyUrl?: string;
  /** A PostgreSQL shared by all processes, used without a Valkey. Without both, counters are kept in memory. */
  readonly sharedDatabase?: Kysely<RateLimitTables>;
  /** Saves the counters of a single process, so that a restart lifts no lockout. */
  readonly snapshots?: CounterSnapshots;
  readonly clock?: Clock;
  readonly log?: { warn(details: object, message: string): void };
}

/** Callers choose the keys; longer keys are stored as their hash. */
const MAX_KEY_LENGTH = 100;
const WARN_EVERY_MS = 60_000;

/** Creates rate limits on the configured store. */
export function createRateLimits(options: RateLimitsOptions = {}): RateLimits {
  const clock = options.clock ?? systemClock;
  let warnedAt = Number.NEGATIVE_INFINITY;
  const onStoreDown = (error: unknown): void => {
    if (clock.now() - warnedAt < WARN_EVERY_MS) return;
    warnedAt = clock.now();
    options.log?.warn(
      { err: error },
      'the store of rate limits is down; this process counts for itself, more strictly',
    );
  };
  const { valkeyUrl } = options;
  const valkey = valkeyUrl === undefined ? undefined : loadValkey(valkeyUrl, onStoreDown);
  const { sharedDatabase } = options;
  const sharedCounters = (name: string, durationMs: number): Counters | undefined => {
    if (valkey !== undefined) return deferredCounters(valkey.then((loaded) => loaded.counters(name, durationMs)));
    return sharedDatabase && postgresCounters(sharedDatabase, name, durationMs, clock);
  };
  const sharedSlots = (name: string): SlotStore | undefined => {
    if (valkey !== undefined) return deferredSlots(valkey.then((loaded) => loaded.slots(name)));
    return sharedDatabase && postgresSlots(sharedDatabase, name, clock);
  };
  const slots: ConcurrencySlots[] = [];
  return {
    define({ name, points, durationSeconds, perProcess = false }) {
      const durationMs = durationSeconds * 1000;
      const memory = new MemoryCounters(durationMs, clock);
      if (perProcess) return createLimiter(async (use) => [await use(memory), points]);
      const shared = sharedCounters(name, durationMs);
      if (shared === undefined) options.snapshots?.register(name, points, memory);
      if (shared === undefined) return createLimiter(async (use) => [await use(memory), points]);
      return createLimiter(async (use) => {
        try {
          return [await use(shared), points];
        } catch (error) {
          onStoreDown(error);
          return [await use(memory), Math.max(1, Math.floor(points / 2))];
        }
      });
    },
    defineBudget({ name, durationSeconds }) {
      const durationMs = durationSeconds * 1000;
      const memory = new MemoryCounters(durationMs, clock);
      const shared = sharedCounters(name, durationMs);
      // Two points: every use is worth saving.
      if (shared === undefined) options.snapshots?.register(name, 2, memory);
      return shared === undefined ? memory : withFallback(shared, memory, onStoreDown);
    },
    defineSlots(name) {
      const made = new ConcurrencySlots(sharedSlots(name), onStoreDown);
      slots.push(made);
      return made;
    },
    async close() {
      for (const made of slots) made.close();
      await options.snapshots?.close();
      (await valkey)?.close();
    },
  };
}

/** When the store has recovered, an adjustment of points counted here meets another window there and has no effect. */
function withFallback(shared: Counters, memory: Counters, onStoreDown: (error: unknown) => void): KeyedBudget {
  return {
    async take(key, points, max) {
      try {
        return await shared.take(key, points, max);
      } catch (error) {
        onStoreDown(error);
        const half = Math.max(1, Math.floor(max / 2));
        return memory.take(key, Math.min(points, half), half);
      }
    },
    async adjust(key, endsAt, points) {
      await Promise.all([shared.adjust(key, endsAt, points).catch(onStoreDown), memory.adjust(key, endsAt, points)]);
    },
  };
}

/**
 * Runs one operation on the shared or the local counters, and returns its result with the limit that applies to them.
 */
type CounterAccess = <T>(use: (counters: Counters) => Promise<T>) => Promise<readonly [result: T, points: number]>;

function createLimiter(counting: CounterAccess): RateLimiter {
  const take = (key: string, points: number, max: number) =>
    counting((counters) => counters.take(toBoundedKey(key), points, max));
  return {
    async consume(key, points = 1) {
      const [count, allowance] = await take(key, points, NO_MAX);
      return toResult(count, allowance, count.used <= allowance);
    },
    async penalty(key, points = 1) {
      const [count, allowance] = await take(key, points, NO_MAX);
      return toResult(count, allowance, count.used < allowance);
    },
    async refund(key, points = 1) {
      await take(key, -points, NO_MAX);
    },
    async peek(key) {
      const [count, allowance] = await take(key, 0, READ_ONLY);
      return toResult(count, allowance, count.used < allowance);
    },
    async reset(key) {
      await counting((counters) => counters.remove(toBoundedKey(key)));
    },
  };
}

function toResult(count: TakenPoints, points: number, allowed: boolean): RateLimitResult {
  return {
    allowed,
    remaining: Math.max(0, points - count.used),
    retryAfterMs: allowed ? 0 : Math.max(1, count.endsInMs),
  };
}

function toBoundedKey(key: string): string {
  return key.length > MAX_KEY_LENGTH ? hashToken(key) : key;
}

const loadValkey = async (url: string, onError: (error: unknown) => void): Promise<ValkeyConnection> =>
  (await import('./valkey.ts')).openValkey(url, onError);

const deferredCounters = (counters: Promise<Counters>): Counters => ({
  take: async (key, points, max) => (await counters).take(key, points, max),
  adjust: async (key, endsAt, points) => (await counters).adjust(key, endsAt, points),
  remove: async (key) => (await counters).remove(key),
});

const deferredSlots = (slots: Promise<SlotStore>): SlotStore => ({
  acquire: async (slot, max, ttlMs) => (await slots).acquire(slot, max, ttlMs),
  renew: async (held, ttlMs) => (await slots).renew(held, ttlMs),
  release: async (slot) => (await slots).release(slot),
});

/**
 * Turns a refused result into the error response with Retry-After.
 * @param publicCode the error code for clients that know only the codes of RFC 6749 and RFC 8628
 * @throws rate_limit_exceeded
 */
export function assertWithinLimit(
  { allowed, retryAfterMs }: Pick<RateLimitResult, 'allowed' | 'retryAfterMs'>,
  publicCode?: ErrorCode,
): void {
  if (allowed) return;
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  throw new AppError('rate_limit_exceeded', defined({ params: { seconds }, retryAfterSeconds: seconds, publicCode }));
}

/** The limits set by the owner of a key; an unset limit is undefined. */
export interface KeyLimits {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly concurrentCalls?: number;
  readonly concurrentTasks?: number;
  /** Videos that may wait for a slot. */
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

/** The remainder of the tightest spend limit, in quota, as headers for clients of a dialect. */
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

/** The remaining limits of a key, as headers for clients of a dialect. */
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
