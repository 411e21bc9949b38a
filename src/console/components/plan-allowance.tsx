import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { currentPlanQuery } from '../data/self.ts';
import { CreditAmount, useFormatCredits } from './credit-amount.tsx';

/** What calls are paid from: the allowance of the plan while some is left, otherwise the wallet. */
export function PlanAllowance({ wallet }: { readonly wallet: number }) {
  const { t } = useTranslation();
  const formatCredits = useFormatCredits();
  const { data: plan } = useQuery(currentPlanQuery);
  if (plan === undefined) return null;
  const tightest = plan.windows.toSorted((a, b) => a.left - b.left)[0];
  return tightest !== undefined && tightest.left > 0 ? (
    t(`leftOfPlan.${tightest.kind}`, { left: formatCredits(tightest.left) })
  ) : (
    <CreditAmount value={wallet} />
  );
}
