/** The last second of a day of this place's calendar, in Unix seconds; null where none is named. @param day `2026-11-30` */
export function toEndOfDay(day: string): number | null {
  const at = new Date(`${day}T23:59:59`).getTime();
  return Number.isFinite(at) ? Math.floor(at / 1000) : null;
}

/** Unix seconds → `2026-11-30`, as date fields want it; empty for 0. */
export const toDayField = (seconds: number): string =>
  seconds === 0 ? '' : new Date(seconds * 1000).toLocaleDateString('sv-SE');
