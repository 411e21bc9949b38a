import * as endpoints from '../../contract/ledger-and-usage.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { LedgerReportStore } from './ledger-entry-and-usage-report-store.ts';
import type { Ledger } from './reservation-and-ledger-types.ts';
import { dayOf } from './utc-days.ts';

export interface BillingDashboardDependencies {
  readonly ledger: Ledger;
  readonly usage: LedgerReportStore;
  /** Quota of one unit of display currency. */
  readonly quotaPerUnit: number;
  /** Name and end (Unix milliseconds) of a token. */
  readonly describeToken: (
    id: number,
  ) => Promise<{ readonly name: string; readonly expiresAt: number | null } | undefined>;
}

const LAST_DAY = 100_000;

/** What chat clients show as the balance of a key, in the form OpenAI's dashboard had. */
export function addBillingDashboardRoutes(
  routes: RouteRegistry,
  { ledger, usage, quotaPerUnit, describeToken }: BillingDashboardDependencies,
): void {
  /** What a key may spend in all and has spent: its own limit counts, or the wallet where it has none. */
  const totals = async (userId: number, tokenId: number): Promise<{ limit: number; used: number }> => {
    const own = (await ledger.tokenLimits([tokenId])).get(tokenId);
    if (own !== undefined) return own;
    const { balance, used } = await ledger.wallet(userId);
    return { limit: balance + used, used };
  };

  for (const endpoint of [endpoints.getTokenUsage, endpoints.getTokenUsageWithSlash])
    routes.add(endpoint, async ({ caller: { userId, tokenId, models } }) => {
      const { limit, used } = await totals(userId, tokenId);
      const token = await describeToken(tokenId);
      return {
        code: true,
        message: 'ok',
        data: {
          object: 'token_usage' as const,
          name: token?.name ?? '',
          total_granted: limit,
          total_used: used,
          total_available: Math.max(0, limit - used),
          unlimited_quota: !(await ledger.tokenLimits([tokenId])).has(tokenId),
          model_limits: Object.fromEntries(models.map((model) => [model, true])),
          model_limits_enabled: models.length > 0,
          expires_at: toSeconds(token?.expiresAt ?? 0),
        },
      };
    });

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
