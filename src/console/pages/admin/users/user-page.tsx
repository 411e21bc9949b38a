import { Badge, Button, Group, Select, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Suspense, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ROLES, type Role } from '../../../../contract/account-fields.ts';
import { adminCreateResetLink } from '../../../../contract/accounts.ts';
import {
  adminDeleteUser,
  adminEndSession,
  adminGetUser,
  adminListSessions,
  adminUpdateUser,
} from '../../../../contract/admin-accounts.ts';
import { getAllUsage } from '../../../../contract/ledger.ts';
import { adminResetSecondFactors } from '../../../../contract/passkeys.ts';
import { NO_PACKAGE } from '../../../../contract/plans.ts';
import { CopyField } from '../../../components/copy-button.tsx';
import { CreditAmount } from '../../../components/credit-amount.tsx';
import { DeletePanel } from '../../../components/delete-button.tsx';
import { ConfirmDialog, Dialog, FormDialog, OneTimeSecretDialog } from '../../../components/dialog.tsx';
import { ErrorAlert, QueryError } from '../../../components/error-alert.tsx';
import { AccountLimitFields, SpendLimitText, toLimitBody, toLimitDraft } from '../../../components/limit-fields.tsx';
import { RecentLoginAttempts, SessionRow } from '../../../components/login-attempts.tsx';
import { NewPasswordInput } from '../../../components/new-password-input.tsx';
import { Page, PageLoadingIndicator } from '../../../components/page.tsx';
import { Pager } from '../../../components/pager.tsx';
import { DescriptionList, Panel } from '../../../components/panel.tsx';
import { MissingPermissionNote, useCanManageRole } from '../../../components/permissions.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteButton, RouteLink, useRouteId } from '../../../components/route-link.tsx';
import { useFormValues, useSaveAndClose } from '../../../components/save-form.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { UsagePanel } from '../../../components/usage-panel.tsx';
import { dataQuery, listQuery, type User, useInvalidateQueries, usePlanNames } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { formatCount, formatDate, formatDeadline } from '../../../data/format-values.ts';
import { useStatus } from '../../../data/self.ts';
import { AssignPlanDialog, BalanceDialog } from './account-dialogs.tsx';

const DAYS = 30;

/** One user, with the actions an administrator can take. */
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
        <QueryError query={user} />
      </Page>
    );
  }
  return <UserDetails user={user.data} />;
}

function UserDetails({ user }: { readonly user: User }) {
  const { t } = useTranslation(['admin', 'admin-plans', 'app', 'account']);
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
      actions={
        managed ? (
          <>
            <Button variant="default" onClick={() => setDialog('edit')}>
              {t('app:edit')}
            </Button>
            <Button variant="default" disabled={user.status !== 1} onClick={() => setDialog('reset')}>
              {t('users.resetLink')}
            </Button>
            <ResetSecondFactors user={user} />
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
            <Panel title={t('account:loginHistory.title')}>
              <RecentLoginAttempts userId={user.id} />
            </Panel>
            <DeleteUser user={user} />
          </>
        ) : null}
      </Stack>
      {dialog === 'edit' ? <EditUserDialog user={user} onClose={() => setDialog(undefined)} /> : null}
      {dialog === 'reset' ? <ResetLinkDialog user={user} onClose={() => setDialog(undefined)} /> : null}
      {/* Texts of the dialog load when it first opens; the page stays visible meanwhile. */}
      <Suspense>
        {dialog === 'plan' ? (
          <AssignPlanDialog id={user.id} name={user.username} onClose={() => setDialog(undefined)} />
        ) : null}
      </Suspense>
      {dialog === 'quota' ? (
        <BalanceDialog
          name={user.username}
          quota={user.quota}
          change={(body, options) => callApi(adminUpdateUser, { params: { id: String(user.id) }, body }, options)}
          onClose={() => setDialog(undefined)}
        />
      ) : null}
    </Page>
  );
}

