import type { Kysely } from 'kysely';
import type { ErrorCode } from '../../../contract/error-codes.ts';
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
import { type CounterSnapshots, postgresCounters, postgresSlots } from './postgres-counters.ts';
import type { RateLimitTables } from './tables.ts';
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
