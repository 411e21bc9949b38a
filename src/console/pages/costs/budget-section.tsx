import { Button, Group, Stack, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { Panel } from '../../components/panel.tsx';
import { type BudgetEntry, budgetsQuery } from '../../data/budget-queries.ts';
import { BudgetBar } from './budget-bar.tsx';

const BudgetDialog = lazy(() => import('./budget-dialog.tsx'));

/** The monthly budgets of the account and of its keys. @param tokenId of one key alone */
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
      <ErrorAlert error={budgets.error} retry={() => void budgets.refetch()} />
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
