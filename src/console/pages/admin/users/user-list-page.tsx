import { Badge, Button, Group, Select, Text, TextInput } from '@mantine/core';
import { IconPlus, IconUsers } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DISABLED, ROLES, type Role } from '../../../../contract/account-fields.ts';
import { adminCreateUser, adminListUsers, adminUpdateUser } from '../../../../contract/admin-accounts.ts';
import { NO_PACKAGE } from '../../../../contract/plans.ts';
import { CreditAmount } from '../../../components/credit-amount.tsx';
import { PagedTable, type RowSelection, useRowSelection } from '../../../components/data-table.tsx';
import { FormDialog } from '../../../components/dialog.tsx';
import { AmountInput } from '../../../components/limit-fields.tsx';
import { BulkBar } from '../../../components/list/bulk-bar.tsx';
import { ChoiceFilter, FilterBar, TextFilter } from '../../../components/list/filter-bar.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { NewPasswordInput } from '../../../components/new-password-input.tsx';
import { EmptyState, Page } from '../../../components/page.tsx';
import { useCanManageRole } from '../../../components/permissions.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { useFormValues } from '../../../components/save-form.tsx';
import { useCreateRequest } from '../../../components/use-create-request.ts';
import { type ListItem, listQuery, useInvalidateQueries, usePlanNames } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { creditsToQuota } from '../../../data/field-values.ts';
import { formatAside } from '../../../data/format-values.ts';
import { useStatus } from '../../../data/self.ts';

/** One row of the list of users. */
export type UserListItem = ListItem<typeof adminListUsers>;

/** Users of the service. */
export function UserListPage() {
  const { t } = useTranslation(['admin', 'app']);
  const planName = usePlanNames();
  const filters = useListFilters(['q', 'role', 'status'], ['time']);
  const canManage = useCanManageRole();
  const selection = useRowSelection<UserListItem>(
    ({ id }) => id,
    ({ role }) => canManage(role),
  );
  const [making, setMaking] = useState(false);
  useCreateRequest(() => setMaking(true));
  const users = useQuery(listQuery(adminListUsers, filters.query));
  return (
    <Page
      title={t('app:pages.users')}
      subtitle={t('users.lead')}
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
          {
            label: t('users.plan'),
            cell: ({ current_package_code: code }) => (code === NO_PACKAGE ? '–' : planName(code)),
          },
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

/** Bulk actions for the selected users. */
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

const EMPTY_FORM = {
  username: '',
  password: '',
  email: '',
  role: 'user' as Role,
  credits: '' as number | string,
};

/** Creates an account for another person and opens its page. */
function NewUserDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation(['admin', 'app']);
  const perUnit = useStatus().data?.quota_per_unit;
  const invalidate = useInvalidateQueries();
  const mayGive = useCanManageRole();
  const navigate = useNavigate();
  const { draft: form, set, text, value } = useFormValues(EMPTY_FORM);
  const make = useMutation({
    mutationFn: async () => {
      const { username, password, role, email, credits } = form;
      const body = {
        username,
        password,
        role,
        email: email || undefined,
        quota: credits === '' ? undefined : creditsToQuota(Number(credits), perUnit),
      };
      return (await callApi(adminCreateUser, { body })).data.id;
    },
    onSuccess: async (id) => {
      await invalidate();
      onClose();
      await navigate({ to: '/admin/users/$id', params: { id: String(id) } });
    },
  });
  return (
    <FormDialog title={t('users.make')} submitLabel={t('users.make')} save={make} onClose={onClose}>
      <TextInput
        label={t('users.username')}
        description={t('users.usernameHint')}
        pattern="[a-z0-9_\-]{3,30}"
        autoCapitalize="none"
        required
        data-autofocus
        {...text('username')}
      />
      <NewPasswordInput
        label={t('users.password')}
        description={t('users.passwordHint')}
        required
        {...text('password')}
      />
      <TextInput label={formatAside(t('users.email'), t('app:optional'))} type="email" {...text('email')} />
      <Select
        label={t('users.role')}
        description={t(`roleHints.${form.role}`)}
        data={ROLES.filter(mayGive).map((value) => ({ value, label: t(`roles.${value}`) }))}
        value={form.role}
        onChange={(role) => set({ role: (role ?? 'user') as Role })}
        allowDeselect={false}
      />
      <AmountInput label={t('users.startBalance')} placeholder={t('app:optional')} {...value('credits')} />
    </FormDialog>
  );
}
