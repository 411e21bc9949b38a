import { Group, Paper, Select, Stack, Text } from '@mantine/core';
import { IconLifebuoy } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminGetUser } from '../../../../contract/admin-accounts.ts';
import { listTasks } from '../../../../contract/admin-videos.ts';
import { NO_PACKAGE } from '../../../../contract/plans.ts';
import {
  adminDeleteTicket,
  adminGetTicket,
  adminListTickets,
  adminReplyToTicket,
  adminUpdateTicket,
  TICKET_SORTS,
  TICKET_STATUS,
  type TicketStatus,
} from '../../../../contract/tickets.ts';
import { CreditAmount } from '../../../components/credit-amount.tsx';
import { PagedTable, useRowSelection } from '../../../components/data-table.tsx';
import { DeletePanel } from '../../../components/delete-button.tsx';
import { QueryError, toErrorMessage } from '../../../components/error-alert.tsx';
import { BulkBar } from '../../../components/list/bulk-bar.tsx';
import { ChoiceFilter, FilterBar, UserFilter } from '../../../components/list/filter-bar.tsx';
import { type ListFilters, useListFilters } from '../../../components/list/use-list-filters.ts';
import { EmptyState, Page, PageLoadingIndicator } from '../../../components/page.tsx';
import { DescriptionList, Panel } from '../../../components/panel.tsx';
import { MissingPermissionNote, useCanManageUser } from '../../../components/permissions.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink, UserOrChannelLink, useRouteId } from '../../../components/route-link.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import { TICKET_CATEGORIES, TicketReplyForm, TicketStatusBadge } from '../../../components/tickets.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import {
  type AdminTicket,
  dataQuery,
  type ListItem,
  listQuery,
  useInvalidateQueries,
  usePlanNames,
  useUserNames,
} from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';

const TICKET_REFRESH_MS = 10_000;

/** One ticket with its replies and notes; new entries by others appear automatically. */
export function AdminTicketPage() {
  const { t } = useTranslation('support');
  const id = useRouteId();
  const ticket = useQuery({ ...dataQuery(adminGetTicket, { params: { id } }), refetchInterval: TICKET_REFRESH_MS });
  if (ticket.data !== undefined) return <TicketDetails ticket={ticket.data} />;
  if (ticket.error === null) return <PageLoadingIndicator />;
  return (
    <Page
      title={t('admin.one', { id })}
      subtitle={<RouteLink to="/admin/tickets">{t('admin.all')}</RouteLink>}
      size="md"
    >
      <QueryError query={ticket} />
    </Page>
  );
}

function TicketDetails({ ticket }: { readonly ticket: AdminTicket }) {
  const { t } = useTranslation('support');
  const managed = useCanManageUser([ticket.user_id])(ticket.user_id);
  return (
    <Page
      title={ticket.title}
      subtitle={
        <>
          <RouteLink to="/admin/tickets" underline="always">
            {t('admin.all')}
          </RouteLink>{' '}
          · #{ticket.id}
          {ticket.category === ''
            ? ''
            : ` · ${t(`categories.${ticket.category as 'video'}`, { defaultValue: ticket.category })}`}
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
            {t(managed ? 'admin.closed' : 'admin.closedOnly')}
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
          <MissingPermissionNote>{t('admin.outOfRank')}</MissingPermissionNote>
        )}
      </Stack>
    </Page>
  );
}

/** Facts about the ticket's author an administrator needs for a reply. */
function RequesterPanel({ ticket }: { readonly ticket: AdminTicket }) {
  const { t } = useTranslation(['support', 'admin']);
  const { data: user } = useQuery(dataQuery(adminGetUser, { params: { id: String(ticket.user_id) } }));
  const planName = usePlanNames();
  return (
    <Panel title={t('admin.context')}>
      <DescriptionList
        facts={[
          [
            t('admin.user'),
            <RouteLink key="user" to="/admin/users/$id" params={{ id: String(ticket.user_id) }} size="sm">
              {user?.username ?? `#${ticket.user_id}`}
            </RouteLink>,
          ],
          [t('admin:users.balance'), user === undefined ? '–' : <CreditAmount key="balance" value={user.quota} />],
          [
            t('admin:users.plan'),
            user === undefined || user.current_package_code === NO_PACKAGE ? '–' : planName(user.current_package_code),
          ],
          [t('admin:users.created'), <RelativeTime key="created" at={user?.created_time ?? null} />],
          [
            t('admin.video'),
            ticket.task_id === '' ? t('admin.noVideo') : <TaskLink key="video" id={ticket.task_id} size="sm" />,
          ],
        ]}
      />
    </Panel>
  );
}

