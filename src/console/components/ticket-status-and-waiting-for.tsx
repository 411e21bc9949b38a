import { Badge, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { TicketStatus } from '../../contract/tickets.ts';
import type { Ticket } from '../data/ticket-and-beta-application-queries.ts';

const STATUS_COLOR: Readonly<Record<TicketStatus, string>> = {
  open: 'blue',
  in_progress: 'yellow',
  resolved: 'teal',
  closed: 'gray',
};

export function TicketStatusBadge({ status }: { readonly status: TicketStatus }) {
  const { t } = useTranslation('support');
  return (
    <Badge color={STATUS_COLOR[status]} style={{ flexShrink: 0 }}>
      {t(`status.${status}`)}
    </Badge>
  );
}

/** Who has to act next; empty if nobody has to. */
export function TicketWaitingFor({ turn: waitingFor }: { readonly turn: Ticket['waiting_for'] }) {
  const { t } = useTranslation('support');
  if (waitingFor === 'nobody') return null;
  return (
    <Text component="span" size="xs" {...(waitingFor === 'user' ? { fw: 650 } : { c: 'dimmed' })}>
      {t(`turn.${waitingFor}`)}
    </Text>
  );
}
