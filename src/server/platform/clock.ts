/**
 * The service's time of day. Code that compares times takes a clock as a dependency, so that tests can change the time.
 */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
}

/** The clock of the operating system. */
export const systemClock: Clock = { now: () => Date.now() };

/** A clock whose time changes only when set. */
export interface ManualClock extends Clock {
  advance(milliseconds: number): void;
}

/** @param startMs initial time in Unix milliseconds; default: the current time */
export function manualClock(startMs = Date.now()): ManualClock {
  let now = startMs;
  return {
    now: () => now,
    advance(milliseconds) {
      now += milliseconds;
    },
  };
}
