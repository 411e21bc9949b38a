/** Converts stored Unix milliseconds to the whole seconds of the contract. */
export const toSeconds = (unixMs: number): number => Math.floor(unixMs / 1000);

/** A day of 24 hours, in milliseconds. */
export const DAY_MS = 86_400_000;

/** An hour, in milliseconds. */
export const HOUR_MS = 3_600_000;

/** A day of 24 hours, in seconds. */
export const DAY_SECONDS = DAY_MS / 1000;
