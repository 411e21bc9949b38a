/** When tasks are polled within a period: each at an offset of its own, which spreads any number of them evenly over it. */
export interface PollSpread {
  readonly periodMs: number;
  /** The offset of a task is its number times this, modulo the period. */
  readonly step: number;
}

const GOLDEN_SECTION = 0.618;

/**
 * The offsets of a period. Multiples of the golden section modulo 1 leave gaps of at most three sizes between them (three-gap theorem), so
 * that tasks with consecutive numbers, submitted at once, spread over the whole period; a step without a common divisor with the
 * period reaches every millisecond of it.
 */
export function pollSpread(periodMs: number): PollSpread {
  let step = Math.max(1, Math.round(periodMs * GOLDEN_SECTION));
  while (greatestCommonDivisor(step, periodMs) > 1) step += 1;
  return { periodMs, step };
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
