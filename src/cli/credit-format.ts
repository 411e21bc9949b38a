import type { AmountUnit, SpendLimit } from '../contract/amounts.ts';
import type { ApiToken } from '../sdk/account.ts';
import type { Reelgate } from '../sdk/index.ts';
import type { TypedSpendLimit } from './argument-parsers.ts';

/** Formats quota, the service's smallest unit of money, in credits or in the service's currency. */
export type CreditFormat = (quota: number) => string;

/** Fetches the unit in which this service displays amounts. */
export async function loadAmountUnit(reelgate: Reelgate): Promise<AmountUnit> {
  const { getStatus } = await import('../contract/service.ts');
  const { quota_per_unit: quotaPerCredit, currency } = (await reelgate.transport.call(getStatus, {})).data;
  return { quotaPerCredit, currency };
}

/** Creates the formatter for amounts of this service. */
export async function loadCreditFormat(reelgate: Reelgate): Promise<CreditFormat> {
  const [unit, { formatAmount }] = await Promise.all([loadAmountUnit(reelgate), import('../contract/amounts.ts')]);
  return (quota) => formatAmount(quota, unit, 'en', 'exact');
}

/** `10 of 50 a month`. */
export const formatSpendLimit = (
  { amount, spent, period }: NonNullable<ApiToken['spend_limit']>,
  credits: CreditFormat,
): string => `${credits(spent)} of ${credits(amount)} a ${period}`;

/** Converts a spend limit as typed to quota; null removes it, undefined keeps it. */
export async function toSpendLimit(
  reelgate: Reelgate,
  typed: TypedSpendLimit | 'none' | undefined,
): Promise<SpendLimit | null | undefined> {
  if (typed === undefined) return undefined;
  if (typed === 'none') return null;
  const { quotaPerCredit } = await loadAmountUnit(reelgate);
  return { amount: Math.round(typed.credits * quotaPerCredit), period: typed.period };
}
