import { LRUCache } from 'lru-cache';
import { POLL_INTERVAL_SECONDS } from '../../contract/device-auth.ts';

const CODES_REMEMBERED = 50_000;
const JITTER_MS = 1_000;
const FLOOD_WINDOW_MS = 10_000;
const FLOOD_POLLS = 60;

export interface Pace {
  /** Seconds until the next poll is due, where this one came early. */
  readonly retryAfterSeconds: number | undefined;
  /** More than any client has a reason for. */
  readonly flooding: boolean;
}

/**
 * How fast pending codes are polled on the JSON face, which only advises: kept in this process, since a write per poll
 * would cost more than an impatient client does. A poll that ends in anything but `pending` never comes here.
 */
export function makePollPace(): { note(code: string, now: number): Pace } {
  // Bounded by size and not by `max`, which would set aside room for all of them at once.
  const seen = new LRUCache<string, { last: number; windowStart: number; polls: number }>({
    maxSize: CODES_REMEMBERED,
    sizeCalculation: () => 1,
  });
  return {
    note(code, now) {
      const known = seen.get(code);
      if (known === undefined) {
        seen.set(code, { last: now, windowStart: now, polls: 1 });
        return { retryAfterSeconds: undefined, flooding: false };
      }
      if (now - known.windowStart >= FLOOD_WINDOW_MS) {
        known.windowStart = now;
        known.polls = 0;
      }
      known.polls += 1;
      const dueInMs = known.last + POLL_INTERVAL_SECONDS * 1000 - now;
      const early = dueInMs > JITTER_MS;
      known.last = now;
      return {
        retryAfterSeconds: early ? POLL_INTERVAL_SECONDS : undefined,
        flooding: known.polls > FLOOD_POLLS,
      };
    },
  };
}