/** Link to a video, named by its prompt; by its id while loading or if the prompt is gone. */
function TaskLink({ id, size }: { readonly id: string; readonly size: 'xs' | 'sm' }) {
  const { data } = useQuery(listQuery(listTasks, { task_id: id, page_size: '1' }));
  return (
    <RouteLink to="/admin/tasks/$id" params={{ id }} size={size} title={id} style={{ overflowWrap: 'anywhere' }}>
      {data?.data[0]?.prompt.slice(0, MAX_PROMPT_LENGTH) || id}
    </RouteLink>
  );
}

/** The start of a prompt is enough to recognize a video. */
const MAX_PROMPT_LENGTH = 100;

function StatusSelect({ ticket }: { readonly ticket: AdminTicket }) {
  const { t } = useTranslation(['support', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const change = useMutation({
    mutationFn: (status: TicketStatus) =>
      callApi(adminUpdateTicket, { params: { id: String(ticket.id) }, body: { status } }),
    onSuccess: async () => {
      await invalidate();
      toasts.success(t('admin.statusSet'));
    },
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  return (
    <Select
      label={t('admin.setStatus')}
      w={220}
      data={TICKET_STATUS.map((value) => ({ value, label: t(`status.${value}`) }))}
      value={change.isPending ? change.variables : ticket.status}
      onChange={(status) => {
        if (status !== null && status !== ticket.status) change.mutate(status as TicketStatus);
      }}
      allowDeselect={false}
      disabled={change.isPending}
    />
  );
}

type Reply = AdminTicket['replies'][number];

/** The ticket's text, its replies and the administrators' internal notes, oldest first. */
function Conversation({ ticket }: { readonly ticket: AdminTicket }) {
  const { t } = useTranslation('support');
  const names = useUserNames([ticket.user_id, ...ticket.replies.map(({ author_id: id }) => id)]);
  const first: Reply = {
    id: 0,
    author_id: ticket.user_id,
    by_staff: false,
    internal: false,
    content: ticket.content,
    task_id: '',
    created_time: ticket.created_time,
  };
  const kind = (reply: Reply) => (reply.internal ? 'noteBy' : reply.by_staff ? 'answeredBy' : 'askedBy');
  return (
    <Stack component="section" aria-live="polite">
      {[first, ...ticket.replies].map((reply) => (
        <Message
          key={reply.id}
          reply={reply}
          by={t(`admin.${kind(reply)}`, { name: names(reply.author_id) ?? `#${reply.author_id}` })}
        />
      ))}
    </Stack>
  );
}

function Message({ reply, by }: { readonly reply: Reply; readonly by: string }) {
  const side = reply.internal ? 'message staff note' : reply.by_staff ? 'message staff' : 'message';
  return (
    <Paper withBorder p="md" component="article" className={side} aria-label={by}>
      <Group justify="space-between" mb={6} gap="xs">
        <Text size="sm" fw={650} style={{ overflowWrap: 'anywhere' }}>
          {by}
        </Text>
        <Text size="xs" c="dimmed">
          <RelativeTime at={reply.created_time} />
        </Text>
      </Group>
      <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {reply.content}
      </Text>
      {reply.task_id === '' ? null : <TaskLink id={reply.task_id} size="xs" />}
    </Paper>
  );
}

/**
 * A reply to the user or an internal note. A reply is refused if someone else has written since the page was loaded.
 */
function AdminReplyForm({ ticket }: { readonly ticket: AdminTicket }) {
  const { t } = useTranslation('support');
  const invalidate = useInvalidateQueries();
  const [kind, setKind] = useState<'answer' | 'note'>('answer');
  const isNote = kind === 'note';
  // Separate drafts per kind, so that an unfinished note is never sent to the user by mistake.
  const draftName = `admin-ticket.${ticket.id}.${kind}`;
  return (
    <Stack gap="sm">
      <SegmentedControl
        aria-label={t('admin.reply')}
        value={kind}
        onChange={setKind}
        data={[
          { value: 'answer', label: t('admin.answer') },
          { value: 'note', label: t('admin.note') },
        ]}
        style={{ alignSelf: 'flex-start' }}
      />
      <TicketReplyForm
        key={draftName}
        draftName={draftName}
        label={t(isNote ? 'admin.replyNote' : 'admin.reply')}
        submitLabel={t(isNote ? 'admin.keepNote' : 'admin.send')}
        hint={t(isNote ? 'admin.noteHint' : 'admin.replyHint')}
        color={isNote ? 'gray.7' : undefined}
        send={(content) =>
          callApi(adminReplyToTicket, {
            params: { id: String(ticket.id) },
            body: { content, ...(isNote ? { internal: true } : { seen_replies: ticket.reply_count }) },
          })
        }
        refetch={invalidate}
      />
    </Stack>
  );
}

function DeleteTicket({ id }: { readonly id: number }) {
  const { t } = useTranslation('support');
  return (
    <DeletePanel
      heading={t('admin.remove')}
      title={t('admin.removeTitle', { id })}
      text={t('admin.removeText')}
      confirmLabel={t('admin.remove')}
      remove={() => callApi(adminDeleteTicket, { params: { id: String(id) } })}
      message={t('admin.removed')}
      listPage="/admin/tickets"
    />
  );
}

type TicketListItem = ListItem<typeof adminListTickets>;
const LIST_REFRESH_MS = 15_000;

/** Tickets of all users; those waiting for a reply are highlighted. */
export function AdminTicketListPage() {
  const { t } = useTranslation(['support', 'app']);
  const filters = useListFilters(['unprocessed', 'status', 'category', 'user_id'], TICKET_SORTS);
  const tickets = useQuery({ ...listQuery(adminListTickets, filters.query), refetchInterval: LIST_REFRESH_MS });
  const selection = useRowSelection<TicketListItem>(({ id }) => id);
  const invalidate = useInvalidateQueries();
  const setStatus = (status: TicketStatus) => (ticket: TicketListItem) =>
    callApi(adminUpdateTicket, { params: { id: String(ticket.id) }, body: { status } });
  const users = useUserNames(tickets.data?.data.map(({ user_id: id }) => id));
  return (
    <Page title={t('app:pages.adminTickets')} subtitle={t('admin.lead')}>
      <TicketFilters filters={filters} />
      <PagedTable
        label={t('app:pages.adminTickets')}
        query={tickets}
        filters={filters}
        rowKey={({ id }) => id}
        selection={selection}
        emptyState={
          <EmptyState icon={<IconLifebuoy size={28} />} title={t('admin.emptyTitle')}>
            {t('admin.emptyText')}
          </EmptyState>
        }
        columns={[
          { label: t('admin.subject'), cell: (ticket) => <Subject ticket={ticket} /> },
          {
            label: t('admin.user'),
            cell: ({ user_id: id }) => <UserOrChannelLink to="users" id={id} names={users} />,
          },
          { label: t('admin.status'), cell: ({ status }) => <TicketStatusBadge status={status} /> },
          { label: t('admin.turn'), cell: ({ waiting_for: turn }) => <WaitingFor turn={turn} /> },
          {
            label: t('admin.replies'),
            sortKey: 'replies',
            align: 'right',
            cell: ({ reply_count: count }) => count,
            hideOnPhone: true,
          },
          {
            label: t('admin.opened'),
            sortKey: 'created',
            cell: ({ created_time: at }) => <RelativeTime at={at} size="sm" />,
          },
          {
            label: t('admin.updated'),
            sortKey: 'updated',
            cell: ({ updated_time: at }) => <RelativeTime at={at} size="sm" />,
          },
        ]}
      />
      <BulkBar
        selection={selection}
        nameOf={({ id, title }) => `#${id} ${title}`}
        onDone={invalidate}
        actions={(['resolved', 'closed'] as const).map((status) => ({
          id: status,
          label: t(`admin.setMany.${status}`),
          text: t('admin.setManyText'),
          appliesTo: (ticket: TicketListItem) => ticket.status !== status && ticket.status !== 'closed',
          run: setStatus(status),
        }))}
      />
    </Page>
  );
}

function TicketFilters({ filters }: { readonly filters: ListFilters }) {
  const { t } = useTranslation('support');
  return (
    <FilterBar filters={filters}>
      <ChoiceFilter
        filters={filters}
        name="unprocessed"
        label={t('admin.waiting')}
        choices={[{ value: 'true', label: t('admin.unanswered') }]}
      />
      <ChoiceFilter
        filters={filters}
        name="status"
        label={t('admin.status')}
        choices={TICKET_STATUS.map((value) => ({ value, label: t(`status.${value}`) }))}
      />
      <ChoiceFilter
        filters={filters}
        name="category"
        label={t('admin.category')}
        width={150}
        choices={TICKET_CATEGORIES.map((value) => ({ value, label: t(`categories.${value}`) }))}
      />
      <UserFilter filters={filters} />
    </FilterBar>
  );
}

function Subject({ ticket: { id, title, category } }: { readonly ticket: TicketListItem }) {
  const { t } = useTranslation('support');
  return (
    <div style={{ maxWidth: 420 }}>
      <RouteLink
        to="/admin/tickets/$id"
        params={{ id: String(id) }}
        fw={600}
        size="sm"
        style={{ overflowWrap: 'anywhere' }}
      >
        {title}
      </RouteLink>
      <Text size="xs" c="dimmed" truncate>
        {category === '' ? `#${id}` : `#${id} · ${t(`categories.${category as 'video'}`, { defaultValue: category })}`}
      </Text>
    </div>
  );
}

/** Badge showing who has to act next on a ticket. */
function WaitingFor({ turn: waitingFor }: { readonly turn: TicketListItem['waiting_for'] }) {
  const { t } = useTranslation('support');
  return (
    <Text component="span" size="sm" {...(waitingFor === 'staff' ? { fw: 650 } : { c: 'dimmed' })}>
      {t(`admin.waits.${waitingFor}`)}
    </Text>
  );
}
