import { Badge, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { TicketStatus } from '../../contract/tickets.ts';
import type { TicketRow } from '../data/support.ts';

const COLOR: Readonly<Record<TicketStatus, string>> = {
  open: 'blue',
  in_progress: 'yellow',
  resolved: 'teal',
  closed: 'gray',
};

export function TicketState({ status }: { readonly status: TicketStatus }) {
  const { t } = useTranslation('support');
  return (
    <Badge color={COLOR[status]} style={{ flexShrink: 0 }}>
      {t(`status.${status}`)}
    </Badge>
  );
}

/** Who acts next; nothing where nobody has to. */
export function TicketTurn({ turn }: { readonly turn: TicketRow['waiting_for'] }) {
  const { t } = useTranslation('support');
  if (turn === 'nobody') return null;
  return (
    <Text component="span" size="xs" {...(turn === 'user' ? { fw: 650 } : { c: 'dimmed' })}>
      {t(`turn.${turn}`)}
    </Text>
  );
}
