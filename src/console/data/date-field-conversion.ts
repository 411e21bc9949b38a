/** The last second of a day in the local time zone, in Unix seconds; null if no day is given. @param day `2026-11-30` */
export function toEndOfDay(day: string): number | null {
  const timeMs = new Date(`${day}T23:59:59`).getTime();
  return Number.isFinite(timeMs) ? Math.floor(timeMs / 1000) : null;
}

/** Unix seconds → `2026-11-30`, as date fields want it; empty for 0. */
export const formatDateField = (seconds: number): string =>
  seconds === 0 ? '' : new Date(seconds * 1000).toLocaleDateString('sv-SE');
