/** What a month will cost at the pace so far. @param month of UTC, such as `2026-11` */
export function forecast(spent: number, month: string, nowMs: number): number {
  const [year = 0, number = 1] = month.split('-').map(Number);
  const begin = Date.UTC(year, number - 1, 1);
  const end = Date.UTC(year, number, 1);
  // In the first hours nothing can be said.
  const passed = Math.max(0.02, Math.min(1, (nowMs - begin) / (end - begin)));
  return Math.round(spent / passed);
}
