import { LRUCache } from 'lru-cache';
import { POLL_INTERVAL_SECONDS } from '../../contract/device-auth.ts';
import { upToEntries } from '../platform/cache.ts';

const MAX_CODES = 50_000;
const JITTER_MS = 1_000;
const FLOOD_WINDOW_MS = 10_000;
const FLOOD_POLLS = 60;

export interface PollRate {
  /** Seconds until the next poll is due, where this one came early. */
  readonly retryAfterSeconds: number | undefined;
  /** More polls than any client has a reason for. */
  readonly isFlooding: boolean;
}

/**
 * Poll rate of pending codes on the JSON endpoints, which only recommend an interval: kept in memory, because a write for each
 * poll would cost more than polling too often does. Only polls that result in `authorization_pending` are counted.
 */
export class PollRateTracker {
  // Bounded by size and not by `max`, which would allocate room for all of them at once.
  readonly #pollsByCode = new LRUCache<string, { last: number; windowStart: number; polls: number }>(
    upToEntries(MAX_CODES),
  );

  record(code: string, now: number): PollRate {
    const known = this.#pollsByCode.get(code);
    if (known === undefined) {
      this.#pollsByCode.set(code, { last: now, windowStart: now, polls: 1 });
      return { retryAfterSeconds: undefined, isFlooding: false };
    }
    if (now - known.windowStart >= FLOOD_WINDOW_MS) {
      known.windowStart = now;
      known.polls = 0;
    }
    known.polls += 1;
    const dueInMs = known.last + POLL_INTERVAL_SECONDS * 1000 - now;
    known.last = now;
    return {
      retryAfterSeconds: dueInMs > JITTER_MS ? POLL_INTERVAL_SECONDS : undefined,
      isFlooding: known.polls > FLOOD_POLLS,
    };
  }
}
