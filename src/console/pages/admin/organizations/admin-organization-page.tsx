import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import { IconUsersGroup } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Suspense, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CLOSED, DISABLED, ENABLED } from '../../../../contract/account-fields.ts';
import { getAllUsage } from '../../../../contract/ledger.ts';
import * as endpoints from '../../../../contract/organizations.ts';
import { adminListOrganizations } from '../../../../contract/organizations.ts';
import { NO_PACKAGE } from '../../../../contract/plans.ts';
import { CreditAmount } from '../../../components/credit-amount.tsx';
import { type Column, DataTable, PagedTable } from '../../../components/data-table.tsx';
import { ConfirmDialog, FormDialog } from '../../../components/dialog.tsx';
import { QueryError } from '../../../components/error-alert.tsx';
import { AccountLimitFields, SpendLimitText, toLimitBody, toLimitDraft } from '../../../components/limit-fields.tsx';
import { FilterBar, TextFilter } from '../../../components/list/filter-bar.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { EmptyState, Page, PageLoadingIndicator } from '../../../components/page.tsx';
import { Pager } from '../../../components/pager.tsx';
import { DescriptionList, Panel } from '../../../components/panel.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteButton, RouteLink, useRouteId } from '../../../components/route-link.tsx';
import { useFormValues, useSaveAndClose } from '../../../components/save-form.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { UsagePanel } from '../../../components/usage-panel.tsx';
import { dataQuery, type ListItem, listQuery, useInvalidateQueries, usePlanNames } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { formatCount, formatDate, formatNames } from '../../../data/format-values.ts';
import { useStatus } from '../../../data/self.ts';
import { AssignPlanDialog, BalanceDialog } from '../users/account-dialogs.tsx';

const DAYS = 30;
const PAGE_SIZE = 50;

/** One organization, with the actions an administrator can take. */
export function AdminOrganizationPage() {
  const { t } = useTranslation('organizations');
  const id = useRouteId();
  const found = useQuery(listQuery(endpoints.adminListOrganizations, { ids: id }));
  const [organization] = found.data?.data ?? [];
  if (organization !== undefined) return <Details organization={organization} />;
  if (found.data === undefined && found.error === null) return <PageLoadingIndicator />;
  return (
    <Page title={t('admin.one', { id })} subtitle={<AllLink />}>
      {found.error === null ? <Text>{t('admin.missing')}</Text> : null}
      <QueryError query={found} />
    </Page>
  );
}

function AllLink() {
  const { t } = useTranslation('organizations');
  return (
    <RouteLink to="/admin/organizations" size="sm">
      {t('admin.all')}
    </RouteLink>
  );
}

interface OfOrganization {
  readonly organization: OrganizationItem;
}

function Details({ organization }: OfOrganization) {
  const { t } = useTranslation(['organizations', 'admin-plans']);
  const { id, name, quota, status } = organization;
  const [dialog, setDialog] = useState<'balance' | 'limits' | 'plan'>();
  const close = () => setDialog(undefined);
  const nowMs = useMemo(() => Math.floor(Date.now() / 60_000) * 60_000, []);
  const usage = useQuery(dataQuery(getAllUsage, { query: { user_id: String(id), by: 'day,model' } }));
  return (
    <Page
      title={name}
      subtitle={<AllLink />}
      actions={
        <>
          <Actions organization={organization} />
          <Button variant="default" onClick={() => setDialog('limits')}>
            {t('admin.limits')}
          </Button>
          <Button variant="default" disabled={status !== ENABLED} onClick={() => setDialog('plan')}>
            {t('admin-plans:assign.action')}
          </Button>
          <Button onClick={() => setDialog('balance')}>{t('admin.changeBalance')}</Button>
        </>
      }
    >
      <Stack>
        <Facts organization={organization} />
        <UsagePanel rows={usage.data?.rows} days={DAYS} nowMs={nowMs} />
        <Members id={id} />
      </Stack>
      {/* Texts of the dialogs load when one first opens; the page stays visible meanwhile. */}
      <Suspense>
        {dialog === 'plan' ? <AssignPlanDialog id={id} name={name} onClose={close} /> : null}
        {dialog === 'limits' ? <LimitsDialog organization={organization} onClose={close} /> : null}
      </Suspense>
      {dialog === 'balance' ? (
        <BalanceDialog
          name={name}
          quota={quota}
          change={(body, options) =>
            callApi(endpoints.adminUpdateOrganization, { params: { id: String(id) }, body }, options)
          }
          onClose={close}
        />
      ) : null}
    </Page>
  );
}

