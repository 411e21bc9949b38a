import type { Static } from 'typebox';
import * as endpoints from '../../contract/ledger.ts';
import { defined } from '../../contract/objects.ts';
import { longList, ok, toLongPage } from '../../contract/responses.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { Authorship, FindAuthors } from '../accounts/memberships.ts';
import type { Clock } from '../platform/clock.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { dateOf, dayOf, type Ledger } from './ledger.ts';
import type { LedgerAuditService } from './ledger-audit.ts';
import type { LedgerEntry, LedgerReportStore, UsageColumn, UsageFilter, UsageRow } from './ledger-reports.ts';

/** Translates between the two ids of a video: the internal one, which the ledger refers to, and the public one. */
export interface TaskIdLookup {
  /** The internal id for a public id; undefined when there is no such task. */
  internalIdOf(publicId: string): Promise<string | undefined>;
  /** Public ids by internal id; ids that are identical may be omitted. */
  publicIds(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Starts of the prompts by internal id. */
  prompts(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** Dependencies of the quota endpoints. */
export interface QuotaRouteDependencies {
  readonly audit: LedgerAuditService;
  readonly usage: LedgerReportStore;
  readonly clock: Clock;
  readonly tasks: TaskIdLookup;
  readonly findAuthors: FindAuthors;
}

/** Ledger entries and usage figures, for owners and administrators. */
export function addQuotaRoutes(
  routes: RouteRegistry,
  { audit, usage, clock, tasks, findAuthors }: QuotaRouteDependencies,
): void {
  routes.add(endpoints.listLedger, async ({ query }) => {
    const { user_id, task_id, kind } = query;
    const isNet = query.net !== undefined && kind === undefined;
    const { rows, ...page } = await usage.entries(
      defined({
        isNet: isNet || undefined,
        userId: toNumber(user_id),
        ref: task_id && ((await tasks.internalIdOf(task_id)) ?? task_id),
        kind,
      }),
      toLongPage(query),
    );
    const taskIds = [...new Set(rows.map(({ ref }) => ref).filter(isTask))];
    const [names, prompts, authorOf] = await Promise.all([
      tasks.publicIds(taskIds),
      tasks.prompts(taskIds),
      findAuthors(rows),
    ]);
    const entries = isNet ? await usage.entriesOf(rows.map(({ ref }) => ref).filter((ref) => ref !== '')) : [];
    const stepsByCall = Map.groupBy(entries, ({ ref }) => ref);
    return longList(
      rows.map((row) => ({
        ...toLedgerRow(row, names, stepsByCall.get(row.ref)),
        ...authorOf(row),
        ...defined({ prompt: prompts.get(row.ref) }),
      })),
      page,
    );
  });

  routes.add(endpoints.checkLedger, async () => {
    const result = await audit.check();
    return ok({
      ok: result.ok,
      errors: [...result.findings],
      checked_at: toSeconds(result.finishedAt),
      full_checked_at: toSeconds(result.fullFinishedAt),
    });
  });

  routes.add(endpoints.getUsage, async ({ query, caller }) => {
    const filter = { ...toFilter(query, clock.now()), userId: caller.userId };
    const rows = await usage.usage(filter, parseGroupColumns(query.by ?? 'day,model,token'));
    return ok({ rows: rows.map(toUsageRow), total: await totalOf(filter) });
  });

  routes.add(endpoints.getAllUsage, async ({ query }) => {
    const { user_id, channel_id } = query;
    const filter = {
      ...toFilter(query, clock.now()),
      ...defined({ userId: toNumber(user_id), channelId: toNumber(channel_id) }),
      ofOrganizations: query.by?.split(',').includes('organization') ?? false,
    };
    const rows = await usage.usage(filter, parseGroupColumns(query.by ?? 'day,model'));
    return ok({ rows: rows.map(toUsageRow), total: await totalOf(filter) });
  });

  const totalOf = async (filter: UsageFilter) => {
    const [all] = await usage.usage(filter, []);
    return all ?? { requests: 0, quota: 0, prompt_tokens: 0, completion_tokens: 0 };
  };
}

const toNumber = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));

const isTask = (ref: string): boolean => ref.startsWith('task_');

/** @param steps the entries of its call, whose sum the row shows; default: the row shows its own amounts */
function toLedgerRow(
  entry: LedgerEntry,
  names: ReadonlyMap<string, string>,
  steps?: readonly LedgerEntry[],
): Omit<Static<typeof endpoints.LedgerRow>, keyof Authorship> {
  const { id, user_id, ref } = entry;
  const sum = (amounts: readonly number[]): number => amounts.reduce((total, each) => total + each, 0);
  return {
    ...toLedgerAmounts(entry),
    id,
    user_id,
    task_id: isTask(ref) ? (names.get(ref) ?? ref) : '',
    request_id: isTask(ref) ? '' : ref,
    ...(steps && {
      amount: sum(steps.map(({ amount }) => amount)),
      plan_amount: sum(steps.map(({ plan_amount }) => plan_amount)),
      steps: steps.map(toLedgerAmounts),
    }),
  };
}

const toLedgerAmounts = ({ kind, amount, plan_amount, created_at }: LedgerEntry) => ({
  kind,
  amount,
  plan_amount,
  created_time: toSeconds(created_at),
});

/** The contract has validated the names. */
const parseGroupColumns = (by: string): UsageColumn[] => [
  ...new Set(by.split(',').map((name) => endpoints.USAGE_COLUMNS[name as keyof typeof endpoints.USAGE_COLUMNS])),
];

const DEFAULT_DAYS = 30;
const MAX_DAYS = 366;

function toFilter(
  query: { readonly from?: string; readonly to?: string; readonly model?: string; readonly token_id?: string },
  now: number,
): UsageFilter {
  // Future days have no usage, and a later end would shift the displayed year past today.
  const toDay = Math.min(dayOf(now), query.to === undefined ? dayOf(now) : dayOf(Number(query.to) * 1000));
  const fromDay = query.from === undefined ? toDay - DEFAULT_DAYS + 1 : dayOf(Number(query.from) * 1000);
  return {
    fromDay: Math.max(fromDay, toDay - MAX_DAYS + 1),
    toDay,
    ...defined({ model: query.model, tokenId: toNumber(query.token_id) }),
  };
}

function toUsageRow({ day, ...row }: UsageRow) {
  return defined({ ...row, day: day === undefined ? undefined : dateOf(day) });
}

interface BillingDashboardDependencies {
  readonly ledger: Ledger;
  readonly usage: LedgerReportStore;
  /** Quota per unit of the display currency. */
  readonly quotaPerUnit: number;
  /** Name and expiry (Unix milliseconds) of a token. */
  readonly describeToken: (
    id: number,
  ) => Promise<{ readonly name: string; readonly expiresAt: number | null } | undefined>;
}

const LAST_DAY = 100_000;

/** The balance of a key for chat clients, in the format of OpenAI's former dashboard endpoints. */
export function addBillingDashboardRoutes(
  routes: RouteRegistry,
  { ledger, usage, quotaPerUnit, describeToken }: BillingDashboardDependencies,
): void {
  /** Total and spent quota of a key: of its own limit, or of the wallet if it has none. */
  const totals = async (userId: number, tokenId: number): Promise<{ limit: number; used: number }> => {
    const own = (await ledger.tokenLimits([tokenId])).get(tokenId);
    if (own !== undefined) return own;
    const { balance, used } = await ledger.wallet(userId);
    return { limit: balance + used, used };
  };

  for (const endpoint of [endpoints.getTokenUsage, endpoints.getTokenUsageAlias])
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

  for (const endpoint of [endpoints.getBillingSubscription, endpoints.getBillingSubscriptionAlias])
    routes.add(endpoint, async ({ caller }) => {
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

  for (const endpoint of [endpoints.getBillingUsage, endpoints.getBillingUsageAlias])
    routes.add(endpoint, async ({ caller, query }) => {
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

/** Some clients write months and days without leading zeros. */
function toDay(date: string | undefined, fallback: number): number {
  const time = Date.parse((date ?? '').replaceAll(/\b\d\b/g, '0$&'));
  return Number.isNaN(time) ? fallback : dayOf(time);
}
