import { Redis } from 'ioredis';
import type { Counters, SlotStore } from './counters.ts';

/** The Valkey store shared by processes for limits. Loaded only if configured, because the client takes megabytes. */
export interface ValkeyConnection {
  counters(name: string, durationMs: number): Counters;
  slots(name: string): SlotStore;
  close(): void;
}

/** Fails fast instead of queueing: a limit that waits for its store would block the service. */
export function openValkey(url: string, onError: (error: unknown) => void): ValkeyConnection {
  // A lone percent sign in a password would end the start with "URI malformed".
  const client = new Redis(url.replace(/^valkey/, 'redis').replace(/%(?![\da-f]{2})/gi, '%25'), {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: 500,
    retryStrategy: (attempt) => Math.min(attempt * 200, 5_000),
    // After a failover the open connection leads to the old primary, which is a replica now and takes no writes.
    reconnectOnError: ({ message }) => message.includes('READONLY'),
  });
  client.on('error', onError);
  return {
    counters: (name, durationMs) => countersOn(client, name, durationMs),
    slots: (name) => valkeySlots(client, name),
    close: () => client.disconnect(),
  };
}

/**
 * Uses the store's clock, so that processes with different clocks share one window. Returns taken, used, end and now.
 */
const TAKE = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local used = tonumber(redis.call('HGET', KEYS[1], 'used') or '0')
local ends = tonumber(redis.call('HGET', KEYS[1], 'ends') or '0')
if ends <= now then
  used = 0
  ends = now + tonumber(ARGV[3])
end
local taken = 0
if used + tonumber(ARGV[1]) <= tonumber(ARGV[2]) then
  taken = 1
  used = math.max(0, used + tonumber(ARGV[1]))
  redis.call('HSET', KEYS[1], 'used', string.format('%.0f', used), 'ends', string.format('%.0f', ends))
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ends - now))
end
return {taken, used, ends, now}`;
const ADJUST = `
if tonumber(redis.call('HGET', KEYS[1], 'ends') or '0') ~= tonumber(ARGV[1]) then return 0 end
local used = tonumber(redis.call('HGET', KEYS[1], 'used')) + tonumber(ARGV[2])
redis.call('HSET', KEYS[1], 'used', string.format('%.0f', math.max(0, used)))
return 1`;

function countersOn(client: Redis, name: string, durationMs: number): Counters {
  const storedKey = (key: string): string => `reelgate:budget:${name}:${key}`;
  return {
    async take(key, points, max) {
      const row = (await client.eval(TAKE, 1, storedKey(key), points, max, durationMs)) as number[];
      const [taken = 0, used = 0, endsAt = 0, now = 0] = row;
      return { taken: taken === 1, used, endsAt, endsInMs: endsAt - now };
    },
    async adjust(key, endsAt, points) {
      await client.eval(ADJUST, 1, storedKey(key), endsAt, points);
    },
    async remove(key) {
      await client.del(storedKey(key));
    },
  };
}

/** Removes the slots of dead processes by the store's clock, and adds one if fewer than the maximum remain. */
const ACQUIRE = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`;
/** Renews only existing slots: a lost slot may belong to another process by now. */
const RENEW = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZADD', KEYS[1], 'XX', now + tonumber(ARGV[2]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`;

/** Slots as members of one sorted set per key, ordered by expiry. */
function valkeySlots(client: Redis, name: string): SlotStore {
  const storedKey = (key: string): string => `reelgate:slots:${name}:${key}`;
  return {
    async acquire({ key, holder }, max, ttlMs) {
      return (await client.eval(ACQUIRE, 1, storedKey(key), holder, max, ttlMs)) === 1;
    },
    async renew(slots, ttlMs) {
      await Promise.all(slots.map(({ key, holder }) => client.eval(RENEW, 1, storedKey(key), holder, ttlMs)));
    },
    async release({ key, holder }) {
      await client.zrem(storedKey(key), holder);
    },
  };
}
