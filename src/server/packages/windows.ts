/** A span in which an allowance is counted; it begins anew with the next one. Unix milliseconds, end exclusive. */
export interface Span {
  readonly startsAt: number;
  readonly endsAt: number;
}

export type WindowKind = 'day' | 'interval' | 'week';

export interface Window extends Span {
  readonly kind: WindowKind;
  /** Quota. */
  readonly limit: number;
}

/** What of a card decides its windows. */
export interface Limits {
  readonly daily_quota: number;
  readonly refresh_interval_seconds: number;
  readonly interval_quota: number;
  readonly weekly_quota_limit: number;
}

/** In which zone an account's days are counted. */
export interface DayRule {
  /** IANA name. */
  readonly zone: string;
  /**
   * After a change of zone, the start of the day that was running: it goes on until a midnight of the new zone at least
   * 24 h later, so that moving around the world buys no second allowance. 0: none.
   */
  readonly heldFrom: number;
}

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;

const zoned = (unixMs: number, zone: string) => Temporal.Instant.fromEpochMilliseconds(unixMs).toZonedDateTimeISO(zone);

/** The natural day of a zone: 23 or 25 h long where clocks change, and beginning at 1 o'clock where they skip midnight. */
function naturalDay(unixMs: number, zone: string): Span {
  const now = zoned(unixMs, zone);
  const next = now.toPlainDate().add({ days: 1 }).toZonedDateTime(zone);
  return { startsAt: now.startOfDay().epochMilliseconds, endsAt: next.epochMilliseconds };
}

/** The first beginning of a day at or after a time. */
function nextDayStart(unixMs: number, zone: string): number {
  const { startsAt, endsAt } = naturalDay(unixMs, zone);
  return startsAt === unixMs ? startsAt : endsAt;
}

export function dayAt(unixMs: number, { zone, heldFrom }: DayRule): Span {
  const heldUntil = heldFrom === 0 ? 0 : nextDayStart(heldFrom + DAY_MS, zone);
  return unixMs < heldUntil && unixMs >= heldFrom
    ? { startsAt: heldFrom, endsAt: heldUntil }
    : naturalDay(unixMs, zone);
}

/** The rule after a move: the day that runs is held on to. */
export const moveDay = (rule: DayRule, zone: string, unixMs: number): DayRule =>
  rule.zone === zone ? rule : { zone, heldFrom: dayAt(unixMs, rule).startsAt };

/** The span of a fixed length, counted from a beginning, that a time lies in. */
export function spanAt(unixMs: number, from: number, lengthMs: number): Span {
  const startsAt = from + Math.floor((unixMs - from) / lengthMs) * lengthMs;
  return { startsAt, endsAt: startsAt + lengthMs };
}

/** The windows that count at a time; each of them must have room for what is taken. */
export function windowsAt(unixMs: number, limits: Limits, activatedAt: number, rule: DayRule): readonly Window[] {
  const { refresh_interval_seconds: interval, weekly_quota_limit: weekly } = limits;
  const main: Window =
    interval > 0
      ? { kind: 'interval', limit: limits.interval_quota, ...spanAt(unixMs, activatedAt, interval * 1000) }
      : { kind: 'day', limit: limits.daily_quota, ...dayAt(unixMs, rule) };
  return weekly > 0 ? [main, { kind: 'week', limit: weekly, ...spanAt(unixMs, activatedAt, WEEK_MS) }] : [main];
}

export interface Pace {
  /** Quota. */
  readonly usedPerHour: number;
  /** Unix milliseconds; 0: not before the window ends. */
  readonly runsOutAt: number;
}

/** How fast a window goes, judged by its use since it began. */
export function paceOf(window: Window, used: number, unixMs: number): Pace {
  // In the first minute one call would look like a rush.
  const elapsed = Math.max(60_000, unixMs - window.startsAt);
  const perMs = used / elapsed;
  const left = Math.max(0, window.limit - used);
  const runsOutAt = left === 0 ? unixMs : perMs === 0 ? Number.POSITIVE_INFINITY : unixMs + left / perMs;
  return {
    usedPerHour: Math.round(perMs * 3_600_000),
    runsOutAt: window.limit > 0 && runsOutAt < window.endsAt ? Math.floor(runsOutAt) : 0,
  };
}
