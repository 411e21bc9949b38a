import type { SpendLimit, SpendPeriod } from '../../contract/amounts.ts';

/** Last second of a day in the local time zone, in Unix seconds; null without a day. @param day `2026-11-30` */
export function toEndOfDay(day: string): number | null {
  const timeMs = new Date(`${day}T23:59:59`).getTime();
  return Number.isFinite(timeMs) ? Math.floor(timeMs / 1000) : null;
}

/** Converts Unix seconds to `2026-11-30`, the format of date inputs; empty for 0. */
export const formatDateField = (seconds: number): string =>
  seconds === 0 ? '' : new Date(seconds * 1000).toLocaleDateString('sv-SE');

const DEFAULT_QUOTA_PER_CREDIT = 500_000;

/** Converts credits entered in a form to quota. */
export const creditsToQuota = (credits: number, perUnit: number = DEFAULT_QUOTA_PER_CREDIT): number =>
  Math.round(credits * perUnit);

/** Value of a `NumberField`; undefined if it is empty. */
export const readNumberInput = (value: number | string): number | undefined =>
  value === '' ? undefined : Number(value);

/** Form values of a spend limit; the amount is in credits, empty: no limit. */
export interface SpendLimitDraft {
  readonly amount: number | string;
  readonly period: SpendPeriod;
}

/** @param perUnit quota per credit */
export const toSpendLimitDraft = (limit: SpendLimit | null | undefined, perUnit: number): SpendLimitDraft => ({
  amount: limit ? limit.amount / perUnit : '',
  period: limit?.period ?? 'month',
});

/** @param perUnit quota per credit */
export const toSpendLimitBody = ({ amount, period }: SpendLimitDraft, perUnit: number): SpendLimit | null =>
  amount === '' ? null : { amount: creditsToQuota(Number(amount), perUnit), period };
