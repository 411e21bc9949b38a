/** Unix milliseconds. */
export interface SandboxClock {
  now(): number;
}

/** A clock that moves only when it is advanced, so that a test decides when a job is done. */
export interface ManualClock extends SandboxClock {
  advance(ms: number): void;
}

export const systemClock: SandboxClock = { now: () => Date.now() };

/** @param startMs Unix milliseconds the clock begins at; the present by default, so that token lifetimes make sense. */
export function manualClock(startMs: number = Date.now()): ManualClock {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    advance(ms) {
      nowMs += ms;
    },
  };
}
