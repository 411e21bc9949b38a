import type { Clock } from '../src/server/platform/clock.ts';

const START = Date.UTC(2026, 10, 18, 12);

/** A running clock that started at noon in the middle of a week and a month, so that no day, week or month begins. */
export const middayClock: Clock = { now: () => START + Math.floor(performance.now()) };
