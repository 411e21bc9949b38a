import { Text } from '@mantine/core';
import { IconLifebuoy } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import {
  adminListTickets,
  adminUpdateTicket,
  TICKET_SORTS,
  TICKET_STATUS,
  type TicketStatus,
} from '../../../../contract/tickets.ts';
import { useRowSelection } from '../../../components/data-table.tsx';
import { BulkBar } from '../../../components/list/bulk-bar.tsx';
import { ChoiceFilter, FilterBar, TextFilter, UserFilter } from '../../../components/list/filter-bar.tsx';
import { PagedTable } from '../../../components/list/paged-table.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { EmptyState, Page } from '../../../components/page.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink, UserOrChannelLink } from '../../../components/route-link.tsx';
import { TicketStatusBadge } from '../../../components/tickets.tsx';
import { type ListItem, listQuery, useInvalidateQueries } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { useUserNames } from '../../../data/names.ts';

type TicketListItem = ListItem<typeof adminListTickets>;
const REFRESH_MS = 15_000;

/** Tickets of all users; those waiting for a reply are highlighted. */
export function AdminTicketListPage() {
  const { t } = useTranslation(['admin-tickets', 'support', 'app']);
  const filters = useListFilters(['unprocessed', 'status', 'category', 'user_id'], TICKET_SORTS);
  const tickets = useQuery({ ...listQuery(adminListTickets, filters.query), refetchInterval: REFRESH_MS });
  const selection = useRowSelection<TicketListItem>(({ id }) => id);
  const invalidate = useInvalidateQueries();
  const setStatus = (status: TicketStatus) => (ticket: TicketListItem) =>
    callApi(adminUpdateTicket, { params: { id: String(ticket.id) }, body: { status } });
  const users = useUserNames(tickets.data?.data.map(({ user_id: id }) => id));
  return (
    <Page title={t('app:pages.adminTickets')} subtitle={t('lead')} size="xl">
      <FilterBar filters={filters}>
        <ChoiceFilter
          filters={filters}
          name="unprocessed"
          label={t('waiting')}
          choices={[{ value: 'true', label: t('unanswered') }]}
        />
        <ChoiceFilter
          filters={filters}
          name="status"
          label={t('status')}
          choices={TICKET_STATUS.map((value) => ({ value, label: t(`support:status.${value}`) }))}
        />
        <TextFilter filters={filters} name="category" label={t('category')} width={150} />
        <UserFilter filters={filters} />
      </FilterBar>
      <PagedTable
        label={t('app:pages.adminTickets')}
        query={tickets}
        filters={filters}
        rowKey={({ id }) => id}
        selection={selection}
        emptyState={
          <EmptyState icon={<IconLifebuoy size={28} />} title={t('emptyTitle')}>
            {t('emptyText')}
          </EmptyState>
        }
        columns={[
          { label: t('subject'), cell: (ticket) => <Subject ticket={ticket} /> },
          {
            label: t('user'),
            cell: ({ user_id: id }) => <UserOrChannelLink to="users" id={id} names={users} />,
          },
          { label: t('status'), cell: ({ status }) => <TicketStatusBadge status={status} /> },
          { label: t('turn'), cell: ({ waiting_for: turn }) => <WaitingFor turn={turn} /> },
          {
            label: t('replies'),
            sortKey: 'replies',
            align: 'right',
            cell: ({ reply_count: count }) => count,
            hideOnPhone: true,
          },
          {
            label: t('opened'),
            sortKey: 'created',
            cell: ({ created_time: at }) => <RelativeTime at={at} size="sm" />,
          },
          {
            label: t('updated'),
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
          label: t(`setMany.${status}`),
          text: t('setManyText'),
          appliesTo: (ticket: TicketListItem) => ticket.status !== status && ticket.status !== 'closed',
          run: setStatus(status),
        }))}
      />
    </Page>
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
export function WaitingFor({ turn: waitingFor }: { readonly turn: TicketListItem['waiting_for'] }) {
  const { t } = useTranslation('admin-tickets');
  return (
    <Text component="span" size="sm" {...(waitingFor === 'staff' ? { fw: 650 } : { c: 'dimmed' })}>
      {t(`waits.${waitingFor}`)}
    </Text>
  );
}
