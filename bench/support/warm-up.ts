/** Two windows that differ by no more are taken as warm. */
const AGREEMENT = 0.03;
const MAX_WINDOWS = 20;

/**
 * Runs windows of load until two in a row agree: code is optimized for as long as 25 s on a slow machine, and what is measured
 * before that says how fast the optimizer is.
 *
 * @param window one window of load; resolves to its CPU time per request
 * @returns how many windows it took
 */
export async function warmUp(window: () => Promise<number>): Promise<number> {
  let last = Number.NaN;
  for (let count = 1; count <= MAX_WINDOWS; count++) {
    const value = await window();
    if (Math.abs(value / last - 1) <= AGREEMENT) return count;
    last = value;
  }
  return MAX_WINDOWS;
}
