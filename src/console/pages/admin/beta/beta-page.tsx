import { Group, Text } from '@mantine/core';
import { IconFlask } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { APPLICATION_STATUS, adminListBetaApplications } from '../../../../contract/beta-applications.ts';
import { listQuery } from '../../../data/admin.ts';
import { useManaged, useUserNames } from '../../../data/names.ts';
import { Empty } from '../../../parts/empty.tsx';
import { Moment } from '../../../parts/moment.tsx';
import { Page } from '../../../parts/page.tsx';
import { ChoiceFilter, FilterBar, ID, TextFilter } from '../frame/filter-bar.tsx';
import { useFilters } from '../frame/filters.ts';
import { NamedLink } from '../frame/named-link.tsx';
import { RecordList } from '../frame/record-list.tsx';
import { ToLink } from '../frame/to-link.tsx';
import { Decide } from './decide.tsx';
import { Decision } from './decision.tsx';

/** Who wants to try what; undecided ones are decided from the list. */
export function AdminBetaPage() {
  const { t } = useTranslation(['desk', 'shell']);
  const filters = useFilters(['status', 'feature', 'user_id']);
  const applications = useQuery(listQuery(adminListBetaApplications, filters.query));
  const askers = applications.data?.data.map(({ user_id: id }) => id);
  const users = useUserNames(askers);
  const managed = useManaged(askers);
  return (
    <Page title={t('shell:pages.adminBeta')} lead={t('beta.lead')} size="xl">
      <FilterBar filters={filters}>
        <ChoiceFilter
          filters={filters}
          name="status"
          label={t('beta.status')}
          choices={APPLICATION_STATUS.map((value) => ({ value, label: t(`beta.states.${value}`) }))}
        />
        <TextFilter filters={filters} name="feature" label={t('beta.feature')} />
        <TextFilter filters={filters} name="user_id" label={t('beta.userId')} width={160} pattern={ID} />
      </FilterBar>
      <RecordList
        label={t('shell:pages.adminBeta')}
        query={applications}
        filters={filters}
        keyOf={({ id }) => id}
        empty={
          <Empty icon={<IconFlask size={28} />} title={t('beta.emptyTitle')}>
            {t('beta.emptyText')}
          </Empty>
        }
        columns={[
          {
            label: t('beta.feature'),
            cell: ({ id, feature, reason }) => (
              <div style={{ maxWidth: 420 }}>
                <ToLink to={`/admin/beta-applications/${id}`} fw={600} size="sm" style={{ overflowWrap: 'anywhere' }}>
                  {feature}
                </ToLink>
                <Text size="xs" c="dimmed" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
                  {reason}
                </Text>
              </div>
            ),
          },
          { label: t('beta.user'), cell: ({ user_id: id }) => <NamedLink to="users" id={id} names={users} /> },
          { label: t('beta.asked'), cell: ({ created_time: at }) => <Moment at={at} size="sm" /> },
          {
            label: t('beta.status'),
            cell: ({ id, feature, status, user_id: userId }) =>
              status === 'pending' && managed(userId) ? (
                <Group gap="xs" justify="flex-start">
                  <Decide id={id} feature={feature} name={users(userId) ?? `#${userId}`} />
                </Group>
              ) : (
                <Decision status={status} />
              ),
          },
        ]}
      />
    </Page>
  );
}
