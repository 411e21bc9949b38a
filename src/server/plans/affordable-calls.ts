import { leftOf } from '../../contract/amounts.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { SpendLimitState, SpendSubject } from '../quota/spend-limits.ts';
import type { PlanAllowances, WindowUsage } from './allowances.ts';
import { grantsAllowance } from './plan-store.ts';

interface AffordableCallCountsDependencies {
  readonly allowances: Pick<PlanAllowances, 'currentUsage'>;
  readonly ledger: Pick<Ledger, 'wallet' | 'tokenLimits' | 'spendLimits'>;
  readonly findTimeZone: (userId: number) => Promise<string>;
}

/** The funds of an account for calls of one price. Times are Unix milliseconds; an undefined count means unlimited. */
interface AffordableCalls {
  readonly balance: number;
  readonly keyLeft: number | undefined;
  /** Of the account and of the key. */
  readonly spendLimits: readonly (SpendLimitState & { readonly of: 'account' | 'key' })[];
  readonly fromAllowance: number;
  readonly windows: readonly (Pick<WindowUsage, 'kind' | 'limit' | 'endsAt'> & {
    readonly left: number;
    readonly howMany: number | undefined;
  })[];
  readonly now: number | undefined;
  readonly today: number | undefined;
}

/** Computes how many calls the remaining funds of an account cover. Read-only. */
export class AffordableCallCounts {
  readonly #dependencies: AffordableCallCountsDependencies;
  constructor(dependencies: AffordableCallCountsDependencies) {
    this.#dependencies = dependencies;
  }

  async of(
    caller: { readonly userId: number; readonly tokenId?: number; readonly actorId?: number },
    price: number,
  ): Promise<AffordableCalls> {
    const { allowances, ledger, findTimeZone } = this.#dependencies;
    const { userId, tokenId, actorId } = caller;
    const subjects: SpendSubject[] = [{ kind: 'account', id: userId }];
    if (tokenId !== undefined) subjects.push({ kind: 'token', id: tokenId });
    if (actorId !== undefined) subjects.push({ kind: 'member', id: actorId, organizationId: userId });
    const [usage, wallet, limits, spending] = await Promise.all([
      findTimeZone(userId).then((zone) => allowances.currentUsage(userId, zone)),
      ledger.wallet(userId),
      ledger.tokenLimits(tokenId === undefined ? [] : [tokenId]),
      ledger.spendLimits(subjects),
    ]);
    const limit = tokenId === undefined ? undefined : limits.get(tokenId);
    const keyLeft = limit && Math.max(0, limit.limit - limit.used);
    const { plan } = usage.current;
    const windows = grantsAllowance(plan) ? usage.windows : [];
    const [main, ...caps] = windows;
    const spendLimits = [...spending].map(([subject, state]) => ({
      ...state,
      of: subject.startsWith('token:') ? ('key' as const) : ('account' as const),
    }));
    const ceiling = Math.min(keyLeft ?? Infinity, ...spendLimits.map(leftOf));
    const { balance } = wallet;
    const left = windows.map((window) => Math.max(0, window.limit - window.used));
    const available = left.length === 0 ? 0 : Math.min(...left);
    const mainMs = plan.refresh_interval_seconds * 1_000;
    // Without an interval, the main window is the day itself and does not restart before its end.
    const today =
      main === undefined || mainMs === 0 ? [available] : allowancesUntil(usage.day.endsAt, main, caps, mainMs);
    return {
      balance,
      keyLeft,
      spendLimits,
      fromAllowance: Math.min(price, available),
      windows: windows.map(({ kind, limit: most, endsAt }, index) => ({
        kind,
        limit: most,
        endsAt,
        left: left[index] ?? 0,
        howMany: price === 0 ? undefined : Math.floor((left[index] ?? 0) / price),
      })),
      now: affordableCount(price, { balance, allowances: [available], ceiling }),
      today: affordableCount(price, { balance, allowances: today, ceiling }),
    };
  }
}

/** Funds available for calls of one price, in quota. */
interface Funds {
  readonly balance: number;
  /** Each allowance within its validity: the first is available now, the others when they start. */
  readonly allowances: readonly number[];
  /** What limits of the key and the account leave; Infinity: unlimited. */
  readonly ceiling: number;
}

/**
 * The number of calls of a price that can be paid. An allowance pays as far as it reaches and the wallet the rest of
 * that call, so the wallet is spent where it completes the most calls.
 * @returns undefined: unlimited, because the calls are free
 */
export function affordableCount(price: number, { balance, allowances, ceiling }: Funds): number | undefined {
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
  return Math.min(count, Math.floor(Math.max(0, ceiling) / price));
}

interface Span {
  readonly startsAt: number;
  readonly endsAt: number;
  readonly limit: number;
  readonly used: number;
}

/** Cap on the intervals counted in one day. */
const MAX_SPANS = 1_440;

/**
 * The allowances available until a time, by interval: the remainder of the current one, then the full amount of each
 * that starts before that time, within weekly and monthly caps.
 * @param lengthMs of an interval
 */
export function allowancesUntil(
  until: number,
  main: Omit<Span, 'startsAt'>,
  caps: readonly Span[],
  lengthMs: number,
): number[] {
  const offered: number[] = [];
  const open = caps.map((cap) => ({ ...cap, left: Math.max(0, cap.limit - cap.used) }));
  let left = Math.max(0, main.limit - main.used);
  for (let beginsAt = 0, endsAt = main.endsAt; beginsAt < until && offered.length < MAX_SPANS; endsAt += lengthMs) {
    for (const cap of open)
      while (beginsAt >= cap.endsAt) {
        const { startsAt, endsAt: end } = cap;
        Object.assign(cap, { left: cap.limit, startsAt: end, endsAt: end + (end - startsAt) });
      }
    const amount = Math.min(left, ...open.map((cap) => cap.left));
    offered.push(amount);
    for (const cap of open) cap.left -= amount;
    beginsAt = endsAt;
    left = main.limit;
  }
  return offered;
}
