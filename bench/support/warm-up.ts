/** Two consecutive windows that differ by at most this share count as warm. */
const AGREEMENT = 0.03;
const MAX_WINDOWS = 20;

/**
 * Runs windows of load until two consecutive ones agree: code is optimized for up to 25 s on a slow machine, and
 * earlier figures measure the optimizer.
 *
 * @param window one window of load; resolves to its CPU time per request
 * @returns the number of windows run
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
