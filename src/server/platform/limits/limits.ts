import type { Kysely } from 'kysely';
import { type Clock, systemClock } from '../clock.ts';
import { hashToken } from '../secrets.ts';
import { type Count, type Counters, memoryCounters } from './counters.ts';
import { databaseCounters } from './database-counters.ts';
import type { LimitTables } from './tables.ts';
import type { Valkey } from './valkey.ts';

/** How many points a key may use in a window that begins with its first use. */
export interface LimitRule {
  /** Unique; part of what is stored. */
  readonly name: string;
  readonly points: number;
  readonly durationSeconds: number;
}

export interface LimitVerdict {
  readonly allowed: boolean;
  readonly remaining: number;
  /** For Retry-After; 0 when allowed. */
  readonly retryAfterMs: number;
}

/**
 * One limit. Nothing here throws: when the shared store cannot be asked, each process goes on counting for itself with
 * half the points, and says so in the log.
 *
 * Where only failures shall count, `consume` before trying and `giveBack` after success. `peek` before and `penalty` after
 * would let as many tries through as fit into the time between.
 */
export interface Limiter {
  /** Uses points and tells whether they were still to be had. */
  consume(key: string, points?: number): Promise<LimitVerdict>;
  /** Uses points whether they were to be had or not; the verdict is about the next one. */
  penalty(key: string, points?: number): Promise<LimitVerdict>;
  giveBack(key: string, points?: number): Promise<void>;
  /** Whether a point is to be had, without using it. */
  peek(key: string): Promise<LimitVerdict>;
  reset(key: string): Promise<void>;
}

export interface Limits {
  define(rule: LimitRule): Limiter;
  close(): Promise<void>;
}

export interface LimitsOptions {
  /** A Valkey or Redis shared by all processes. */
  readonly valkeyUrl?: string | undefined;
  /** A PostgreSQL shared by all processes, taken when there is no Valkey. Without both, counters live in memory. */
  readonly sharedDatabase?: Kysely<LimitTables> | undefined;
  readonly clock?: Clock;
  readonly log?: { warn(details: object, message: string): void };
}

/** Keys come from callers; longer ones are stored as their hash. */
const MAX_KEY_LENGTH = 100;
const WARN_EVERY_MS = 60_000;

export function makeLimits(options: LimitsOptions = {}): Limits {
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
  const valkey = valkeyUrl === undefined ? undefined : load(valkeyUrl, onStoreDown);
  const { sharedDatabase } = options;
  const sharedCounters = (name: string, durationMs: number): Counters | undefined => {
    if (valkey !== undefined) return inTime(valkey.then((loaded) => loaded.counters(name, durationMs)));
    return sharedDatabase && databaseCounters(sharedDatabase, name, durationMs, clock);
  };
  return {
    define({ name, points, durationSeconds }) {
      const durationMs = durationSeconds * 1000;
      const memory = memoryCounters(durationMs, clock);
      const shared = sharedCounters(name, durationMs);
      if (shared === undefined) return limiter(async (use) => [await use(memory), points]);
      return limiter(async (use) => {
        try {
          return [await use(shared), points];
        } catch (error) {
          onStoreDown(error);
          return [await use(memory), Math.max(1, Math.floor(points / 2))];
        }
      });
    },
    close: async () => (await valkey)?.close(),
  };
}

/** Runs one operation where the counters are, and answers with the points that hold there. */
type Counting = <T>(use: (counters: Counters) => Promise<T>) => Promise<readonly [result: T, points: number]>;

function limiter(counting: Counting): Limiter {
  return {
    async consume(key, points = 1) {
      const [count, allowance] = await counting((counters) => counters.add(bounded(key), points));
      return toVerdict(count, allowance, count.used <= allowance);
    },
    async penalty(key, points = 1) {
      const [count, allowance] = await counting((counters) => counters.add(bounded(key), points));
      return toVerdict(count, allowance, count.used < allowance);
    },
    async giveBack(key, points = 1) {
      await counting((counters) => counters.add(bounded(key), -points));
    },
    async peek(key) {
      const [count, allowance] = await counting((counters) => counters.read(bounded(key)));
      return toVerdict(count, allowance, count.used < allowance);
    },
    async reset(key) {
      await counting((counters) => counters.remove(bounded(key)));
    },
  };
}

function toVerdict(count: Count, points: number, allowed: boolean): LimitVerdict {
  return {
    allowed,
    remaining: Math.max(0, points - count.used),
    retryAfterMs: allowed ? 0 : Math.max(1, count.endsInMs),
  };
}

function bounded(key: string): string {
  return key.length > MAX_KEY_LENGTH ? hashToken(key) : key;
}

const load = async (url: string, onError: (error: unknown) => void): Promise<Valkey> =>
  (await import('./valkey.ts')).openValkey(url, onError);

const inTime = (counters: Promise<Counters>): Counters => ({
  add: async (key, points) => (await counters).add(key, points),
  read: async (key) => (await counters).read(key),
  remove: async (key) => (await counters).remove(key),
});
