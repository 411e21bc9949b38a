import type { Reelgate } from '../sdk/index.ts';
import { formatCredits } from './format.ts';

/** What turns the service's smallest units of money, called quota on the wire, into text in credits. */
export type CreditFormat = (quota: number) => string;

/** How many of these units a credit has at this service. */
export async function loadQuotaPerCredit(reelgate: Reelgate): Promise<number> {
  const { getStatus } = await import('../contract/service.ts');
  return (await reelgate.transport.call(getStatus, {})).data.quota_per_unit;
}

export async function loadCreditFormat(reelgate: Reelgate): Promise<CreditFormat> {
  const perCredit = await loadQuotaPerCredit(reelgate);
  return (quota) => formatCredits(quota, perCredit);
}
