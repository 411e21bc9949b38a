import { Button, Group, Progress, Stack, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormatCredits } from '../../components/credit-amount.tsx';
import { QueryError } from '../../components/error-alert.tsx';
import { Panel } from '../../components/panel.tsx';
import { type BudgetEntry, budgetsQuery } from '../../data/costs.ts';

const BudgetDialog = lazy(() => import('./budget-dialog.tsx'));

/** Monthly budgets of the account and its keys. @param tokenId limits the section to one key */
export function BudgetSection({ tokenId }: { readonly tokenId?: number }) {
  const { t } = useTranslation('costs');
  const [edited, setEdited] = useState<BudgetEntry | 'new'>();
  const budgets = useQuery(budgetsQuery);
  const shown = budgets.data?.filter((budget) => tokenId === undefined || budget.token_id === tokenId) ?? [];
  return (
    <Panel
      title={t('budget.title')}
      actions={
        tokenId !== undefined && shown.length > 0 ? null : (
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconPlus size={14} />}
            onClick={() => setEdited('new')}
          >
            {t('budget.add')}
          </Button>
        )
      }
    >
      <QueryError query={budgets} />
      {budgets.data !== undefined && shown.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('budget.none')}
        </Text>
      ) : null}
      <Stack gap="md">
        {shown.map((budget) => (
          <Group key={budget.token_id} wrap="nowrap" align="flex-end" gap="md">
            <BudgetBar budget={budget} />
            <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setEdited(budget)}>
              {t('budget.change')}
            </Button>
          </Group>
        ))}
      </Stack>
      {edited === undefined ? null : (
        <Suspense>
          <BudgetDialog budget={edited} tokenId={tokenId} onClose={() => setEdited(undefined)} />
        </Suspense>
      )}
    </Panel>
  );
}

/** Spent share of a budget, with a forecast for the month. */
function BudgetBar({ budget }: { readonly budget: BudgetEntry }) {
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

/** Expected cost of the month at the current pace. @param month UTC month, such as `2026-11` */
function forecast(spent: number, month: string, nowMs: number): number {
  const [year = 0, number = 1] = month.split('-').map(Number);
  const begin = Date.UTC(year, number - 1, 1);
  const end = Date.UTC(year, number, 1);
  // Counts at least 2 % of the month as elapsed: a forecast from the first hours would be meaningless.
  const passed = Math.max(0.02, Math.min(1, (nowMs - begin) / (end - begin)));
  return Math.round(spent / passed);
}
