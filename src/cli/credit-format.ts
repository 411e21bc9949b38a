import type { AmountUnit } from '../contract/amounts.ts';
import type { Reelgate } from '../sdk/index.ts';

/** What turns the service's smallest units of money, called quota on the wire, into text in credits or in its currency. */
export type CreditFormat = (quota: number) => string;

/** What this service writes amounts in. */
export async function loadAmountUnit(reelgate: Reelgate): Promise<AmountUnit> {
  const { getStatus } = await import('../contract/service.ts');
  const { quota_per_unit: quotaPerCredit, currency } = (await reelgate.transport.call(getStatus, {})).data;
  return { quotaPerCredit, currency };
}

export async function loadCreditFormat(reelgate: Reelgate): Promise<CreditFormat> {
  const [unit, { formatAmount }] = await Promise.all([loadAmountUnit(reelgate), import('../contract/amounts.ts')]);
  return (quota) => formatAmount(quota, unit, 'en', 'exact');
}
