import { Card, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { NO_PACKAGE } from '../../../contract/plans.ts';
import { CreditAmount, useFormatCredits } from '../../components/credit-amount.tsx';
import { SpendLimitText } from '../../components/limit-fields.tsx';
import { useListFilters } from '../../components/list/use-list-filters.ts';
import { Page } from '../../components/page.tsx';
import { formatDate, formatDeadline } from '../../data/format-values.ts';
import { currentPlanQuery, useSelf } from '../../data/self.ts';
import { BudgetSection } from '../costs/budget-section.tsx';
import { COST_FILTERS, CostExplorer } from '../costs/cost-explorer.tsx';

/** The account's balance, spending, usage by model, and budgets. */
export function UsagePage() {
  const { t } = useTranslation(['account', 'app']);
  const formatCredits = useFormatCredits();
  const { data: self } = useSelf();
  const { data: plan } = useQuery({
    ...currentPlanQuery,
    enabled: self !== undefined && self.current_package_code !== NO_PACKAGE,
  });
  const tightest = plan?.windows.toSorted((one, two) => one.left - two.left)[0];
  const filters = useListFilters(COST_FILTERS.filter((name) => name !== 'user_id' && name !== 'channel_id'));
  return (
    <Page title={t('usage.title')} subtitle={t('usage.lead')}>
      <Stack gap="lg">
        <SimpleGrid cols={{ base: 2, xs: self?.spend_limit ? 4 : 3 }}>
          <StatCard name={t('usage.balance')}>
            {self === undefined ? null : <CreditAmount value={self.quota} wraps />}
          </StatCard>
          <StatCard name={t('usage.spent')}>
            {self === undefined ? null : <CreditAmount value={self.used_quota} wraps />}
          </StatCard>
          {self?.spend_limit ? (
            <StatCard
              name={t('usage.spendLimit')}
              note={t('usage.renews', { at: formatDeadline(self.spend_limit.renews_at) })}
            >
              <SpendLimitText limit={self.spend_limit} />
            </StatCard>
          ) : null}
          <StatCard
            name={t('usage.plan')}
            note={[
              ...(tightest === undefined
                ? []
                : [t(`app:leftOfPlan.${tightest.kind}`, { left: formatCredits(tightest.left) })]),
              ...(self === undefined || self.package_expires_at === 0
                ? []
                : [t('usage.planUntil', { day: formatDate(self.package_expires_at) })]),
            ].join(' · ')}
          >
            {self === undefined
              ? null
              : self.current_package_code === NO_PACKAGE
                ? t('usage.noPlan')
                : (plan?.name ?? self.current_package_code)}
          </StatCard>
        </SimpleGrid>
        <BudgetSection />
        <Title order={2}>{t('usage.explore')}</Title>
        <CostExplorer scope="own" filters={filters} />
      </Stack>
    </Page>
  );
}

function StatCard({
  name,
  note,
  children,
}: {
  readonly name: string;
  readonly note?: string;
  readonly children: ReactNode;
}) {
  return (
    <Card p="md">
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text fz={20} fw={650} mih={31} style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Text>
      {note === undefined || note === '' ? null : (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
    </Card>
  );
}
