import { Select, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { adminGetUser } from '../../../../contract/admin-accounts.ts';
import { NO_PACKAGE } from '../../../../contract/plans.ts';
import { adminGetTicket, adminUpdateTicket, TICKET_STATUS, type TicketStatus } from '../../../../contract/tickets.ts';
import { CreditAmount } from '../../../components/credit-amount.tsx';
import { DescriptionList } from '../../../components/description-list.tsx';
import { ErrorAlert, toErrorMessage } from '../../../components/error-alert.tsx';
import { MissingPermissionNote } from '../../../components/missing-permission-note.tsx';
import { Page } from '../../../components/page.tsx';
import { PageLoadingIndicator } from '../../../components/page-loading-indicator.tsx';
import { Panel } from '../../../components/panel.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { TicketStatusBadge } from '../../../components/ticket-status-and-waiting-for.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { useRouteId } from '../../../components/use-route-id.ts';
import type { AdminTicket } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';
import { dataQuery, useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';
import { useCanManageUser } from '../../../data/use-can-manage-user.ts';
import { AdminReplyForm } from './admin-reply-form.tsx';
import { WaitingFor } from './admin-ticket-list-page.tsx';
import { DeleteTicket } from './delete-ticket.tsx';
import { Conversation } from './ticket-message-list.tsx';

const REFRESH_MS = 10_000;

/** One ticket with its replies and notes; new entries of others appear automatically. */
export function AdminTicketPage() {
  const { t } = useTranslation('admin-tickets');
  const id = useRouteId();
  const ticket = useQuery({ ...dataQuery(adminGetTicket, { params: { id } }), refetchInterval: REFRESH_MS });
  if (ticket.data !== undefined) return <TicketDetails ticket={ticket.data} />;
  if (ticket.error === null) return <PageLoadingIndicator />;
  return (
    <Page title={t('one', { id })} subtitle={<RouteLink to="/admin/tickets">{t('all')}</RouteLink>} size="md">
      <ErrorAlert error={ticket.error} retry={() => void ticket.refetch()} />
    </Page>
  );
}

function TicketDetails({ ticket }: { readonly ticket: AdminTicket }) {
  const { t } = useTranslation('admin-tickets');
  const managed = useCanManageUser([ticket.user_id])(ticket.user_id);
  return (
    <Page
      title={ticket.title}
      subtitle={
        <>
          <RouteLink to="/admin/tickets" underline="always">
            {t('all')}
          </RouteLink>{' '}
          · #{ticket.id}
          {ticket.category === '' ? '' : ` · ${ticket.category}`}
        </>
      }
      size="md"
      actions={
        <>
          <WaitingFor turn={ticket.waiting_for} />
          <TicketStatusBadge status={ticket.status} />
        </>
      }
    >
      <Stack>
        <RequesterPanel ticket={ticket} />
        <Conversation ticket={ticket} />
        {ticket.status === 'closed' ? (
          <Text size="sm" c="dimmed">
            {t(managed ? 'closed' : 'closedOnly')}
          </Text>
        ) : (
          <AdminReplyForm key={ticket.id} ticket={ticket} />
        )}
        {managed ? (
          <>
            <StatusSelect ticket={ticket} />
            <DeleteTicket id={ticket.id} />
          </>
        ) : (
          <MissingPermissionNote>{t('outOfRank')}</MissingPermissionNote>
        )}
      </Stack>
    </Page>
  );
}

/** Information about the ticket's author that an administrator needs for a reply, without leaving the page. */
function RequesterPanel({ ticket }: { readonly ticket: AdminTicket }) {
  const { t } = useTranslation(['admin-tickets', 'admin']);
  const { data: user } = useQuery(dataQuery(adminGetUser, { params: { id: String(ticket.user_id) } }));
  return (
    <Panel title={t('context')}>
      <DescriptionList
        facts={[
          [
            t('user'),
            <RouteLink key="user" to="/admin/users/$id" params={{ id: String(ticket.user_id) }} size="sm">
              {user?.username ?? `#${ticket.user_id}`}
            </RouteLink>,
          ],
          [t('admin:users.balance'), user === undefined ? '–' : <CreditAmount key="balance" value={user.quota} />],
          [
            t('admin:users.plan'),
            user === undefined || user.current_package_code === NO_PACKAGE ? '–' : user.current_package_code,
          ],
          [t('admin:users.created'), <RelativeTime key="created" at={user?.created_time ?? null} />],
          [
            t('video'),
            ticket.task_id === '' ? (
              t('noVideo')
            ) : (
              <RouteLink key="video" to="/admin/tasks/$id" params={{ id: ticket.task_id }} size="sm">
                {ticket.task_id}
              </RouteLink>
            ),
          ],
        ]}
      />
    </Panel>
  );
}

function StatusSelect({ ticket }: { readonly ticket: AdminTicket }) {
  const { t } = useTranslation(['admin-tickets', 'support', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const change = useMutation({
    mutationFn: (status: TicketStatus) =>
      callApi(adminUpdateTicket, { params: { id: String(ticket.id) }, body: { status } }),
    onSuccess: async () => {
      await invalidate();
      toasts.success(t('statusSet'));
    },
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  return (
    <Select
      label={t('setStatus')}
      w={220}
      data={TICKET_STATUS.map((value) => ({ value, label: t(`support:status.${value}`) }))}
      value={change.isPending ? change.variables : ticket.status}
      onChange={(status) => {
        if (status !== null && status !== ticket.status) change.mutate(status as TicketStatus);
      }}
      allowDeselect={false}
      disabled={change.isPending}
    />
  );
}
