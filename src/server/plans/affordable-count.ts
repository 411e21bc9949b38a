/** What can be spent on calls of one price. Amounts in quota. */
export interface Funds {
  readonly balance: number;
  /** What allowances offer, each as long as it lasts: the first now, the others when they begin. */
  readonly allowances: readonly number[];
  /** What the key's own limit leaves; undefined: no limit. */
  readonly keyLeft: number | undefined;
}

/**
 * How many works of a price can be paid. An allowance pays as far as it reaches and the wallet the rest of one work, so the wallet is
 * spent where it completes the most.
 *
 * @returns undefined: any number, as they cost nothing
 */
export function affordableCount(price: number, { balance, allowances, keyLeft }: Funds): number | undefined {
  if (price === 0) return undefined;
  let count = 0;
  const missing: number[] = [];
  for (const amount of allowances) {
    count += Math.floor(amount / price);
    if (amount % price > 0) missing.push(price - (amount % price));
  }
  let left = balance;
  for (const each of missing.sort((a, b) => a - b)) {
    if (each > left) break;
    left -= each;
    count++;
  }
  count += Math.floor(left / price);
  return keyLeft === undefined ? count : Math.min(count, Math.floor(Math.max(0, keyLeft) / price));
}

interface Span {
  readonly endsAt: number;
  readonly limit: number;
  readonly used: number;
}

/** More than this many intervals of one day are taken for this many. */
const MAX_SPANS = 1_440;

/**
 * What the allowance offers until a time, by interval: what is left of the running one, then the whole of each that begins
 * before, as far as the weeks leave it.
 *
 * @param lengths of the interval and of the week, in milliseconds
 */
export function allowancesUntil(
  until: number,
  main: Span,
  week: Span | undefined,
  lengths: { readonly main: number; readonly week: number },
): number[] {
  const offered: number[] = [];
  let weekLeft = week === undefined ? Number.POSITIVE_INFINITY : Math.max(0, week.limit - week.used);
  let weekEndsAt = week?.endsAt ?? Number.POSITIVE_INFINITY;
  let left = Math.max(0, main.limit - main.used);
  for (let beginsAt = 0, endsAt = main.endsAt; beginsAt < until && offered.length < MAX_SPANS; endsAt += lengths.main) {
    while (week !== undefined && beginsAt >= weekEndsAt) {
      weekLeft = week.limit;
      weekEndsAt += lengths.week;
    }
    const amount = Math.min(left, weekLeft);
    offered.push(amount);
    weekLeft -= amount;
    beginsAt = endsAt;
    left = main.limit;
  }
  return offered;
}
