import { Select, SimpleGrid, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { SPEND_PERIODS, type SpendLimit } from '../../contract/spend-limits.ts';
import type { SpendLimitDraft } from '../data/field-values.ts';
import { formatDeadline } from '../data/format-times.ts';
import { AmountInput } from './amount-input.tsx';
import { useFormatCredits } from './credit-amount.tsx';

interface SpendLimitFieldsProps {
  readonly description: string;
  readonly value: SpendLimitDraft;
  readonly onChange: (draft: SpendLimitDraft) => void;
}

/** Inputs for the amount and the period of a spend limit. */
export function SpendLimitFields({ description, value, onChange }: SpendLimitFieldsProps) {
  const { t } = useTranslation();
  return (
    <SimpleGrid cols={2}>
      <AmountInput
        label={t('spendLimit.label')}
        description={description}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        min={0.000002}
        decimalScale={6}
        max={1e9}
        value={value.amount}
        onChange={(amount) => onChange({ ...value, amount })}
      />
      <Select
        label={t('spendLimit.period')}
        allowDeselect={false}
        data={SPEND_PERIODS.map((period) => ({ value: period, label: t(`spendLimit.periods.${period}`) }))}
        value={value.period}
        onChange={(period) => onChange({ ...value, period: period ?? value.period })}
      />
    </SimpleGrid>
  );
}

interface SpendLimitTextProps {
  readonly limit: SpendLimit & { readonly spent: number; readonly renews_at: number };
}

/** "10 of 50 CNY this month", with the time of renewal as a hint. */
export function SpendLimitText({ limit: { amount, spent, period, renews_at } }: SpendLimitTextProps) {
  const { t } = useTranslation();
  const quota = useFormatCredits();
  return (
    <Text span inherit title={t('spendLimit.renews', { at: formatDeadline(renews_at) })}>
      {t(`spendLimit.used.${period}`, { spent: quota(spent), amount: quota(amount) })}
    </Text>
  );
}
