import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useFormatCredits } from './credit-amount.tsx';

/** Amount of a ledger entry. The sign is always shown, because colour alone would not be accessible. */
export function SignedAmount({ value }: { readonly value: number }) {
  const quota = useFormatCredits();
  return (
    <Text
      component="span"
      inherit
      c={value > 0 ? 'light-dark(var(--mantine-color-teal-9), var(--mantine-color-teal-4))' : undefined}
      style={{ fontVariantNumeric: 'tabular-nums', whiteSpace: 'nowrap' }}
    >
      {value > 0 ? '+' : value < 0 ? '−' : ''}
      {quota(Math.abs(value))}
    </Text>
  );
}

interface LedgerAmounts {
  readonly amount: number;
  readonly plan_amount: number;
}

/** What a ledger entry changed: the wallet, and the plan's allowance where it paid. */
export function WalletAndPlanAmount({ amount, plan_amount: planAmount }: LedgerAmounts) {
  const { t } = useTranslation('admin');
  const ofPlan = (
    <>
      <SignedAmount value={planAmount} />{' '}
      <Text component="span" size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
        {t('tasks.ofPlan')}
      </Text>
    </>
  );
  if (planAmount !== 0 && amount === 0) return ofPlan;
  return (
    <>
      <SignedAmount value={amount} />
      {planAmount === 0 ? null : (
        <Text size="xs" c="dimmed">
          {ofPlan}
        </Text>
      )}
    </>
  );
}
