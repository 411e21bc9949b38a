import { Button, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CLOSED, DISABLED, ENABLED } from '../../../../contract/account-fields.ts';
import { getAllUsage } from '../../../../contract/ledger.ts';
import * as endpoints from '../../../../contract/organizations.ts';
import { CreditAmount } from '../../../components/credit-amount.tsx';
import { type Column, DataTable } from '../../../components/data-table.tsx';
import { ConfirmDialog } from '../../../components/dialog.tsx';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { Page, PageLoadingIndicator } from '../../../components/page.tsx';
import { DescriptionList, Panel } from '../../../components/panel.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteButton, RouteLink, useRouteId } from '../../../components/route-link.tsx';
import { SpendLimitText } from '../../../components/spend-limit.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { UsagePanel } from '../../../components/usage-panel.tsx';
import { dataQuery, type ListItem, listQuery, useInvalidateQueries } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { formatDate } from '../../../data/format-times.ts';
import { BalanceDialog } from '../users/balance-dialog.tsx';
import { type OrganizationItem, StatusBadge, toPlanText } from './organization-list-page.tsx';

const DAYS = 30;

/** One organization, with the actions an administrator can take. */
export function AdminOrganizationPage() {
  const { t } = useTranslation('admin-organizations');
  const id = useRouteId();
  const found = useQuery(listQuery(endpoints.adminListOrganizations, { ids: id }));
  const [organization] = found.data?.data ?? [];
  if (organization !== undefined) return <Details organization={organization} />;
  if (found.data === undefined && found.error === null) return <PageLoadingIndicator />;
  return (
    <Page title={t('one', { id })} subtitle={<AllLink />}>
      {found.error === null ? <Text>{t('missing')}</Text> : null}
      <ErrorAlert error={found.error} retry={() => void found.refetch()} />
    </Page>
  );
}

function AllLink() {
  const { t } = useTranslation('admin-organizations');
  return (
    <RouteLink to="/admin/organizations" size="sm">
      {t('all')}
    </RouteLink>
  );
}

interface OfOrganization {
  readonly organization: OrganizationItem;
}

function Details({ organization }: OfOrganization) {
  const { t } = useTranslation('admin-organizations');
  const { id, name, quota } = organization;
  const [isChanging, setChanging] = useState(false);
  const nowMs = useMemo(() => Math.floor(Date.now() / 60_000) * 60_000, []);
  const usage = useQuery(dataQuery(getAllUsage, { query: { user_id: String(id), by: 'day,model' } }));
  return (
    <Page
      title={name}
      subtitle={<AllLink />}
      size="xl"
      actions={
        <>
          <Actions organization={organization} />
          <Button onClick={() => setChanging(true)}>{t('changeBalance')}</Button>
        </>
      }
    >
      <Stack>
        <Facts organization={organization} />
        <UsagePanel rows={usage.data?.rows} days={DAYS} nowMs={nowMs} />
        <Members id={id} />
      </Stack>
      {isChanging ? (
        <BalanceDialog
          name={name}
          quota={quota}
          change={(body) => callApi(endpoints.adminUpdateOrganization, { params: { id: String(id) }, body })}
          onClose={() => setChanging(false)}
        />
      ) : null}
    </Page>
  );
}

/** Disables or enables an open organization, closes it, or restores a closed one. */
function Actions({ organization: { id, name, status } }: OfOrganization) {
  const { t } = useTranslation(['admin-organizations', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const params = { id: String(id) };
  const run = async (change: () => Promise<unknown>): Promise<void> => {
    await change();
    await invalidate();
    toasts.success(t('app:saved'));
  };
  const setStatus = (next: 1 | 2) => callApi(endpoints.adminUpdateOrganization, { params, body: { status: next } });
  const actions = {
    restore: {
      isOffered: status === CLOSED,
      change: () => callApi(endpoints.adminRestoreOrganization, { params, body: {} }),
    },
    enable: { isOffered: status === DISABLED, change: () => setStatus(ENABLED) },
    disable: { isOffered: status === ENABLED, change: () => setStatus(DISABLED) },
    close: {
      isOffered: status === ENABLED,
      change: () => callApi(endpoints.adminCloseOrganization, { params, body: {} }),
    },
  } as const;
  return (Object.keys(actions) as (keyof typeof actions)[])
    .filter((action) => actions[action].isOffered)
    .map((action) => (
      <ConfirmDialog
        key={action}
        title={t(`${action}.title`, { name })}
        confirmLabel={t(`${action}.action`)}
        onConfirm={() => run(actions[action].change)}
        trigger={(open) => (
          <Button variant="default" onClick={open}>
            {t(`${action}.action`)}
          </Button>
        )}
      >
        {t(`${action}.text`)}
      </ConfirmDialog>
    ));
}

function Facts({ organization }: OfOrganization) {
  const { t } = useTranslation('admin-organizations');
  const { id, slug, owners, members, quota, used_quota: used, plan, status, created_time, deletes_at } = organization;
  const ofOrganization = { user_id: id };
  return (
    <Panel title={t('account')} actions={<StatusBadge status={status} />}>
      <DescriptionList
        facts={[
          [t('balance'), <CreditAmount key="balance" value={quota} fw={650} />],
          [t('used'), <CreditAmount key="used" value={used} />],
          [t('plan'), toPlanText(plan)],
          [t('slug'), slug],
          [t('owners'), owners.join(', ') || '–'],
          [t('members'), members],
          [t('created'), <RelativeTime key="created" at={created_time} />],
          ...(deletes_at === null ? [] : [[t('deletes'), formatDate(deletes_at)] as const]),
        ]}
      />
      <Stack mt="lg" gap="xs" align="flex-start">
        <RouteButton to="/admin/costs" search={ofOrganization} variant="default" size="compact-sm">
          {t('costs')}
        </RouteButton>
        <RouteButton to="/admin/requests" search={ofOrganization} variant="default" size="compact-sm">
          {t('requests')}
        </RouteButton>
        <RouteButton to="/admin/audit" search={{ target: `organization:${id}` }} variant="default" size="compact-sm">
          {t('changes')}
        </RouteButton>
      </Stack>
    </Panel>
  );
}

type Member = ListItem<typeof endpoints.adminListMembers>;

function Members({ id }: { readonly id: number }) {
  const { t } = useTranslation(['admin-organizations', 'organizations']);
  const members = useQuery(listQuery(endpoints.adminListMembers, { page_size: '50' }, { id: String(id) }));
  const columns: readonly Column<Member>[] = [
    {
      label: t('name'),
      cell: ({ user_id: user, username }) => (
        <RouteLink to="/admin/users/$id" params={{ id: String(user) }} size="sm">
          {username || `#${user}`}
        </RouteLink>
      ),
    },
    { label: t('organizations:roleLabel'), cell: ({ role }) => t(`organizations:role.${role}`) },
    {
      label: t('organizations:limit'),
      cell: ({ spend_limit: limit }) =>
        limit === null ? t('organizations:noLimit') : <SpendLimitText limit={limit} />,
    },
    { label: t('joined'), cell: ({ joined_time: at }) => <RelativeTime at={at} size="sm" />, hideOnPhone: true },
  ];
  return (
    <Panel title={t('members')}>
      <ErrorAlert error={members.error} retry={() => void members.refetch()} />
      <DataTable
        label={t('members')}
        rows={members.data?.data ?? []}
        rowKey={({ user_id: user }) => user}
        columns={columns}
      />
    </Panel>
  );
}
