import { Text } from '@mantine/core';
import { IconLifebuoy } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { adminListTickets, TICKET_STATUS } from '../../../../contract/tickets.ts';
import { listQuery, type RowOf } from '../../../data/admin.ts';
import { useUserNames } from '../../../data/names.ts';
import { Empty } from '../../../parts/empty.tsx';
import { Moment } from '../../../parts/moment.tsx';
import { Page } from '../../../parts/page.tsx';
import { TicketState } from '../../../parts/ticket-state.tsx';
import { ChoiceFilter, FilterBar, ID, TextFilter } from '../frame/filter-bar.tsx';
import { useFilters } from '../frame/filters.ts';
import { NamedLink } from '../frame/named-link.tsx';
import { RecordList } from '../frame/record-list.tsx';
import { ToLink } from '../frame/to-link.tsx';

type TicketRow = RowOf<typeof adminListTickets>;
const REFRESH_MS = 15_000;

/** Everybody's requests; what waits for an answer stands out. */
export function AdminTicketsPage() {
  const { t } = useTranslation(['desk', 'support', 'shell']);
  const filters = useFilters(['unprocessed', 'status', 'category', 'user_id']);
  const tickets = useQuery({ ...listQuery(adminListTickets, filters.query), refetchInterval: REFRESH_MS });
  const users = useUserNames(tickets.data?.data.map(({ user_id: id }) => id));
  return (
    <Page title={t('shell:pages.adminTickets')} lead={t('tickets.lead')} size="xl">
      <FilterBar filters={filters}>
        <ChoiceFilter
          filters={filters}
          name="unprocessed"
          label={t('tickets.waiting')}
          choices={[{ value: 'true', label: t('tickets.unanswered') }]}
        />
        <ChoiceFilter
          filters={filters}
          name="status"
          label={t('tickets.status')}
          choices={TICKET_STATUS.map((value) => ({ value, label: t(`support:status.${value}`) }))}
        />
        <TextFilter filters={filters} name="category" label={t('tickets.category')} width={150} />
        <TextFilter filters={filters} name="user_id" label={t('tickets.userId')} width={160} pattern={ID} />
      </FilterBar>
      <RecordList
        label={t('shell:pages.adminTickets')}
        query={tickets}
        filters={filters}
        keyOf={({ id }) => id}
        empty={
          <Empty icon={<IconLifebuoy size={28} />} title={t('tickets.emptyTitle')}>
            {t('tickets.emptyText')}
          </Empty>
        }
        columns={[
          { label: t('tickets.subject'), cell: (ticket) => <Subject ticket={ticket} /> },
          {
            label: t('tickets.user'),
            cell: ({ user_id: id }) => <NamedLink to="users" id={id} names={users} />,
          },
          { label: t('tickets.status'), cell: ({ status }) => <TicketState status={status} /> },
          { label: t('tickets.turn'), cell: ({ waiting_for: turn }) => <Turn turn={turn} /> },
          { label: t('tickets.replies'), align: 'right', cell: ({ reply_count: count }) => count, wide: true },
          { label: t('tickets.updated'), cell: ({ updated_time: at }) => <Moment at={at} size="sm" /> },
        ]}
      />
    </Page>
  );
}

function Subject({ ticket: { id, title, category } }: { readonly ticket: TicketRow }) {
  return (
    <div style={{ maxWidth: 420 }}>
      <ToLink to={`/admin/tickets/${id}`} fw={600} size="sm" style={{ overflowWrap: 'anywhere' }}>
        {title}
      </ToLink>
      <Text size="xs" c="dimmed" truncate>
        {category === '' ? `#${id}` : `#${id} · ${category}`}
      </Text>
    </div>
  );
}

export function Turn({ turn }: { readonly turn: TicketRow['waiting_for'] }) {
  const { t } = useTranslation('desk');
  return (
    <Text component="span" size="sm" {...(turn === 'staff' ? { fw: 650 } : { c: 'dimmed' })}>
      {t(`tickets.waits.${turn}`)}
    </Text>
  );
}
