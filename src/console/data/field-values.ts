/** The last second of a day in the local time zone, in Unix seconds; null if no day is given. @param day `2026-11-30` */
export function toEndOfDay(day: string): number | null {
  const timeMs = new Date(`${day}T23:59:59`).getTime();
  return Number.isFinite(timeMs) ? Math.floor(timeMs / 1000) : null;
}

/** Unix seconds → `2026-11-30`, as date fields want it; empty for 0. */
export const formatDateField = (seconds: number): string =>
  seconds === 0 ? '' : new Date(seconds * 1000).toLocaleDateString('sv-SE');

const DEFAULT_QUOTA_PER_CREDIT = 500_000;

/** Credits as entered in a form → quota. */
export const creditsToQuota = (credits: number, perUnit: number = DEFAULT_QUOTA_PER_CREDIT): number =>
  Math.round(credits * perUnit);

/** What a `NumberInput` holds; undefined where it is empty. */
export const readNumberInput = (value: number | string): number | undefined =>
  value === '' ? undefined : Number(value);