function AccountPanel({ user }: { readonly user: User }) {
  const { t } = useTranslation(['admin', 'app']);
  const planName = usePlanNames();
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
          [t('users.requests'), formatCount(user.request_count)],
          [
            t('app:spendLimit.label'),
            user.spend_limit === null ? (
              t('users.noOwnLimit')
            ) : (
              <SpendLimitText key="spendLimit" limit={user.spend_limit} />
            ),
          ],
          [
            t('users.concurrentTasks'),
            user.concurrent_tasks === null ? t('users.noOwnLimit') : formatCount(user.concurrent_tasks),
          ],
          [t('users.queuedTasks'), user.queued_tasks === null ? t('users.noOwnLimit') : formatCount(user.queued_tasks)],
          [t('users.displayName'), user.display_name || '–'],
          [t('users.email'), user.email || '–'],
          [
            t('users.plan'),
            user.current_package_code === NO_PACKAGE
              ? '–'
              : user.package_expires_at === 0
                ? planName(user.current_package_code)
                : t('users.planUntil', {
                    plan: planName(user.current_package_code),
                    day: formatDate(user.package_expires_at),
                  }),
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

/** Sends only changed fields, so that two administrators do not overwrite each other's changes. */
function EditUserDialog({ user: newest, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const { t } = useTranslation(['admin', 'app']);
  // Compared with a version that was fetched meanwhile, what another administrator has changed would be changed back.
  const [user] = useState(newest);
  const mayGive = useCanManageRole();
  const old = { display_name: user.display_name, email: user.email, role: user.role, status: toStatus(user.status) };
  const perUnit = useStatus().data?.quota_per_unit ?? 500_000;
  const oldLimits = toLimitDraft(user, perUnit);
  const { draft: form, set, text } = useFormValues({ ...old, ...oldLimits, password: '' });
  const changed = <Field extends keyof typeof old>(field: Field) =>
    form[field] === old[field] ? undefined : form[field];
  const save = useSaveAndClose(
    () => {
      const body = {
        display_name: changed('display_name'),
        email: changed('email'),
        role: changed('role'),
        status: changed('status'),
        password: form.password || undefined,
        ...toLimitBody(form, oldLimits, perUnit),
      };
      return callApi(adminUpdateUser, { params: { id: String(user.id) }, body });
    },
    { onClose },
  );
  return (
    <FormDialog
      title={t('users.editTitle', { name: user.username })}
      submitLabel={t('app:save')}
      save={save}
      onClose={onClose}
    >
      <TextInput
        label={t('users.displayName')}
        maxLength={60}
        required={old.display_name !== ''}
        data-autofocus
        {...text('display_name')}
      />
      <TextInput label={t('users.email')} type="email" {...text('email')} />
      <Select
        label={t('users.role')}
        description={t(`roleHints.${form.role}`)}
        data={ROLES.filter(mayGive).map((value) => ({ value, label: t(`roles.${value}`) }))}
        value={form.role}
        onChange={(role) => set({ role: (role ?? form.role) as Role })}
        allowDeselect={false}
      />
      <AccountLimitFields draft={form} onChange={set} />
      <NewPasswordInput label={t('users.newPassword')} description={t('users.newPasswordHint')} {...text('password')} />
      <Switch
        label={t('users.maySignIn')}
        description={t('users.maySignInHint')}
        checked={form.status === 1}
        onChange={(event) => set({ status: event.currentTarget.checked ? 1 : 2 })}
      />
    </FormDialog>
  );
}

const toStatus = (status: number): 1 | 2 => (status === 1 ? 1 : 2);

/**
 * Creates a password reset link for the administrator to pass on: for users who do not receive e-mail, or services that
 * send none.
 */
function ResetLinkDialog({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const { t } = useTranslation(['admin', 'app']);
  const invalidate = useInvalidateQueries();
  const create = useMutation({
    mutationFn: async () => (await callApi(adminCreateResetLink, { params: { id: String(user.id) } })).data,
    onSettled: invalidate,
  });
  const title = t('users.resetLinkTitle', { name: user.username });
  if (create.data !== undefined) {
    return (
      <OneTimeSecretDialog title={title} onClose={onClose}>
        <Stack>
          <Text size="sm">
            {t('users.resetLinkMade', { name: user.username, time: formatDeadline(create.data.expires_at) })}
          </Text>
          <CopyField text={create.data.url} focused />
          <Group justify="flex-end">
            <Button onClick={onClose}>{t('app:close')}</Button>
          </Group>
        </Stack>
      </OneTimeSecretDialog>
    );
  }
  return (
    <Dialog onClose={onClose} title={title}>
      <Stack>
        <Text size="sm">{t('users.resetLinkText', { name: user.username })}</Text>
        <ErrorAlert error={create.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            {t('app:cancel')}
          </Button>
          <Button loading={create.isPending} onClick={() => create.mutate()}>
            {t('users.resetLinkAction')}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

const PAGE_SIZE = 10;

/** Sessions of a user, each of which can be ended separately, for example for a lost or stolen device. */
function UserSessions({ user }: { readonly user: User }) {
  const { t } = useTranslation(['admin', 'account']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const [page, setPage] = useState(1);
  const params = { id: String(user.id) };
  const sessions = useQuery(listQuery(adminListSessions, { page: String(page), page_size: String(PAGE_SIZE) }, params));
  const end = useMutation({
    mutationFn: (id: number) => callApi(adminEndSession, { params: { ...params, session: String(id) } }),
    onSuccess: () => toasts.success(t('account:security.ended')),
    onSettled: invalidate,
  });
  return (
    <Panel title={t('account:security.sessions')}>
      <ErrorAlert error={sessions.error ?? end.error} />
      {sessions.data?.total === 0 ? (
        <Text size="sm" c="dimmed">
          {t('users.noSessions')}
        </Text>
      ) : null}
      <Stack gap="sm">
        {(sessions.data?.data ?? []).map((session) => (
          <SessionRow key={session.id} session={session}>
            {session.current ? null : (
              <Button
                size="compact-sm"
                variant="subtle"
                color="red"
                loading={end.isPending && end.variables === session.id}
                onClick={() => end.mutate(session.id)}
              >
                {t('account:security.endSession')}
              </Button>
            )}
          </SessionRow>
        ))}
      </Stack>
      <Pager page={page} total={sessions.data?.total ?? 0} pageSize={PAGE_SIZE} onChange={setPage} />
    </Panel>
  );
}

function DeleteUser({ user: { id, username: name } }: { readonly user: User }) {
  const { t } = useTranslation('admin');
  return (
    <DeletePanel
      heading={t('users.remove')}
      title={t('users.removeTitle', { name })}
      text={t('users.removeText')}
      confirmLabel={t('users.removeAction', { name })}
      remove={() => callApi(adminDeleteUser, { params: { id: String(id) } })}
      message={t('users.removed', { name })}
      listPage="/admin/users"
    />
  );
}

/** Removes passkeys and two-step verification of a user who lost them. */
function ResetSecondFactors({ user }: { readonly user: User }) {
  const { t } = useTranslation('sign-in');
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  return (
    <ConfirmDialog
      title={t('passkeys.reset.title', { name: user.username })}
      confirmLabel={t('passkeys.reset.action')}
      onConfirm={async () => {
        await callApi(adminResetSecondFactors, { params: { id: String(user.id) } });
        await invalidate();
        toasts.success(t('passkeys.reset.done'));
      }}
      trigger={(open) => (
        <Button variant="default" onClick={open}>
          {t('passkeys.reset.action')}
        </Button>
      )}
    >
      {t('passkeys.reset.text', { name: user.username })}
    </ConfirmDialog>
  );
}
