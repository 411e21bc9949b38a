import type { Plan } from '../../../data/admin.ts';
import { type SpendLimitDraft, toSpendLimitBody, toSpendLimitDraft } from '../../../data/field-values.ts';

const HOUR_SECONDS = 3600;

/** Form values of a plan; amounts in credits. */
export interface PlanFormValues {
  readonly code: string;
  readonly name: string;
  readonly description: string;
  readonly level: number | string;
  readonly price: number | string;
  readonly orderUrl: string;
  readonly days: number | string;
  readonly renewal: 'day' | 'period';
  readonly hours: number | string;
  readonly credits: number | string;
  readonly weekly: number | string;
  readonly monthly: number | string;
  readonly spendLimit: SpendLimitDraft;
  /** Retention of stored videos in days, and their space in GiB; empty: the site's settings apply. */
  readonly storageDays: number | string;
  readonly storageGb: number | string;
  readonly concurrent: number | string;
  readonly waiting: number | string;
  readonly models: readonly string[];
  /** Factor applied to prices. */
  readonly factor: number | string;
  /** Channel ids; empty: all. */
  readonly channels: readonly string[];
  readonly purchasable: boolean;
  readonly enabled: boolean;
}

/** Initial values of a new plan. */
export const EMPTY_PLAN: PlanFormValues = {
  code: '',
  name: '',
  description: '',
  level: 1,
  price: 0,
  orderUrl: '',
  days: 30,
  renewal: 'day',
  hours: 5,
  credits: 10,
  weekly: 0,
  monthly: 0,
  spendLimit: { amount: '', period: 'month' },
  storageDays: '',
  storageGb: '',
  concurrent: '',
  waiting: '',
  models: [],
  factor: 1,
  channels: [],
  purchasable: true,
  enabled: true,
};

/** Form values of an existing plan. @param perUnit quota per credit */
export function toPlanFormValues(card: Plan, perUnit: number): PlanFormValues {
  const isDaily = card.refresh_interval_seconds === 0;
  return {
    code: card.package_code,
    name: card.name,
    description: card.description,
    level: card.level,
    price: card.price_amount,
    orderUrl: card.order_url,
    days: card.duration_days,
    renewal: isDaily ? 'day' : 'period',
    hours: isDaily ? EMPTY_PLAN.hours : card.refresh_interval_seconds / HOUR_SECONDS,
    credits: (isDaily ? card.daily_quota : card.interval_quota) / perUnit,
    weekly: card.weekly_quota_limit / perUnit,
    monthly: card.monthly_quota_limit / perUnit,
    spendLimit: toSpendLimitDraft(card.spend_limit, perUnit),
    storageDays: card.storage_days ?? '',
    storageGb: card.storage_gb ?? '',
    concurrent: card.concurrent_tasks ?? '',
    waiting: card.queued_tasks ?? '',
    models: card.models,
    factor: card.price_factor,
    channels: card.channels.map(String),
    purchasable: card.purchasable,
    enabled: card.status === 1,
  };
}

/** The editable fields of the default plan (accounts without a plan): its level, duration and price have no effect. */
export function toBuiltinPlanBody(draft: PlanFormValues, perUnit: number) {
  const { package_code, level, price_amount, order_url, duration_days, purchasable, status, ...editable } = toPlanBody(
    draft,
    perUnit,
  );
  return editable;
}

/** Converts form values to a request body. @param perUnit quota per credit */
export function toPlanBody(draft: PlanFormValues, perUnit: number) {
  const quota = (credits: number | string): number => Math.round(Number(credits) * perUnit);
  const isDaily = draft.renewal === 'day';
  return {
    package_code: draft.code.trim(),
    name: draft.name.trim(),
    description: draft.description.trim(),
    level: Number(draft.level),
    price_amount: Number(draft.price),
    order_url: draft.orderUrl.trim(),
    duration_days: Number(draft.days),
    refresh_interval_seconds: isDaily ? 0 : Math.round(Number(draft.hours) * HOUR_SECONDS),
    daily_quota: isDaily ? quota(draft.credits) : 0,
    interval_quota: isDaily ? 0 : quota(draft.credits),
    weekly_quota_limit: quota(draft.weekly),
    monthly_quota_limit: quota(draft.monthly),
    spend_limit: toSpendLimitBody(draft.spendLimit, perUnit),
    models: [...draft.models],
    price_factor: Number(draft.factor),
    channels: draft.channels.map(Number),
    storage_days: toOptionalNumber(draft.storageDays),
    storage_gb: toOptionalNumber(draft.storageGb),
    concurrent_tasks: toOptionalNumber(draft.concurrent),
    queued_tasks: toOptionalNumber(draft.waiting),
    purchasable: draft.purchasable,
    status: draft.enabled ? (1 as const) : (2 as const),
  };
}

const toOptionalNumber = (text: number | string): number | null => (text === '' ? null : Number(text));
