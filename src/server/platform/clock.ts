/** The time of day as the service sees it. Whoever compares times takes one, so that tests can move it. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** A clock that stands still until it is moved. */
export interface HandClock extends Clock {
  advance(milliseconds: number): void;
}

/** @param startMs Unix milliseconds to begin at; default the present */
export function handClock(startMs = Date.now()): HandClock {
  let now = startMs;
  return {
    now: () => now,
    advance(milliseconds) {
      now += milliseconds;
    },
  };
}