interface LimitsDialogProps extends OfOrganization {
  readonly onClose: () => void;
}

/** Limits of an organization, which take precedence over its plan. */
function LimitsDialog({ organization, onClose }: LimitsDialogProps) {
  const { t } = useTranslation(['organizations', 'app']);
  const perUnit = useStatus().data?.quota_per_unit ?? 500_000;
  // As opened: a version that was fetched meanwhile would make changes of others look like those of this form.
  const [old] = useState(() => toLimitDraft(organization, perUnit));
  const { draft, set } = useFormValues(old);
  const params = { id: String(organization.id) };
  const save = useSaveAndClose(
    () => callApi(endpoints.adminUpdateOrganization, { params, body: toLimitBody(draft, old, perUnit) }),
    { onClose },
  );
  return (
    <FormDialog
      title={t('admin.limitsTitle', { name: organization.name })}
      submitLabel={t('app:save')}
      save={save}
      onClose={onClose}
    >
      <AccountLimitFields draft={draft} onChange={set} />
    </FormDialog>
  );
}

/** Disables or enables an open organization, closes it, or restores a closed one. */
function Actions({ organization: { id, name, status } }: OfOrganization) {
  const { t } = useTranslation(['organizations', 'app']);
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
        title={t(`admin.${action}.title`, { name })}
        confirmLabel={t(`admin.${action}.action`)}
        onConfirm={() => run(actions[action].change)}
        trigger={(open) => (
          <Button variant="default" onClick={open}>
            {t(`admin.${action}.action`)}
          </Button>
        )}
      >
        {t(`admin.${action}.text`)}
      </ConfirmDialog>
    ));
}

function Facts({ organization }: OfOrganization) {
  const { t } = useTranslation(['organizations', 'admin', 'app']);
  const { id, slug, owners, members, quota, used_quota: used, status, created_time, deletes_at } = organization;
  const { plan, plan_expires_at: planEnd, spend_limit: limit, concurrent_tasks, queued_tasks } = organization;
  const planName = usePlanNames();
  const ofOrganization = { user_id: id };
  return (
    <Panel title={t('admin.account')} actions={<StatusBadge status={status} />}>
      <DescriptionList
        facts={[
          [t('admin.balance'), <CreditAmount key="balance" value={quota} fw={650} />],
          [t('admin.used'), <CreditAmount key="used" value={used} />],
          [
            t('admin.plan'),
            planEnd === 0
              ? toPlanText(plan, planName)
              : t('admin.planUntil', { plan: planName(plan), day: formatDate(planEnd) }),
          ],
          [t('app:spendLimit.label'), limit === null ? '–' : <SpendLimitText key="limit" limit={limit} />],
          [t('admin:users.concurrentTasks'), concurrent_tasks === null ? '–' : formatCount(concurrent_tasks)],
          [t('admin:users.queuedTasks'), queued_tasks === null ? '–' : formatCount(queued_tasks)],
          [t('admin.slug'), slug],
          [t('admin.owners'), formatNames(owners) || '–'],
          [t('admin.members'), members],
          [t('admin.created'), <RelativeTime key="created" at={created_time} />],
          ...(deletes_at === null ? [] : [[t('admin.deletes'), formatDate(deletes_at)] as const]),
        ]}
      />
      <Stack mt="lg" gap="xs" align="flex-start">
        <RouteButton to="/admin/costs" search={ofOrganization} variant="default" size="compact-sm">
          {t('admin.costs')}
        </RouteButton>
        <RouteButton to="/admin/requests" search={ofOrganization} variant="default" size="compact-sm">
          {t('admin.requests')}
        </RouteButton>
        <RouteButton to="/admin/audit" search={{ organization_id: id }} variant="default" size="compact-sm">
          {t('admin.changes')}
        </RouteButton>
      </Stack>
    </Panel>
  );
}

type Member = ListItem<typeof endpoints.adminListMembers>;

