import { DAY_MS } from '../../contract/time-units.ts';
import type { Ledger } from '../quota/ledger.ts';
import { affordableCount, allowancesUntil } from './affordable-count.ts';
import { grantsAllowance } from './plan-models-price-factor-and-channels.ts';
import type { PlanAllowances, WindowUsage } from './spend-plan-allowances.ts';

export interface AffordableCallCountsDependencies {
  readonly allowances: Pick<PlanAllowances, 'currentUsage'>;
  readonly ledger: Pick<Ledger, 'wallet' | 'tokenLimits'>;
  readonly findTimeZone: (userId: number) => Promise<string>;
}

/** What an account can spend on calls of one price. Times are Unix milliseconds; undefined counts: any number. */
export interface AffordableCalls {
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

  async of(
    caller: { readonly userId: number; readonly tokenId?: number | undefined },
    price: number,
  ): Promise<AffordableCalls> {
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
