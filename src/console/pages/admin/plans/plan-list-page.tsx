import { Badge, Code, Group, Text } from '@mantine/core';
import { IconCreditCard, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { formatListPrice } from '../../../../contract/amounts.ts';
import { adminListPackageCards, NO_PACKAGE, PLAN_SORTS } from '../../../../contract/plans.ts';
import { useAmountUnit, useFormatCredits } from '../../../components/credit-amount.tsx';
import { PagedTable } from '../../../components/list/paged-table.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { EmptyState, Page } from '../../../components/page.tsx';
import { RouteButton, RouteLink } from '../../../components/route-link.tsx';
import { type ListItem, listQuery } from '../../../data/admin.ts';
import { currentLanguage } from '../../../strings/language.ts';

type PlanListItem = ListItem<typeof adminListPackageCards>;
const HOUR_SECONDS = 3600;

/** Plans, for which redemption codes can be created. */
export function PlanListPage() {
  const { t } = useTranslation(['admin-plans', 'app']);
  const filters = useListFilters([], PLAN_SORTS);
  const unit = useAmountUnit();
  const cards = useQuery(listQuery(adminListPackageCards, filters.query));
  const make = (
    <RouteButton data-create to="/admin/packages/new" leftSection={<IconPlus size={16} />}>
      {t('make')}
    </RouteButton>
  );
  return (
    <Page title={t('app:pages.adminPackages')} subtitle={t('lead')} size="xl" actions={make}>
      <PagedTable
        label={t('app:pages.adminPackages')}
        query={cards}
        filters={filters}
        rowKey={({ id }) => id}
        emptyState={
          <EmptyState icon={<IconCreditCard size={28} />} title={t('emptyTitle')} action={make}>
            {t('emptyText')}
          </EmptyState>
        }
        columns={[
          {
            label: t('name'),
            sortKey: 'name',
            cell: ({ id, name, package_code: code }) => (
              <>
                <RouteLink
                  to="/admin/packages/$id"
                  params={{ id: String(id) }}
                  fw={600}
                  size="sm"
                  style={{ overflowWrap: 'anywhere' }}
                >
                  {code === NO_PACKAGE ? t('none') : name}
                </RouteLink>
                <div>
                  <Code>{code}</Code>
                </div>
              </>
            ),
          },
          { label: t('level'), sortKey: 'level', align: 'right', cell: ({ level }) => level },
          { label: t('allowance'), cell: (card) => <Allowance card={card} /> },
          {
            label: t('duration'),
            sortKey: 'duration',
            cell: ({ package_code: code, duration_days: count }) => (code === NO_PACKAGE ? '–' : t('days', { count })),
            hideOnPhone: true,
          },
          {
            label: t('price'),
            sortKey: 'price',
            align: 'right',
            cell: ({ package_code: code, price_amount: price }) =>
              code === NO_PACKAGE ? '–' : formatListPrice(price, unit, currentLanguage()),
          },
          { label: t('enabled'), align: 'right', cell: (card) => <PlanStatus card={card} /> },
        ]}
      />
    </Page>
  );
}

function Allowance({ card: plan }: { readonly card: PlanListItem }) {
  const { t } = useTranslation('admin-plans');
  const quota = useFormatCredits();
  const hours = plan.refresh_interval_seconds / HOUR_SECONDS;
  return (
    <>
      <Text size="sm">
        {hours === 0
          ? t('perDay', { amount: quota(plan.daily_quota) })
          : t('perHours', { amount: quota(plan.interval_quota), count: Number(hours.toFixed(2)) })}
      </Text>
      {plan.weekly_quota_limit === 0 ? null : (
        <Text size="xs" c="dimmed">
          {t('perWeek', { amount: quota(plan.weekly_quota_limit) })}
        </Text>
      )}
      {plan.monthly_quota_limit === 0 ? null : (
        <Text size="xs" c="dimmed">
          {t('perMonth', { amount: quota(plan.monthly_quota_limit) })}
        </Text>
      )}
    </>
  );
}

function PlanStatus({ card: plan }: { readonly card: PlanListItem }) {
  const { t } = useTranslation('admin-plans');
  return (
    <Group gap={4} justify="flex-end">
      {plan.purchasable ? null : <Badge color="gray">{t('hidden')}</Badge>}
      <Badge color={plan.status === 1 ? 'teal' : 'red'}>{plan.status === 1 ? t('on') : t('off')}</Badge>
    </Group>
  );
}
