import * as endpoints from '../../contract/usage.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { dayOf } from './amount-rules.ts';
import type { Ledger } from './ledger.ts';
import type { UsageStore } from './usage-store.ts';

export interface BillingDashboardDependencies {
  readonly ledger: Ledger;
  readonly usage: UsageStore;
  /** Quota of one unit of display currency. */
  readonly quotaPerUnit: number;
}

const LAST_DAY = 100_000;

/** What chat clients show as the balance of a key, in the form OpenAI's dashboard had. */
export function addBillingDashboardRoutes(
  routes: RouteRegistry,
  { ledger, usage, quotaPerUnit }: BillingDashboardDependencies,
): void {
  /** What a key may spend in all and has spent: its own limit counts, or the wallet where it has none. */
  const totals = async (userId: number, tokenId: number): Promise<{ limit: number; used: number }> => {
    const own = (await ledger.tokenLimits([tokenId])).get(tokenId);
    if (own !== undefined) return own;
    const { balance, used } = await ledger.wallet(userId);
    return { limit: balance + used, used };
  };

  routes.add(endpoints.getBillingSubscription, async ({ caller }) => {
    const { limit } = await totals(caller.userId, caller.tokenId);
    const units = limit / quotaPerUnit;
    return {
      object: 'billing_subscription' as const,
      has_payment_method: true,
      soft_limit_usd: units,
      hard_limit_usd: units,
      system_hard_limit_usd: units,
      access_until: 0,
    };
  });

  routes.add(endpoints.getBillingUsage, async ({ caller, query }) => {
    const { userId, tokenId } = caller;
    const { start_date: start, end_date: end } = query;
    let { used } = await totals(userId, tokenId);
    if (start !== undefined || end !== undefined) {
      const range = { fromDay: toDay(start, 0), toDay: toDay(end, LAST_DAY) };
      const isLimited = (await ledger.tokenLimits([tokenId])).has(tokenId);
      const [sum] = await usage.usage({ ...range, userId, tokenId: isLimited ? tokenId : undefined }, []);
      used = sum?.quota ?? 0;
    }
    return { object: 'list' as const, total_usage: (used / quotaPerUnit) * 100 };
  });
}

function toDay(date: string | undefined, fallback: number): number {
  const time = Date.parse(date ?? '');
  return Number.isNaN(time) ? fallback : dayOf(time);
}
