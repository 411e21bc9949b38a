import { Button, Group, Paper, Skeleton, Stack, Text, UnstyledButton } from '@mantine/core';
import { IconLifebuoy, IconPlus } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { TICKET_STATUS, type TicketStatus } from '../../../contract/tickets.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import { TicketStatusBadge, TicketWaitingFor } from '../../components/tickets.tsx';
import { PAGE_SIZE, type Ticket, ticketsQuery } from '../../data/tickets.ts';

/** Tickets of the user. */
export function TicketListPage() {
  const { t } = useTranslation('support');
  const { page = 1, status: named } = useSearch({ from: '/app/tickets' });
  const status = TICKET_STATUS.find((each) => each === named);
  const navigate = useNavigate();
  const tickets = useQuery({ ...ticketsQuery(page, status), placeholderData: keepPreviousData });
  const show = (search: { page?: number; status?: TicketStatus }): void => void navigate({ to: '/tickets', search });
  const ask = (
    <Button
      data-create
      leftSection={<IconPlus size={16} />}
      renderRoot={(props) => <Link to="/tickets/new" {...props} />}
    >
      {t('new')}
    </Button>
  );
  const rows = tickets.data?.data ?? [];
  return (
    <Page title={t('title')} subtitle={t('lead')} size="md" actions={ask}>
      <SegmentedControl
        mb="md"
        maw="100%"
        size="xs"
        aria-label={t('filter')}
        value={status ?? 'all'}
        onChange={(value) => show(value === 'all' ? {} : { status: value as TicketStatus })}
        data={[
          { value: 'all', label: t('all') },
          ...TICKET_STATUS.map((value) => ({ value, label: t(`status.${value}`) })),
        ]}
      />
      <ErrorAlert error={tickets.error} retry={() => void tickets.refetch()} />
      {tickets.data === undefined && tickets.error === null ? <TicketSkeletons /> : null}
      {tickets.data?.total === 0 && status !== undefined ? <Text c="dimmed">{t('noMatch')}</Text> : null}
      {tickets.data?.total === 0 && status === undefined ? (
        <EmptyState icon={<IconLifebuoy size={28} />} title={t('emptyTitle')} action={ask}>
          {t('emptyText')}
        </EmptyState>
      ) : null}
      {rows.length === 0 ? null : (
        <Paper withBorder style={{ overflow: 'hidden' }}>
          {rows.map((ticket) => (
            <TicketRow key={ticket.id} ticket={ticket} />
          ))}
        </Paper>
      )}
      <Pager
        page={page}
        total={tickets.data?.total ?? 0}
        pageSize={PAGE_SIZE}
        onChange={(next) => show({ page: next, status })}
      />
    </Page>
  );
}

function TicketSkeletons() {
  return (
    <Stack>
      {[0, 1, 2].map((each) => (
        <Skeleton key={each} h={64} radius="lg" />
      ))}
    </Stack>
  );
}

function TicketRow({ ticket }: { readonly ticket: Ticket }) {
  const { t } = useTranslation('support');
  return (
    <UnstyledButton
      className="notification"
      renderRoot={(props) => <Link to="/tickets/$id" params={{ id: String(ticket.id) }} {...props} />}
    >
      <Group justify="space-between" wrap="nowrap" gap="sm">
        <Text size="sm" fw={600} truncate>
          {ticket.title}
        </Text>
        <TicketStatusBadge status={ticket.status} />
      </Group>
      <Group gap="xs" mt={2}>
        <Text size="xs" c="dimmed">
          #{ticket.id} · <RelativeTime at={ticket.updated_time} /> · {t('replies', { count: ticket.reply_count })}
        </Text>
        <TicketWaitingFor turn={ticket.waiting_for} />
      </Group>
    </UnstyledButton>
  );
}
