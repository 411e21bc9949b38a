import { Progress, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useFormatCredits } from '../../components/use-format-credits.ts';
import type { BudgetEntry } from '../../data/budget-queries.ts';
import { forecast } from './forecast-month-cost.ts';

/** How much of a budget is spent, and what the month will cost at this pace. */
export function BudgetBar({ budget }: { readonly budget: BudgetEntry }) {
  const { t } = useTranslation('costs');
  const credits = useFormatCredits();
  const percent = Math.round((budget.spent / budget.month_quota) * 100);
  const name = budget.token_id === 0 ? t('budget.account') : budget.token_name;
  const expected = forecast(budget.spent, budget.month, Date.now());
  return (
    <div style={{ flex: 1, minWidth: 0 }}>
      <Text size="sm" fw={600} truncate>
        {name}
      </Text>
      <Progress
        value={Math.min(100, percent)}
        color={percent >= 100 ? 'red' : percent >= 80 ? 'yellow' : 'teal'}
        my={6}
        aria-label={t('budget.barLabel', { name, percent })}
      />
      <Text size="xs" c="dimmed">
        {t('budget.spentOf', { spent: credits(budget.spent), budget: credits(budget.month_quota), percent })}
        {' · '}
        {t('budget.forecast', { amount: credits(expected) })}
      </Text>
    </div>
  );
}
