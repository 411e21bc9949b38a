import { Badge, Group, Text } from '@mantine/core';
import { IconFlask } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import {
  APPLICATION_SORTS,
  APPLICATION_STATUS,
  adminListBetaApplications,
} from '../../../../contract/beta-applications.ts';
import { ChoiceFilter, FilterBar, UserFilter } from '../../../components/list/filter-bar.tsx';
import { PagedTable } from '../../../components/list/paged-table.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { EmptyState, Page } from '../../../components/page.tsx';
import { useCanManageUser } from '../../../components/permissions.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink, UserOrChannelLink } from '../../../components/route-link.tsx';
import { listQuery } from '../../../data/admin.ts';
import { useUserNames } from '../../../data/names.ts';
import { useSelf } from '../../../data/self.ts';
import { type BetaFeature, betaFeaturesQuery } from '../../../data/tickets.ts';
import { DecisionButtons, StatusBadge } from './decision-buttons.tsx';

/** Beta applications; pending ones can be decided from the list. */
export function AdminApplicationListPage() {
  const { t } = useTranslation(['admin-beta-applications', 'app']);
  const filters = useListFilters(['status', 'feature', 'user_id'], APPLICATION_SORTS);
  const features = useQuery(betaFeaturesQuery);
  const applications = useQuery(listQuery(adminListBetaApplications, filters.query));
  const askers = applications.data?.data.map(({ user_id: id }) => id);
  const users = useUserNames(askers);
  const managed = useCanManageUser(askers);
  return (
    <Page title={t('app:pages.adminBeta')} subtitle={t('lead')} size="xl">
      <OpenFeatures features={features.data} />
      <FilterBar filters={filters}>
        <ChoiceFilter
          filters={filters}
          name="status"
          label={t('status')}
          choices={APPLICATION_STATUS.map((value) => ({ value, label: t(`states.${value}`) }))}
        />
        <ChoiceFilter
          filters={filters}
          name="feature"
          label={t('feature')}
          width={220}
          choices={toChoices([
            ...(features.data ?? []).map(({ name }) => name),
            ...(applications.data?.data ?? []).map(({ feature }) => feature),
            ...(filters.value.feature === undefined ? [] : [filters.value.feature]),
          ])}
        />
        <UserFilter filters={filters} />
      </FilterBar>
      <PagedTable
        label={t('app:pages.adminBeta')}
        query={applications}
        filters={filters}
        rowKey={({ id }) => id}
        emptyState={
          <EmptyState icon={<IconFlask size={28} />} title={t('emptyTitle')}>
            {t('emptyText')}
          </EmptyState>
        }
        columns={[
          {
            label: t('feature'),
            sortKey: 'feature',
            cell: ({ id, feature, reason }) => (
              <div style={{ maxWidth: 420 }}>
                <RouteLink
                  to="/admin/beta-applications/$id"
                  params={{ id: String(id) }}
                  fw={600}
                  size="sm"
                  style={{ overflowWrap: 'anywhere' }}
                >
                  {feature}
                </RouteLink>
                <Text size="xs" c="dimmed" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
                  {reason}
                </Text>
              </div>
            ),
          },
          { label: t('user'), cell: ({ user_id: id }) => <UserOrChannelLink to="users" id={id} names={users} /> },
          { label: t('asked'), sortKey: 'created', cell: ({ created_time: at }) => <RelativeTime at={at} size="sm" /> },
          {
            label: t('status'),
            cell: ({ id, feature, status, user_id: userId }) =>
              status === 'pending' && managed(userId) ? (
                <Group gap="xs" justify="flex-start">
                  <DecisionButtons id={id} feature={feature} name={users(userId) ?? `#${userId}`} />
                </Group>
              ) : (
                <StatusBadge status={status} />
              ),
          },
        ]}
      />
    </Page>
  );
}

const toChoices = (names: readonly string[]) => [...new Set(names)].map((value) => ({ value, label: value }));

/** What users can apply for; root edits the list in the settings. */
function OpenFeatures({ features }: { readonly features: readonly BetaFeature[] | undefined }) {
  const { t } = useTranslation('admin-beta-applications');
  const { data: self } = useSelf();
  if (features === undefined) return null;
  return (
    <Group gap="xs" mb="md">
      <Text size="sm" c="dimmed">
        {t(features.length === 0 ? 'noFeatures' : 'features')}
      </Text>
      {features.map(({ name, description }) => (
        <Badge key={name} color="gray" title={description} className="verbatim">
          {name}
        </Badge>
      ))}
      {self?.role === 'root' ? (
        <RouteLink to="/admin/settings" size="sm">
          {t('editFeatures')}
        </RouteLink>
      ) : null}
    </Group>
  );
}
