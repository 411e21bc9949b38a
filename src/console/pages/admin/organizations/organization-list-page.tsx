import { Badge, Group, Text } from '@mantine/core';
import { IconUsersGroup } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { CLOSED, DISABLED } from '../../../../contract/account-fields.ts';
import { adminListOrganizations } from '../../../../contract/organizations.ts';
import { NO_PACKAGE } from '../../../../contract/plans.ts';
import { CreditAmount } from '../../../components/credit-amount.tsx';
import { FilterBar, TextFilter } from '../../../components/list/filter-bar.tsx';
import { PagedTable } from '../../../components/list/paged-table.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { EmptyState, Page } from '../../../components/page.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteButton, RouteLink } from '../../../components/route-link.tsx';
import { type ListItem, listQuery } from '../../../data/admin.ts';
import { formatNames } from '../../../data/format-text.ts';
import { usePlanNames } from '../../../data/names.ts';

/** An organization as administrators see it. */
export type OrganizationItem = ListItem<typeof adminListOrganizations>;

/** Organizations of the service. */
export function OrganizationListPage() {
  const { t } = useTranslation(['admin-organizations', 'app']);
  const filters = useListFilters(['q']);
  const organizations = useQuery(listQuery(adminListOrganizations, filters.query));
  const planName = usePlanNames();
  return (
    <Page
      title={t('app:pages.organizations')}
      subtitle={t('lead')}
      size="xl"
      actions={
        <RouteButton to="/admin/costs" search={{ by: 'organization' }} variant="default">
          {t('costs')}
        </RouteButton>
      }
    >
      <FilterBar filters={filters}>
        <TextFilter filters={filters} name="q" label={t('search')} width={260} />
      </FilterBar>
      <PagedTable
        label={t('app:pages.organizations')}
        query={organizations}
        filters={filters}
        rowKey={({ id }) => id}
        emptyState={<EmptyState icon={<IconUsersGroup size={28} />} title={t('emptyTitle')} />}
        columns={[
          { label: t('name'), cell: (organization) => <Name organization={organization} /> },
          { label: t('owners'), cell: ({ owners }) => formatNames(owners) || '–' },
          { label: t('members'), align: 'right', cell: ({ members }) => members },
          { label: t('balance'), align: 'right', cell: ({ quota }) => <CreditAmount value={quota} /> },
          { label: t('used'), align: 'right', cell: ({ used_quota: used }) => <CreditAmount value={used} /> },
          { label: t('plan'), cell: ({ plan }) => toPlanText(plan, planName) },
          {
            label: t('created'),
            cell: ({ created_time: at }) => <RelativeTime at={at} size="sm" />,
            hideOnPhone: true,
          },
        ]}
      />
    </Page>
  );
}

/** The name of a plan, or a dash. @param nameOf name of a plan by its code */
export const toPlanText = (plan: string, nameOf: (code: string) => string): string =>
  plan === NO_PACKAGE || plan === '' ? '–' : nameOf(plan);

function Name({ organization: { id, name, slug, status } }: { readonly organization: OrganizationItem }) {
  return (
    <Group gap={6} wrap="nowrap">
      <div style={{ minWidth: 0 }}>
        <RouteLink to="/admin/organizations/$id" params={{ id: String(id) }} fw={600} size="sm">
          {name}
        </RouteLink>
        <Text size="xs" c="dimmed" truncate maw={200}>
          {slug}
        </Text>
      </div>
      <StatusBadge status={status} />
    </Group>
  );
}

/** Marks an organization that is closed or disabled. */
export function StatusBadge({ status }: { readonly status: number }) {
  const { t } = useTranslation('admin-organizations');
  if (status === CLOSED) return <Badge color="gray">{t('closed')}</Badge>;
  return status === DISABLED ? <Badge color="red">{t('disabled')}</Badge> : null;
}
