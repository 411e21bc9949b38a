import { Badge, Button, Group, Text } from '@mantine/core';
import { IconPlus, IconUsers } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DISABLED, ROLES } from '../../../../contract/account-fields.ts';
import { adminListUsers, adminUpdateUser } from '../../../../contract/admin-accounts.ts';
import { NO_PACKAGE } from '../../../../contract/plans.ts';
import { CreditAmount } from '../../../components/credit-amount.tsx';
import { EmptyState } from '../../../components/empty-state.tsx';
import { BulkBar } from '../../../components/list/bulk-bar.tsx';
import { ChoiceFilter, FilterBar, TextFilter } from '../../../components/list/filter-bar-and-fields.tsx';
import { PagedTable } from '../../../components/list/paged-table.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { type RowSelection, useRowSelection } from '../../../components/list/use-row-selection.ts';
import { Page } from '../../../components/page.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { callApi } from '../../../data/api-client.ts';
import { type ListItem, listQuery, useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';
import { useCanManageRole } from '../../../data/use-can-manage-user.ts';
import { NewUserDialog } from './new-user-dialog.tsx';

export type UserListItem = ListItem<typeof adminListUsers>;

export function UserListPage() {
  const { t } = useTranslation(['admin', 'app']);
  const filters = useListFilters(['q', 'role', 'status'], ['time']);
  const canManage = useCanManageRole();
  const selection = useRowSelection<UserListItem>(
    ({ id }) => id,
    ({ role }) => canManage(role),
  );
  const [making, setMaking] = useState(false);
  const users = useQuery(listQuery(adminListUsers, filters.query));
  return (
    <Page
      title={t('app:pages.users')}
      subtitle={t('users.lead')}
      size="xl"
      actions={
        <Button leftSection={<IconPlus size={16} />} onClick={() => setMaking(true)}>
          {t('users.make')}
        </Button>
      }
    >
      <FilterBar filters={filters}>
        <TextFilter filters={filters} name="q" label={t('users.search')} width={260} />
        <ChoiceFilter
          filters={filters}
          name="role"
          label={t('users.role')}
          choices={ROLES.map((value) => ({ value, label: t(`roles.${value}`) }))}
        />
        <ChoiceFilter
          filters={filters}
          name="status"
          label={t('users.status')}
          choices={[
            { value: '1', label: t('users.enabled') },
            { value: '2', label: t('users.disabled') },
          ]}
        />
      </FilterBar>
      <PagedTable
        label={t('app:pages.users')}
        query={users}
        filters={filters}
        rowKey={({ id }) => id}
        selection={selection}
        emptyState={<EmptyState icon={<IconUsers size={28} />} title={t('users.emptyTitle')} />}
        columns={[
          { label: t('users.name'), cell: (user) => <UserName user={user} /> },
          { label: t('users.email'), cell: ({ email }) => email || '–', hideOnPhone: true },
          { label: t('users.balance'), align: 'right', cell: ({ quota }) => <CreditAmount value={quota} /> },
          { label: t('users.used'), align: 'right', cell: ({ used_quota: used }) => <CreditAmount value={used} /> },
          { label: t('users.plan'), cell: ({ current_package_code: code }) => (code === NO_PACKAGE ? '–' : code) },
          {
            label: t('users.created'),
            sortKey: 'time',
            cell: (user) => <RelativeTime at={user.created_time} size="sm" />,
            hideOnPhone: true,
          },
        ]}
      />
      <UserBulkBar selection={selection} />
      {making ? <NewUserDialog onClose={() => setMaking(false)} /> : null}
    </Page>
  );
}

/** What can be done with several at once. */
function UserBulkBar({ selection }: { readonly selection: RowSelection<UserListItem> }) {
  const { t } = useTranslation('admin');
  const invalidate = useInvalidateQueries();
  const setStatus = (status: 1 | 2) => (user: UserListItem) =>
    callApi(adminUpdateUser, { params: { id: String(user.id) }, body: { status } });
  return (
    <BulkBar
      selection={selection}
      nameOf={({ username }) => username}
      onDone={invalidate}
      actions={[
        {
          id: 'disable',
          label: t('users.disable'),
          text: t('users.maySignInHint'),
          appliesTo: ({ status }) => status !== DISABLED,
          run: setStatus(2),
          isDangerous: true,
        },
        {
          id: 'enable',
          label: t('users.enable'),
          text: t('users.enableHint'),
          appliesTo: ({ status }) => status === DISABLED,
          run: setStatus(1),
        },
      ]}
    />
  );
}

function UserName({ user }: { readonly user: UserListItem }) {
  const { t } = useTranslation('admin');
  return (
    <Group gap={6} wrap="nowrap">
      <div style={{ minWidth: 0 }}>
        <RouteLink to="/admin/users/$id" params={{ id: String(user.id) }} fw={600} size="sm">
          {user.username}
        </RouteLink>
        <Text size="xs" c="dimmed" truncate maw={200}>
          {user.display_name === '' || user.display_name === user.username ? `#${user.id}` : user.display_name}
        </Text>
      </div>
      {user.role === 'user' ? null : <Badge color="accent">{t(`roles.${user.role}`)}</Badge>}
      {user.status === DISABLED ? <Badge color="red">{t('users.disabled')}</Badge> : null}
    </Group>
  );
}
