/** When an account wants its notifications by mail. Times of day are minutes after midnight in its time zone. */
export interface MailSchedule {
  /** Null: each soon after it was written. */
  readonly digestAt: number | null;
  /** No mail between them, over midnight where the end is the smaller; null: none. Both null or neither. */
  readonly quietFrom: number | null;
  readonly quietTo: number | null;
}

/** So that what happens together arrives in one mail. */
export const COLLECT_MS = 60_000;

/**
 * When the mail of a notification is sent: at once where it is urgent, else with the next digest, else a minute later or at the
 * end of the quiet hours.
 *
 * @param now Unix milliseconds
 * @param zone IANA name
 */
export function mailTime(now: number, { digestAt, quietFrom, quietTo }: MailSchedule, zone: string): number {
  if (digestAt !== null) return nextTimeOfDay(now, digestAt, zone);
  const at = now + COLLECT_MS;
  if (quietFrom === null || quietTo === null || !isWithin(minuteOfDay(at, zone), quietFrom, quietTo)) return at;
  return nextTimeOfDay(at, quietTo, zone);
}

const zoned = (unixMs: number, zone: string) => Temporal.Instant.fromEpochMilliseconds(unixMs).toZonedDateTimeISO(zone);

function minuteOfDay(unixMs: number, zone: string): number {
  const { hour, minute } = zoned(unixMs, zone);
  return hour * 60 + minute;
}

const isWithin = (minute: number, from: number, to: number): boolean =>
  from <= to ? from <= minute && minute < to : from <= minute || minute < to;

/** The first such time of day after `unixMs`. A time that a change of clocks skips is the one as much later. */
function nextTimeOfDay(unixMs: number, minutes: number, zone: string): number {
  const today = zoned(unixMs, zone).toPlainDate();
  const time = new Temporal.PlainTime(Math.floor(minutes / 60), minutes % 60);
  for (let days = 0; ; days += 1) {
    const at = today.add({ days }).toZonedDateTime({ timeZone: zone, plainTime: time }).epochMilliseconds;
    if (at > unixMs) return at;
  }
}

/** `07:30` as minutes after midnight. */
export function parseTimeOfDay(text: string): number {
  const [hours = '', minutes = ''] = text.split(':');
  return Number(hours) * 60 + Number(minutes);
}

export const formatTimeOfDay = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
