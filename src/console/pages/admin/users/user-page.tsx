import { Badge, Button, Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminGetUser } from '../../../../contract/account-admin.ts';
import { getAllUsage } from '../../../../contract/usage.ts';
import { type DataOf, dataQuery } from '../../../data/admin.ts';
import { useMayManage } from '../../../data/names.ts';
import { toDay } from '../../../data/time.ts';
import { Failure } from '../../../parts/failure.tsx';
import { Moment } from '../../../parts/moment.tsx';
import { Page } from '../../../parts/page.tsx';
import { PageLoader } from '../../../parts/page-loader.tsx';
import { Quota } from '../../../parts/quota.tsx';
import { Facts, Panel } from '../frame/facts.tsx';
import { OutOfRank } from '../frame/out-of-rank.tsx';
import { ToButton, ToLink } from '../frame/to-link.tsx';
import { useId } from '../frame/use-id.ts';
import { UsagePlot } from '../overview/usage-plot.tsx';
import { GivePlanDialog } from '../plans/give-plan-dialog.tsx';
import { EditUserDialog } from './edit-user-dialog.tsx';
import { QuotaDialog } from './quota-dialog.tsx';
import { UserDanger } from './user-danger.tsx';
import { UserSessions } from './user-sessions.tsx';

export type User = DataOf<typeof adminGetUser>;
const DAYS = 30;

export function UserPage() {
  const { t } = useTranslation('admin');
  const id = useId();
  const user = useQuery(dataQuery(adminGetUser, { params: { id } }));
  if (user.data === undefined) {
    return user.error === null ? (
      <PageLoader />
    ) : (
      <Page
        title={t('users.one', { id })}
        actions={
          <ToButton to="/admin/users" variant="default">
            {t('users.all')}
          </ToButton>
        }
      >
        <Failure error={user.error} retry={() => void user.refetch()} />
      </Page>
    );
  }
  return <Known user={user.data} />;
}

function Known({ user }: { readonly user: User }) {
  const { t } = useTranslation(['admin', 'plans', 'shell']);
  const [dialog, setDialog] = useState<'edit' | 'quota' | 'plan'>();
  const nowMs = useMemo(() => Math.floor(Date.now() / 60_000) * 60_000, []);
  const usage = useQuery(dataQuery(getAllUsage, { query: { user_id: String(user.id), by: 'day,model' } }));
  const of = { user_id: user.id };
  const managed = useMayManage()(user.role);
  return (
    <Page
      title={user.username}
      lead={
        <ToLink to="/admin/users" size="sm">
          {t('users.all')}
        </ToLink>
      }
      size="xl"
      actions={
        managed ? (
          <>
            <Button variant="default" onClick={() => setDialog('edit')}>
              {t('shell:edit')}
            </Button>
            <Button variant="default" onClick={() => setDialog('plan')}>
              {t('plans:give.action')}
            </Button>
            <Button onClick={() => setDialog('quota')}>{t('users.changeBalance')}</Button>
          </>
        ) : null
      }
    >
      <Stack>
        {managed ? null : <OutOfRank>{t('users.outOfRank')}</OutOfRank>}
        <Panel
          title={t('users.account')}
          actions={
            <Group gap={6}>
              <Badge color={user.role === 'user' ? 'gray' : 'ember'}>{t(`roles.${user.role}`)}</Badge>
              <Badge color={user.status === 1 ? 'teal' : 'red'}>
                {user.status === 1 ? t('users.enabled') : t('users.disabled')}
              </Badge>
            </Group>
          }
        >
          <Facts
            facts={[
              [t('users.balance'), <Quota key="balance" value={user.quota} fw={650} />],
              [t('users.used'), <Quota key="used" value={user.used_quota} />],
              [t('users.requests'), user.request_count.toLocaleString()],
              [t('users.displayName'), user.display_name || '–'],
              [t('users.email'), user.email || '–'],
              [
                t('users.plan'),
                user.current_package_code === ''
                  ? '–'
                  : `${user.current_package_code}${user.package_expires_at === 0 ? '' : ` · ${toDay(user.package_expires_at)}`}`,
              ],
              [t('users.secured'), user.has_2fa ? t('users.twoStep') : t('users.passwordOnly')],
              [t('users.created'), <Moment key="created" at={user.created_time} />],
            ]}
          />
          <Group mt="lg" gap="xs">
            <ToButton to="/admin/tasks" search={of} variant="default" size="compact-sm">
              {t('users.seeTasks')}
            </ToButton>
            <ToButton to="/admin/ledger" search={of} variant="default" size="compact-sm">
              {t('users.seeLedger')}
            </ToButton>
            <ToButton to="/admin/audit" search={{ target: `user:${user.id}` }} variant="default" size="compact-sm">
              {t('users.seeAudit')}
            </ToButton>
          </Group>
        </Panel>
        <UsagePlot rows={usage.data?.rows} days={DAYS} nowMs={nowMs} />
        {managed ? (
          <>
            <UserSessions user={user} />
            <UserDanger user={user} />
          </>
        ) : null}
      </Stack>
      {dialog === 'edit' ? <EditUserDialog user={user} onClose={() => setDialog(undefined)} /> : null}
      {dialog === 'plan' ? <GivePlanDialog user={user} onClose={() => setDialog(undefined)} /> : null}
      {dialog === 'quota' ? <QuotaDialog user={user} onClose={() => setDialog(undefined)} /> : null}
    </Page>
  );
}
