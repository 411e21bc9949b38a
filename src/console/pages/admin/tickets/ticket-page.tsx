import { Group, Select, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { adminGetUser } from '../../../../contract/account-admin.ts';
import { adminChangeTicket, adminGetTicket, TICKET_STATUS, type TicketStatus } from '../../../../contract/tickets.ts';
import { type DataOf, dataQuery, useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { useManaged } from '../../../data/names.ts';
import { Failure, toMessage } from '../../../parts/failure.tsx';
import { Moment } from '../../../parts/moment.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { Page } from '../../../parts/page.tsx';
import { PageLoader } from '../../../parts/page-loader.tsx';
import { Quota } from '../../../parts/quota.tsx';
import { TicketState } from '../../../parts/ticket-state.tsx';
import { Facts, Panel } from '../frame/facts.tsx';
import { OutOfRank } from '../frame/out-of-rank.tsx';
import { ToLink } from '../frame/to-link.tsx';
import { useId } from '../frame/use-id.ts';
import { AnswerForm } from './answer-form.tsx';
import { Conversation } from './conversation.tsx';
import { RemoveTicket } from './remove-ticket.tsx';
import { Turn } from './tickets-page.tsx';

export type AdminTicket = DataOf<typeof adminGetTicket>;
const REFRESH_MS = 10_000;

/** One request with answers and notes; what others write meanwhile appears by itself. */
export function AdminTicketPage() {
  const { t } = useTranslation('desk');
  const id = useId();
  const ticket = useQuery({ ...dataQuery(adminGetTicket, { params: { id } }), refetchInterval: REFRESH_MS });
  if (ticket.data !== undefined) return <Known ticket={ticket.data} />;
  if (ticket.error === null) return <PageLoader />;
  return (
    <Page title={t('tickets.one', { id })} lead={<ToLink to="/admin/tickets">{t('tickets.all')}</ToLink>} size="md">
      <Failure error={ticket.error} retry={() => void ticket.refetch()} />
    </Page>
  );
}

function Known({ ticket }: { readonly ticket: AdminTicket }) {
  const { t } = useTranslation('desk');
  const managed = useManaged([ticket.user_id])(ticket.user_id);
  return (
    <Page
      title={ticket.title}
      lead={
        <>
          <ToLink to="/admin/tickets" underline="always">
            {t('tickets.all')}
          </ToLink>{' '}
          · #{ticket.id}
          {ticket.category === '' ? '' : ` · ${ticket.category}`}
        </>
      }
      size="md"
      actions={
        <>
          <Turn turn={ticket.waiting_for} />
          <TicketState status={ticket.status} />
        </>
      }
    >
      <Stack>
        <Asker ticket={ticket} />
        <Conversation ticket={ticket} />
        {ticket.status === 'closed' ? (
          <Text size="sm" c="dimmed">
            {t(managed ? 'tickets.closed' : 'tickets.closedOnly')}
          </Text>
        ) : (
          <AnswerForm key={ticket.id} ticket={ticket} />
        )}
        {managed ? (
          <Group justify="space-between" align="flex-end" mt="md">
            <Status ticket={ticket} />
            <RemoveTicket id={ticket.id} />
          </Group>
        ) : (
          <OutOfRank>{t('tickets.outOfRank')}</OutOfRank>
        )}
      </Stack>
    </Page>
  );
}

/** What whoever answers wants to know of the asker, without leaving. */
function Asker({ ticket }: { readonly ticket: AdminTicket }) {
  const { t } = useTranslation(['desk', 'admin']);
  const { data: user } = useQuery(dataQuery(adminGetUser, { params: { id: String(ticket.user_id) } }));
  return (
    <Panel title={t('tickets.context')}>
      <Facts
        facts={[
          [
            t('tickets.user'),
            <ToLink key="user" to={`/admin/users/${ticket.user_id}`} size="sm">
              {user?.username ?? `#${ticket.user_id}`}
            </ToLink>,
          ],
          [t('admin:users.balance'), user === undefined ? '–' : <Quota key="balance" value={user.quota} />],
          [t('admin:users.plan'), user?.current_package_code || '–'],
          [t('admin:users.created'), <Moment key="created" at={user?.created_time ?? null} />],
          [
            t('tickets.video'),
            ticket.task_id === '' ? (
              t('tickets.noVideo')
            ) : (
              <ToLink key="video" to={`/admin/tasks/${encodeURIComponent(ticket.task_id)}`} size="sm">
                {ticket.task_id}
              </ToLink>
            ),
          ],
        ]}
      />
    </Panel>
  );
}

function Status({ ticket }: { readonly ticket: AdminTicket }) {
  const { t } = useTranslation(['desk', 'support', 'shell']);
  const refresh = useRefresh();
  const notices = useNotices();
  const change = useMutation({
    mutationFn: (status: TicketStatus) =>
      call(adminChangeTicket, { params: { id: String(ticket.id) }, body: { status } }),
    onSuccess: async () => {
      await refresh();
      notices.done(t('tickets.statusSet'));
    },
    onError: (error) => notices.failed(toMessage(error, t('shell:unreachable'))),
  });
  return (
    <Select
      label={t('tickets.setStatus')}
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
