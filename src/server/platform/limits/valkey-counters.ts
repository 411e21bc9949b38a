import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { type Counters, EMPTY_WINDOW } from './counters.ts';

/** The store several processes share, as far as limits need it. Loaded only where one is set: the client is megabytes. */
export interface ValkeyConnection {
  counters(name: string, durationMs: number): Counters;
  close(): void;
}

/** Fails fast instead of queueing: a limit that waits for its store would stop the service with it. */
export function openValkey(url: string, onError: (error: unknown) => void): ValkeyConnection {
  const client = new Redis(url.replace(/^valkey/, 'redis'), {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: 500,
    retryStrategy: (attempt) => Math.min(attempt * 200, 5_000),
  });
  client.on('error', onError);
  return { counters: (name, durationMs) => countersOn(client, name, durationMs), close: () => client.disconnect() };
}

function countersOn(client: Redis, name: string, durationMs: number): Counters {
  // `points` is not used: this only counts, and the caller compares.
  const store = new RateLimiterRedis({
    storeClient: client,
    keyPrefix: `reelgate:limit:${name}`,
    points: 1,
    duration: Math.ceil(durationMs / 1000),
    rejectIfRedisNotReady: true,
  });
  return {
    async add(key, points) {
      const { consumedPoints, msBeforeNext } = await store.penalty(key, points);
      return { used: Math.max(0, consumedPoints), endsInMs: msBeforeNext };
    },
    async read(key) {
      const found = await store.get(key);
      return found === null ? EMPTY_WINDOW : { used: Math.max(0, found.consumedPoints), endsInMs: found.msBeforeNext };
    },
    async remove(key) {
      await store.delete(key);
    },
  };
}
