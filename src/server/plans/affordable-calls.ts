import { DAY_MS } from '../../contract/time-units.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { PlanAllowances, WindowUsage } from './allowances.ts';
import { grantsAllowance } from './catalog.ts';

interface AffordableCallCountsDependencies {
  readonly allowances: Pick<PlanAllowances, 'currentUsage'>;
  readonly ledger: Pick<Ledger, 'wallet' | 'tokenLimits'>;
  readonly findTimeZone: (userId: number) => Promise<string>;
}

/** What an account can spend on calls of one price. Times are Unix milliseconds; undefined counts: any number. */
interface AffordableCalls {
  readonly balance: number;
  readonly keyLeft: number | undefined;
  readonly fromAllowance: number;
  readonly windows: readonly (Pick<WindowUsage, 'kind' | 'limit' | 'endsAt'> & {
    readonly left: number;
    readonly howMany: number | undefined;
  })[];
  readonly now: number | undefined;
  readonly today: number | undefined;
}

const WEEK_MS = 7 * DAY_MS;

/** Reads what an account has left and computes what that is enough for. Changes nothing. */
export class AffordableCallCounts {
  readonly #dependencies: AffordableCallCountsDependencies;
  constructor(dependencies: AffordableCallCountsDependencies) {
    this.#dependencies = dependencies;
  }

  async of(caller: { readonly userId: number; readonly tokenId?: number }, price: number): Promise<AffordableCalls> {
    const { allowances, ledger, findTimeZone } = this.#dependencies;
    const { userId, tokenId } = caller;
    const [usage, wallet, limits] = await Promise.all([
      findTimeZone(userId).then((zone) => allowances.currentUsage(userId, zone)),
      ledger.wallet(userId),
      ledger.tokenLimits(tokenId === undefined ? [] : [tokenId]),
    ]);
    const limit = tokenId === undefined ? undefined : limits.get(tokenId);
    const keyLeft = limit && Math.max(0, limit.limit - limit.used);
    const { plan } = usage.current;
    const windows = grantsAllowance(plan) ? usage.windows : [];
    const [main, week] = windows;
    const { balance } = wallet;
    const left = windows.map((window) => Math.max(0, window.limit - window.used));
    const available = left.length === 0 ? 0 : Math.min(...left);
    const mainMs = plan.refresh_interval_seconds * 1_000;
    // Without an interval the main window is the day itself and does not begin anew before its end.
    const today =
      main === undefined || mainMs === 0
        ? [available]
        : allowancesUntil(usage.day.endsAt, main, week, { main: mainMs, week: WEEK_MS });
    return {
      balance,
      keyLeft,
      fromAllowance: Math.min(price, available),
      windows: windows.map(({ kind, limit: most, endsAt }, index) => ({
        kind,
        limit: most,
        endsAt,
        left: left[index] ?? 0,
        howMany: price === 0 ? undefined : Math.floor((left[index] ?? 0) / price),
      })),
      now: affordableCount(price, { balance, allowances: [available], keyLeft }),
      today: affordableCount(price, { balance, allowances: today, keyLeft }),
    };
  }
}

/** What can be spent on calls of one price. Amounts in quota. */
interface Funds {
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
