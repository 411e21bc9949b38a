import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
/** A span in which an allowance is counted; the next one starts at 0 again. Unix milliseconds, end exclusive. */
export interface TimeSpan {
  readonly startsAt: number;
  readonly endsAt: number;
}

export type WindowKind = 'day' | 'interval' | 'week';

export interface Window extends TimeSpan {
  readonly kind: WindowKind;
  /** Quota. */
  readonly limit: number;
}

/** The fields of a plan that define its windows. Amounts in quota. */
export interface PlanLimits {
  readonly daily_quota: number;
  readonly refresh_interval_seconds: number;
  readonly interval_quota: number;
  readonly weekly_quota_limit: number;
}

/** Where the days of an account begin. */
export interface DayRule {
  /** IANA name. */
  readonly zone: string;
  /**
   * After a change of zone, the start of the day that was running: that day is extended to the first midnight of the new
   * zone at least 24 h later, so that switching between zones gives no second allowance. 0: none.
   */
  readonly extendedDayStart: number;
}

const WEEK_MS = 7 * DAY_MS;

const zoned = (unixMs: number, zone: string) => Temporal.Instant.fromEpochMilliseconds(unixMs).toZonedDateTimeISO(zone);

/** The calendar day of a zone: 23 or 25 h long when clocks change, and beginning at 1 o'clock where they skip midnight. */
function naturalDay(unixMs: number, zone: string): TimeSpan {
  const now = zoned(unixMs, zone);
  const next = now.toPlainDate().add({ days: 1 }).toZonedDateTime(zone);
  return { startsAt: now.startOfDay().epochMilliseconds, endsAt: next.epochMilliseconds };
}

/** The first start of a day at or after a time. */
function nextDayStart(unixMs: number, zone: string): number {
  const { startsAt, endsAt } = naturalDay(unixMs, zone);
  return startsAt === unixMs ? startsAt : endsAt;
}

export function dayAt(unixMs: number, { zone, extendedDayStart }: DayRule): TimeSpan {
  const heldUntil = extendedDayStart === 0 ? 0 : nextDayStart(extendedDayStart + DAY_MS, zone);
  return unixMs < heldUntil && unixMs >= extendedDayStart
    ? { startsAt: extendedDayStart, endsAt: heldUntil }
    : naturalDay(unixMs, zone);
}

/** The rule after a change of zone; the running day is extended. The same object when nothing changes. */
export const changeTimeZone = (rule: DayRule, zone: string, unixMs: number): DayRule =>
  rule.zone === zone ? rule : { zone, extendedDayStart: dayAt(unixMs, rule).startsAt };

/** The span of a fixed length, counted from `from`, that contains a time. */
export function fixedSpanAt(unixMs: number, from: number, lengthMs: number): TimeSpan {
  const startsAt = from + Math.floor((unixMs - from) / lengthMs) * lengthMs;
  return { startsAt, endsAt: startsAt + lengthMs };
}

/** How long a plan is held. Unix milliseconds. */
export interface PlanTerm {
  readonly activatedAt: number;
  /** Infinity: without an end. */
  readonly expiresAt: number;
}

/** The day an allowance is counted in. The first begins with the plan; a card of one day has one, though midnight lies within. */
function planDayAt(unixMs: number, { activatedAt, expiresAt }: PlanTerm, rule: DayRule): TimeSpan {
  const isDayCard = expiresAt - activatedAt <= DAY_MS;
  if (isDayCard) return { startsAt: activatedAt, endsAt: expiresAt };
  const { startsAt, endsAt } = dayAt(unixMs, rule);
  return { startsAt: Math.max(startsAt, activatedAt), endsAt };
}

/** The windows that contain a time; an amount must fit into each of them. */
export function windowsAt(unixMs: number, limits: PlanLimits, term: PlanTerm, rule: DayRule): readonly Window[] {
  const { activatedAt } = term;
  const { refresh_interval_seconds: interval, weekly_quota_limit: weekly } = limits;
  const main: Window =
    interval > 0
      ? { kind: 'interval', limit: limits.interval_quota, ...fixedSpanAt(unixMs, activatedAt, interval * 1000) }
      : { kind: 'day', limit: limits.daily_quota, ...planDayAt(unixMs, term, rule) };
  return weekly > 0 ? [main, { kind: 'week', limit: weekly, ...fixedSpanAt(unixMs, activatedAt, WEEK_MS) }] : [main];
}

export interface UsagePace {
  /** Quota. */
  readonly usedPerHour: number;
  /** Unix milliseconds; 0: not before the window ends. */
  readonly runsOutAt: number;
}

/** How fast a window is used, judged by its use since it began. */
export function usagePace(window: Window, used: number, unixMs: number): UsagePace {
  // In the first minute a single call would be extrapolated to a very high pace.
  const elapsed = Math.max(60_000, unixMs - window.startsAt);
  const perMs = used / elapsed;
  const left = Math.max(0, window.limit - used);
  const runsOutAt = left === 0 ? unixMs : perMs === 0 ? Number.POSITIVE_INFINITY : unixMs + left / perMs;
  return {
    usedPerHour: Math.round(perMs * HOUR_MS),
    runsOutAt: window.limit > 0 && runsOutAt < window.endsAt ? Math.floor(runsOutAt) : 0,
  };
}
