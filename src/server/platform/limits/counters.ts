import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';

/** What was used of one key in its current window. */
export interface Count {
  readonly used: number;
  /** Milliseconds until the window ends and `used` is 0 again. */
  readonly endsInMs: number;
}

/** Where the figures of one limit are kept. A key's window begins with its first use and is never prolonged. */
export interface Counters {
  /** Adds and answers the new count in one step, so that two callers never see the same one. */
  add(key: string, points: number): Promise<Count>;
  read(key: string): Promise<Count>;
  remove(key: string): Promise<void>;
}

export const UNUSED: Count = { used: 0, endsInMs: 0 };

/** Keys remembered for one limit; the least recently used go first, so that a flood of addresses cannot fill the memory. */
const MAX_KEYS = 100_000;

/** For one process. */
export function memoryCounters(durationMs: number, clock: Clock): Counters {
  // Bounded by size and not by `max`, which would set aside room for all keys at once: megabytes for every limit.
  const windows = new LRUCache<string, { used: number; readonly endsAt: number }>({
    maxSize: MAX_KEYS,
    sizeCalculation: () => 1,
  });
  const current = (key: string) => {
    const window = windows.get(key);
    return window !== undefined && window.endsAt > clock.now() ? window : undefined;
  };
  const toCount = (window: { used: number; endsAt: number }): Count => ({
    used: window.used,
    endsInMs: window.endsAt - clock.now(),
  });
  return {
    async add(key, points) {
      const window = current(key) ?? { used: 0, endsAt: clock.now() + durationMs };
      window.used = Math.max(0, window.used + points);
      windows.set(key, window);
      return toCount(window);
    },
    async read(key) {
      const window = current(key);
      return window === undefined ? UNUSED : toCount(window);
    },
    async remove(key) {
      windows.delete(key);
    },
  };
}
