import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { replyToTicket } from '../../../contract/tickets.ts';
import { TicketReplyForm } from '../../components/ticket-reply-form.tsx';
import { callApi } from '../../data/api-client.ts';
import type { TicketDetail } from '../../data/ticket-and-beta-application-queries.ts';

/** Adds a reply; refused if somebody has replied meanwhile, so that the user reads that reply before sending. */
export function UserReplyForm({ ticket }: { readonly ticket: TicketDetail }) {
  const { t } = useTranslation('support');
  const queries = useQueryClient();
  return (
    <TicketReplyForm
      draftName={`ticket.${ticket.id}`}
      label={t('reply')}
      submitLabel={t('send')}
      hint={ticket.status === 'resolved' ? t('reopens') : ''}
      send={(content) =>
        callApi(replyToTicket, {
          params: { id: String(ticket.id) },
          body: { content, seen_replies: ticket.reply_count },
        })
      }
      refetch={() => queries.invalidateQueries({ queryKey: ['tickets'] })}
    />
  );
}
