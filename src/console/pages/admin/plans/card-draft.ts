import type { adminGetCard } from '../../../../contract/packages.ts';
import type { DataOf } from '../../../data/admin.ts';

export type Card = DataOf<typeof adminGetCard>;
const HOUR_SECONDS = 3600;

/** A plan as its form holds it; amounts in credits. */
export interface CardDraft {
  readonly code: string;
  readonly name: string;
  readonly description: string;
  readonly level: number | string;
  readonly price: number | string;
  readonly days: number | string;
  readonly renewed: 'day' | 'period';
  readonly hours: number | string;
  readonly credits: number | string;
  readonly weekly: number | string;
  readonly models: readonly string[];
  readonly purchasable: boolean;
  readonly enabled: boolean;
}

export const EMPTY_CARD: CardDraft = {
  code: '',
  name: '',
  description: '',
  level: 1,
  price: 0,
  days: 30,
  renewed: 'day',
  hours: 5,
  credits: 10,
  weekly: 0,
  models: [],
  purchasable: true,
  enabled: true,
};

export function toCardDraft(card: Card, perUnit: number): CardDraft {
  const isDaily = card.refresh_interval_seconds === 0;
  return {
    code: card.package_code,
    name: card.name,
    description: card.description,
    level: card.level,
    price: card.price_amount,
    days: card.duration_days,
    renewed: isDaily ? 'day' : 'period',
    hours: isDaily ? EMPTY_CARD.hours : card.refresh_interval_seconds / HOUR_SECONDS,
    credits: (isDaily ? card.daily_quota : card.interval_quota) / perUnit,
    weekly: card.weekly_quota_limit / perUnit,
    models: card.models,
    purchasable: card.purchasable,
    enabled: card.status === 1,
  };
}

/** What the card of people without a plan may have changed: its level, length and price mean nothing. */
export function toBuiltinCard(draft: CardDraft, perUnit: number) {
  const { name, description, refresh_interval_seconds, daily_quota, interval_quota, weekly_quota_limit, models } =
    toCard(draft, perUnit);
  return { name, description, refresh_interval_seconds, daily_quota, interval_quota, weekly_quota_limit, models };
}

export function toCard(draft: CardDraft, perUnit: number) {
  const quota = (credits: number | string): number => Math.round(Number(credits) * perUnit);
  const isDaily = draft.renewed === 'day';
  return {
    package_code: draft.code.trim(),
    name: draft.name.trim(),
    description: draft.description.trim(),
    level: Number(draft.level),
    price_amount: Number(draft.price),
    duration_days: Number(draft.days),
    refresh_interval_seconds: isDaily ? 0 : Math.round(Number(draft.hours) * HOUR_SECONDS),
    daily_quota: isDaily ? quota(draft.credits) : 0,
    interval_quota: isDaily ? 0 : quota(draft.credits),
    weekly_quota_limit: quota(draft.weekly),
    models: [...draft.models],
    purchasable: draft.purchasable,
    status: draft.enabled ? (1 as const) : (2 as const),
  };
}
