import { setFlagsFromString } from 'node:v8';

/** By how many percent the heap may grow between two full collections. `bin/server.js` starts with it, before anything is loaded. */
export const HEAP_GROWTH_PERCENT = 60;
/** Of a heap of 30 MB: the bytes of two accounts' pictures, and what is copied of them on their way. */
const PERCENT_WITH_LARGE_BODIES = 300;
const LARGE_BODIES_MS = 10_000;

let timer: NodeJS.Timeout | undefined;

const setPercent = (percent: number): void => setFlagsFromString(`--heap-growing-percent=${percent}`);

/**
 * Lets the heap grow further, for as long as it is called every ten seconds, as bodies of many megabytes come. The engine counts them as growth
 * though they are given back as soon as they were used: every second picture made it look through all that lives, for a third of the CPU a
 * picture takes. A limit once set holds until everything is collected the next time.
 */
export function allowGrowthForLargeBodies(): void {
  if (timer !== undefined) {
    timer.refresh();
    return;
  }
  setPercent(PERCENT_WITH_LARGE_BODIES);
  timer = setTimeout(() => {
    timer = undefined;
    setPercent(HEAP_GROWTH_PERCENT);
  }, LARGE_BODIES_MS).unref();
}
