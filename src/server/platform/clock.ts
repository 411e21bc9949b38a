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

/**
 * Whether this is an IANA name of a time zone. Accepts names only: offsets such as +02:00 have no daylight saving time.
 * `Intl` also knows abbreviations such as CST and PST, with which `Temporal` cannot calculate.
 */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    new Temporal.ZonedDateTime(0n, name);
    return true;
  } catch {
    return false;
  }
}

/** A time in a zone. A stored name that is none, or none any more, counts as UTC instead of failing every use. */
export function zonedTime(unixMs: number, zone: string): Temporal.ZonedDateTime {
  const instant = Temporal.Instant.fromEpochMilliseconds(unixMs);
  try {
    return instant.toZonedDateTimeISO(zone);
  } catch {
    return instant.toZonedDateTimeISO('UTC');
  }
}
