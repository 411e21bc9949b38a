import type { Static } from 'typebox';
import { defined } from '../../contract/objects.ts';
import type { CodeStatus, getOwnPackage, PackageCard } from '../../contract/plans.ts';
import { toSeconds } from '../../contract/time-units.ts';
import { usagePace, type WindowUsage } from './allowances.ts';
import type { CodeListItem } from './code-store.ts';
import { allowedModels, type CurrentPlan, type PlanRow, spendLimitOf } from './plan-store.ts';
import type { GrantResult } from './subscriptions.ts';

/** A plan as shown publicly. */
export const toPackageCard = (plan: PlanRow): Static<typeof PackageCard> => ({
  id: plan.id,
  package_code: plan.package_code,
  name: plan.name,
  description: plan.description,
  level: plan.level,
  price_amount: plan.price_amount,
  purchasable: plan.purchasable === 1,
  daily_quota: plan.daily_quota,
  duration_days: plan.duration_days,
  refresh_interval_seconds: plan.refresh_interval_seconds,
  system_builtin: plan.system_builtin === 1,
  interval_quota: plan.interval_quota,
  weekly_quota_limit: plan.weekly_quota_limit,
  status: plan.status,
  created_time: toSeconds(plan.created_at),
  monthly_quota_limit: plan.monthly_quota_limit,
  ...defined({ order_url: plan.order_url || undefined }),
});

/** A plan as shown to administrators. */
export const toAdminPackageCard = (plan: PlanRow) => ({
  ...toPackageCard(plan),
  order_url: plan.order_url,
  models: allowedModels(plan),
  price_factor: plan.price_factor,
  channels: JSON.parse(plan.channels) as number[],
  storage_days: plan.storage_days,
  storage_gb: plan.storage_gb,
  concurrent_tasks: plan.concurrent_tasks,
  queued_tasks: plan.queued_tasks,
  spend_limit: spendLimitOf(plan) ?? null,
});

const statusOf = ({ state, expires_at }: CodeListItem, now: number): CodeStatus =>
  state === 'unused' && expires_at !== null && expires_at <= now ? 'expired' : state;

/** A redemption code as listed for administrators. */
export const toCodeListItem = (row: CodeListItem, now: number) => ({
  id: row.id,
  batch_id: row.batch_id,
  code: row.hint,
  package_code: row.package_code ?? '',
  quota: row.quota,
  status: statusOf(row, now),
  note: row.note,
  used_by: row.used_by ?? 0,
  used_time: toSeconds(row.used_at ?? 0),
  expires_at: toSeconds(row.expires_at ?? 0),
  created_time: toSeconds(row.created_at),
});

/** The response to a granted or ended plan. */
export const toGrantResponse = ({ outcome, packageCode, expiresAt }: GrantResult, quota = 0) => ({
  outcome,
  package_code: packageCode,
  quota,
  package_expires_at: toSeconds(expiresAt),
});

type OwnPackage = Static<(typeof getOwnPackage)['response']>['data'];

/** The account's own plan with its remaining allowance. */
export function toOwnPackage(
  { current: { plan, timeline }, windows }: { readonly current: CurrentPlan; readonly windows: readonly WindowUsage[] },
  { wallet, zone, now }: { readonly wallet: number; readonly zone: string; readonly now: number },
): OwnPackage {
  return {
    package_code: plan.package_code,
    name: plan.name,
    description: plan.description,
    level: plan.level,
    started_at: toSeconds(timeline.current?.starts_at ?? 0),
    expires_at: toSeconds(timeline.current?.expires_at ?? 0),
    models: allowedModels(plan),
    price_factor: plan.price_factor,
    allowance_left: Math.min(...windows.map(remaining)),
    // A plan without an allowance has windows of 0, which would only confuse the owner.
    windows: windows.filter(({ limit }) => limit > 0).map((window) => toWindow(window, now)),
    wallet,
    time_zone: zone,
    waiting: timeline.waiting.map((subscription) => ({
      package_code: subscription.plan.package_code,
      name: subscription.plan.name,
      level: subscription.level,
      duration_days: subscription.duration_days,
      starts_at: toSeconds(subscription.starts_at),
    })),
  };
}

function toWindow(window: WindowUsage, now: number): OwnPackage['windows'][number] {
  const pace = usagePace(window, window.used, now);
  return {
    kind: window.kind,
    limit: window.limit,
    used: window.used,
    left: remaining(window),
    starts_at: toSeconds(window.startsAt),
    refreshes_at: toSeconds(window.endsAt),
    used_per_hour: pace.usedPerHour,
    runs_out_at: toSeconds(pace.runsOutAt),
  };
}

const remaining = ({ limit, used }: WindowUsage): number => Math.max(0, limit - used);
