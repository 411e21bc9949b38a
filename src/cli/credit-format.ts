import { type AmountUnit, formatAmount, type SpendLimit, type SpendPeriod } from '../contract/amounts.ts';
import type { ApiToken } from '../sdk/account.ts';
import type { Reelgate } from '../sdk/index.ts';
import type { TypedSpendLimit } from './argument-parsers.ts';
import { phrase, type Rendering } from './output.ts';

/** Formats quota, the service's smallest unit of money, in credits or in the service's currency. */
export type CreditFormat = (quota: number) => string;

/** Fetches the unit in which this service displays amounts. */
export async function loadAmountUnit(reelgate: Reelgate): Promise<AmountUnit> {
  const { getStatus } = await import('../contract/service.ts');
  const { quota_per_unit: quotaPerCredit, currency } = (await reelgate.transport.call(getStatus, {})).data;
  return { quotaPerCredit, currency };
}

/** Creates the formatter for amounts in a unit. */
export const creditFormatOf =
  (unit: AmountUnit): CreditFormat =>
  (quota) =>
    formatAmount(quota, unit, 'en', 'exact');

/** Creates the formatter for amounts of this service. */
export const loadCreditFormat = async (reelgate: Reelgate): Promise<CreditFormat> =>
  creditFormatOf(await loadAmountUnit(reelgate));

/** `10 of 50 a month`. */
export const formatSpendLimit = (
  { amount, spent, period }: NonNullable<ApiToken['spend_limit']>,
  credits: CreditFormat,
): Rendering => SPENT[period](credits(spent), credits(amount));

const SPENT: Readonly<Record<SpendPeriod, (spent: string, amount: string) => Rendering>> = {
  day: (spent, amount) => phrase`${spent} of ${amount} a day`,
  week: (spent, amount) => phrase`${spent} of ${amount} a week`,
  month: (spent, amount) => phrase`${spent} of ${amount} a month`,
};

/** `50 a month`. */
export const formatPeriodAmount = (amount: string, period: SpendPeriod): Rendering => PER_PERIOD[period](amount);

const PER_PERIOD: Readonly<Record<SpendPeriod, (amount: string) => Rendering>> = {
  day: (amount) => phrase`${amount} a day`,
  week: (amount) => phrase`${amount} a week`,
  month: (amount) => phrase`${amount} a month`,
};

/** Converts an amount as typed, in credits, to quota. */
export async function toQuota(reelgate: Reelgate, credits: number): Promise<number>;
export async function toQuota(reelgate: Reelgate, credits: number | undefined): Promise<number | undefined>;
export async function toQuota(reelgate: Reelgate, credits: number | undefined): Promise<number | undefined> {
  return credits === undefined ? undefined : Math.round(credits * (await loadAmountUnit(reelgate)).quotaPerCredit);
}

/** Converts a spend limit as typed to quota; null removes it, undefined keeps it. */
export async function toSpendLimit(
  reelgate: Reelgate,
  typed: TypedSpendLimit | 'none' | undefined,
): Promise<SpendLimit | null | undefined> {
  if (typed === undefined) return undefined;
  if (typed === 'none') return null;
  return { amount: await toQuota(reelgate, typed.credits), period: typed.period };
}
