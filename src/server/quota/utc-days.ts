import { DAY_MS } from '../../contract/time-units.ts';

/** Days since 1970-01-01 UTC. */
export const dayOf = (unixMs: number): number => Math.floor(unixMs / DAY_MS);

/** The date of such a day, as `2026-11-22`. */
export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 'yyyy-mm-dd'.length);
