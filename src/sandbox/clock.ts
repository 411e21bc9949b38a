/** Unix milliseconds. */
export interface SandboxClock {
  now(): number;
}

/** A clock that stands still until it is moved, so that a test decides when a job is done. */
export interface HandClock extends SandboxClock {
  advance(ms: number): void;
}

export const realClock: SandboxClock = { now: () => Date.now() };

/** @param startMs Unix milliseconds the clock begins at; the present by default, so that token lifetimes make sense. */
export function handClock(startMs: number = Date.now()): HandClock {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    advance(ms) {
      nowMs += ms;
    },
  };
}
