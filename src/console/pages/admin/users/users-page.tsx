import { Badge, Button, Group, Text } from '@mantine/core';
import { IconPlus, IconUsers } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminListUsers } from '../../../../contract/account-admin.ts';
import { ROLES } from '../../../../contract/roles.ts';
import { listQuery, type RowOf } from '../../../data/admin.ts';
import { Empty } from '../../../parts/empty.tsx';
import { Moment } from '../../../parts/moment.tsx';
import { Page } from '../../../parts/page.tsx';
import { Quota } from '../../../parts/quota.tsx';
import { ChoiceFilter, FilterBar, TextFilter } from '../frame/filter-bar.tsx';
import { useFilters } from '../frame/filters.ts';
import { RecordList } from '../frame/record-list.tsx';
import { ToLink } from '../frame/to-link.tsx';
import { NewUserDialog } from './new-user-dialog.tsx';

export type UserRow = RowOf<typeof adminListUsers>;
export const DISABLED = 2;

export function UsersPage() {
  const { t } = useTranslation(['admin', 'shell']);
  const filters = useFilters(['q', 'role', 'status']);
  const [making, setMaking] = useState(false);
  const users = useQuery(listQuery(adminListUsers, filters.query));
  return (
    <Page
      title={t('shell:pages.users')}
      lead={t('users.lead')}
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
      <RecordList
        label={t('shell:pages.users')}
        query={users}
        filters={filters}
        keyOf={({ id }) => id}
        empty={<Empty icon={<IconUsers size={28} />} title={t('users.emptyTitle')} />}
        columns={[
          { label: t('users.name'), cell: (user) => <Name user={user} /> },
          { label: t('users.email'), cell: ({ email }) => email || '–', wide: true },
          { label: t('users.balance'), align: 'right', cell: ({ quota }) => <Quota value={quota} /> },
          { label: t('users.used'), align: 'right', cell: ({ used_quota: used }) => <Quota value={used} /> },
          { label: t('users.plan'), cell: (user) => user.current_package_code || '–' },
          { label: t('users.created'), cell: (user) => <Moment at={user.created_time} size="sm" />, wide: true },
        ]}
      />
      {making ? <NewUserDialog onClose={() => setMaking(false)} /> : null}
    </Page>
  );
}

function Name({ user }: { readonly user: UserRow }) {
  const { t } = useTranslation('admin');
  return (
    <Group gap={6} wrap="nowrap">
      <div style={{ minWidth: 0 }}>
        <ToLink to={`/admin/users/${user.id}`} fw={600} size="sm">
          {user.username}
        </ToLink>
        <Text size="xs" c="dimmed" truncate maw={200}>
          {user.display_name === '' || user.display_name === user.username ? `#${user.id}` : user.display_name}
        </Text>
      </div>
      {user.role === 'user' ? null : <Badge color="ember">{t(`roles.${user.role}`)}</Badge>}
      {user.status === DISABLED ? <Badge color="red">{t('users.disabled')}</Badge> : null}
    </Group>
  );
}
