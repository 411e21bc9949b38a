import { IconLogin2 } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { adminListLogins } from '../../../../contract/logins.ts';
import { ChoiceFilter, FilterBar, UserFilter } from '../../../components/list/filter-bar.tsx';
import { PagedTable } from '../../../components/list/paged-table.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { loginAttemptColumns } from '../../../components/login-attempts.tsx';
import { EmptyState, Page } from '../../../components/page.tsx';
import { UserOrChannelLink } from '../../../components/route-link.tsx';
import { listQuery } from '../../../data/admin.ts';
import { useUserNames } from '../../../data/names.ts';
import { AuditAndLoginsTabs } from './audit-tabs.tsx';

/** Successful and failed sign-ins of all accounts. */
export function LoginHistoryPage() {
  const { t } = useTranslation('login-history');
  const filters = useListFilters(['user_id', 'failed'], ['time']);
  const logins = useQuery(listQuery(adminListLogins, filters.query));
  const users = useUserNames(logins.data?.data.map(({ user_id: id }) => id));
  return (
    <Page title={t('title')} subtitle={t('lead')} size="xl" actions={<AuditAndLoginsTabs current="/admin/logins" />}>
      <FilterBar filters={filters}>
        <UserFilter filters={filters} />
        <ChoiceFilter
          filters={filters}
          name="failed"
          label={t('outcome')}
          width={210}
          choices={[{ value: 'true', label: t('onlyFailed') }]}
        />
      </FilterBar>
      <PagedTable
        label={t('title')}
        query={logins}
        filters={filters}
        rowKey={({ id }) => id}
        emptyState={<EmptyState icon={<IconLogin2 size={28} />} title={t('none')} />}
        columns={[
          { label: t('user'), cell: ({ user_id: id }) => <UserOrChannelLink to="users" id={id} names={users} /> },
          ...loginAttemptColumns(t),
        ]}
      />
    </Page>
  );
}
