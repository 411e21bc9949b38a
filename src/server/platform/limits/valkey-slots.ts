import type { Redis } from 'ioredis';
import type { SlotStore } from './concurrency-slots.ts';

/** Removes slots whose process has died, by the store's own clock, and adds one where fewer than the maximum are left. */
const ACQUIRE = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`;
/** Only what is still there: a slot that was lost meanwhile may be another's by now. */
const RENEW = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZADD', KEYS[1], 'XX', now + tonumber(ARGV[2]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`;

/** Slots as the members of one sorted set for each key, ordered by expiry. */
export function valkeySlots(client: Redis, name: string): SlotStore {
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