function Members({ id }: { readonly id: number }) {
  const { t } = useTranslation('organizations');
  const [page, setPage] = useState(1);
  const members = useQuery(
    listQuery(endpoints.adminListMembers, { page: String(page), page_size: String(PAGE_SIZE) }, { id: String(id) }),
  );
  const columns: readonly Column<Member>[] = [
    {
      label: t('admin.name'),
      cell: ({ user_id: user, username }) => (
        <RouteLink to="/admin/users/$id" params={{ id: String(user) }} size="sm">
          {username || `#${user}`}
        </RouteLink>
      ),
    },
    { label: t('roleLabel'), cell: ({ role }) => t(`role.${role}`) },
    {
      label: t('limit'),
      cell: ({ spend_limit: limit }) => (limit === null ? t('noLimit') : <SpendLimitText limit={limit} />),
    },
    { label: t('admin.joined'), cell: ({ joined_time: at }) => <RelativeTime at={at} size="sm" />, hideOnPhone: true },
  ];
  return (
    <Panel title={t('admin.members')}>
      <QueryError query={members} />
      <DataTable
        label={t('admin.members')}
        rows={members.data?.data ?? []}
        rowKey={({ user_id: user }) => user}
        columns={columns}
      />
      <Pager page={page} total={members.data?.total ?? 0} pageSize={PAGE_SIZE} onChange={setPage} />
    </Panel>
  );
}

/** An organization as administrators see it. */
type OrganizationItem = ListItem<typeof adminListOrganizations>;

/** Organizations of the service. */
export function OrganizationListPage() {
  const { t } = useTranslation(['organizations', 'app']);
  const filters = useListFilters(['q']);
  const organizations = useQuery(listQuery(adminListOrganizations, filters.query));
  const planName = usePlanNames();
  return (
    <Page
      title={t('app:pages.organizations')}
      subtitle={t('admin.lead')}
      actions={
        <RouteButton to="/admin/costs" search={{ by: 'organization' }} variant="default">
          {t('admin.costs')}
        </RouteButton>
      }
    >
      <FilterBar filters={filters}>
        <TextFilter filters={filters} name="q" label={t('admin.search')} width={260} />
      </FilterBar>
      <PagedTable
        label={t('app:pages.organizations')}
        query={organizations}
        filters={filters}
        rowKey={({ id }) => id}
        emptyState={
          <EmptyState icon={<IconUsersGroup size={28} />} title={t('admin.emptyTitle')}>
            {t('admin.emptyText')}
          </EmptyState>
        }
        columns={[
          { label: t('admin.name'), cell: (organization) => <Name organization={organization} /> },
          { label: t('admin.owners'), cell: ({ owners }) => formatNames(owners) || '–' },
          { label: t('admin.members'), align: 'right', cell: ({ members }) => members },
          { label: t('admin.balance'), align: 'right', cell: ({ quota }) => <CreditAmount value={quota} /> },
          { label: t('admin.used'), align: 'right', cell: ({ used_quota: used }) => <CreditAmount value={used} /> },
          { label: t('admin.plan'), cell: ({ plan }) => toPlanText(plan, planName) },
          {
            label: t('admin.created'),
            cell: ({ created_time: at }) => <RelativeTime at={at} size="sm" />,
            hideOnPhone: true,
          },
        ]}
      />
    </Page>
  );
}

/** The name of a plan, or a dash. @param nameOf name of a plan by its code */
const toPlanText = (plan: string, nameOf: (code: string) => string): string =>
  plan === NO_PACKAGE || plan === '' ? '–' : nameOf(plan);

function Name({ organization: { id, name, slug, status } }: { readonly organization: OrganizationItem }) {
  return (
    <Group gap={6} wrap="nowrap">
      <div style={{ minWidth: 0 }}>
        <RouteLink
          to="/admin/organizations/$id"
          params={{ id: String(id) }}
          fw={600}
          size="sm"
          style={{ overflowWrap: 'anywhere' }}
        >
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
function StatusBadge({ status }: { readonly status: number }) {
  const { t } = useTranslation('organizations');
  if (status === CLOSED) return <Badge color="gray">{t('admin.closed')}</Badge>;
  return status === DISABLED ? <Badge color="red">{t('admin.disabled')}</Badge> : null;
}
