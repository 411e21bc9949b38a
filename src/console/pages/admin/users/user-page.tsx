import { Badge, Button, Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminGetUser } from '../../../../contract/admin-accounts.ts';
import { getAllUsage } from '../../../../contract/ledger.ts';
import { NO_PACKAGE } from '../../../../contract/plans.ts';
import { CreditAmount } from '../../../components/credit-amount.tsx';
import { DescriptionList } from '../../../components/description-list.tsx';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { MissingPermissionNote } from '../../../components/missing-permission-note.tsx';
import { Page } from '../../../components/page.tsx';
import { PageLoadingIndicator } from '../../../components/page-loading-indicator.tsx';
import { Panel } from '../../../components/panel.tsx';
import { RecentLoginAttempts } from '../../../components/recent-login-attempts.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteButton, RouteLink } from '../../../components/route-link.tsx';
import { useRouteId } from '../../../components/use-route-id.ts';
import type { User } from '../../../data/admin-types.ts';
import { formatDate } from '../../../data/format-times-and-durations.ts';
import { dataQuery } from '../../../data/query-any-admin-endpoint.ts';
import { useCanManageRole } from '../../../data/use-can-manage-user.ts';
import { UsagePanel } from '../overview/usage-panel.tsx';
import { AssignPlanDialog } from '../plans/assign-plan-dialog.tsx';
import { BalanceDialog } from './balance-dialog.tsx';
import { DeleteUser } from './delete-user.tsx';
import { EditUserDialog } from './edit-user-dialog.tsx';
import { ResetLinkDialog } from './reset-link-dialog.tsx';
import { UserSessions } from './user-sessions.tsx';

const DAYS = 30;

export function UserPage() {
  const { t } = useTranslation('admin');
  const id = useRouteId();
  const user = useQuery(dataQuery(adminGetUser, { params: { id } }));
  if (user.data === undefined) {
    return user.error === null ? (
      <PageLoadingIndicator />
    ) : (
      <Page
        title={t('users.one', { id })}
        actions={
          <RouteButton to="/admin/users" variant="default">
            {t('users.all')}
          </RouteButton>
        }
      >
        <ErrorAlert error={user.error} retry={() => void user.refetch()} />
      </Page>
    );
  }
  return <UserDetails user={user.data} />;
}

function UserDetails({ user }: { readonly user: User }) {
  const { t } = useTranslation(['admin', 'admin-plans', 'app', 'login-history']);
  const [dialog, setDialog] = useState<'edit' | 'quota' | 'plan' | 'reset'>();
  const nowMs = useMemo(() => Math.floor(Date.now() / 60_000) * 60_000, []);
  const usage = useQuery(dataQuery(getAllUsage, { query: { user_id: String(user.id), by: 'day,model' } }));
  const managed = useCanManageRole()(user.role);
  return (
    <Page
      title={user.username}
      subtitle={
        <RouteLink to="/admin/users" size="sm">
          {t('users.all')}
        </RouteLink>
      }
      size="xl"
      actions={
        managed ? (
          <>
            <Button variant="default" onClick={() => setDialog('edit')}>
              {t('app:edit')}
            </Button>
            <Button variant="default" disabled={user.status !== 1} onClick={() => setDialog('reset')}>
              {t('users.resetLink')}
            </Button>
            <Button variant="default" onClick={() => setDialog('plan')}>
              {t('admin-plans:assign.action')}
            </Button>
            <Button onClick={() => setDialog('quota')}>{t('users.changeBalance')}</Button>
          </>
        ) : null
      }
    >
      <Stack>
        {managed ? null : <MissingPermissionNote>{t('users.outOfRank')}</MissingPermissionNote>}
        <AccountPanel user={user} />
        <UsagePanel rows={usage.data?.rows} days={DAYS} nowMs={nowMs} />
        {managed ? (
          <>
            <UserSessions user={user} />
            <Panel title={t('login-history:title')}>
              <RecentLoginAttempts userId={user.id} />
            </Panel>
            <DeleteUser user={user} />
          </>
        ) : null}
      </Stack>
      {dialog === 'edit' ? <EditUserDialog user={user} onClose={() => setDialog(undefined)} /> : null}
      {dialog === 'reset' ? <ResetLinkDialog user={user} onClose={() => setDialog(undefined)} /> : null}
      {/* Its texts come when it is first opened; the page stays meanwhile. */}
      <Suspense>
        {dialog === 'plan' ? <AssignPlanDialog user={user} onClose={() => setDialog(undefined)} /> : null}
      </Suspense>
      {dialog === 'quota' ? <BalanceDialog user={user} onClose={() => setDialog(undefined)} /> : null}
    </Page>
  );
}

function AccountPanel({ user }: { readonly user: User }) {
  const { t } = useTranslation('admin');
  const ofUser = { user_id: user.id };
  return (
    <Panel
      title={t('users.account')}
      actions={
        <Group gap={6}>
          <Badge color={user.role === 'user' ? 'gray' : 'accent'}>{t(`roles.${user.role}`)}</Badge>
          <Badge color={user.status === 1 ? 'teal' : 'red'}>
            {user.status === 1 ? t('users.enabled') : t('users.disabled')}
          </Badge>
        </Group>
      }
    >
      <DescriptionList
        facts={[
          [t('users.balance'), <CreditAmount key="balance" value={user.quota} fw={650} />],
          [t('users.used'), <CreditAmount key="used" value={user.used_quota} />],
          [t('users.requests'), user.request_count.toLocaleString()],
          [t('users.displayName'), user.display_name || '–'],
          [t('users.email'), user.email || '–'],
          [
            t('users.plan'),
            user.current_package_code === NO_PACKAGE
              ? '–'
              : `${user.current_package_code}${user.package_expires_at === 0 ? '' : ` · ${formatDate(user.package_expires_at)}`}`,
          ],
          [t('users.secured'), user.has_2fa ? t('users.twoStep') : t('users.passwordOnly')],
          [t('users.created'), <RelativeTime key="created" at={user.created_time} />],
        ]}
      />
      <Group mt="lg" gap="xs">
        <RouteButton to="/admin/tasks" search={ofUser} variant="default" size="compact-sm">
          {t('users.seeTasks')}
        </RouteButton>
        <RouteButton to="/admin/ledger" search={ofUser} variant="default" size="compact-sm">
          {t('users.seeLedger')}
        </RouteButton>
        <RouteButton to="/admin/audit" search={{ target: `user:${user.id}` }} variant="default" size="compact-sm">
          {t('users.seeAudit')}
        </RouteButton>
      </Group>
    </Panel>
  );
}
