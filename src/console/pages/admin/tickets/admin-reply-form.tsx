import { Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminReplyToTicket } from '../../../../contract/tickets.ts';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import { TicketReplyForm } from '../../../components/ticket-reply-form.tsx';
import type { AdminTicket } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';
import { useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';

/** A reply to the user or an internal note. A reply is refused if somebody has written since the page was loaded. */
export function AdminReplyForm({ ticket }: { readonly ticket: AdminTicket }) {
  const { t } = useTranslation('admin-tickets');
  const invalidate = useInvalidateQueries();
  const [kind, setKind] = useState<'answer' | 'note'>('answer');
  const isNote = kind === 'note';
  // Each kind has its own draft, so that a note begun is never sent to the user by mistake.
  const draftName = `admin-ticket.${ticket.id}.${kind}`;
  return (
    <Stack gap="sm">
      <SegmentedControl
        aria-label={t('reply')}
        value={kind}
        onChange={setKind}
        data={[
          { value: 'answer', label: t('answer') },
          { value: 'note', label: t('note') },
        ]}
        style={{ alignSelf: 'flex-start' }}
      />
      <TicketReplyForm
        key={draftName}
        draftName={draftName}
        label={t(isNote ? 'replyNote' : 'reply')}
        submitLabel={t(isNote ? 'keepNote' : 'send')}
        hint={t(isNote ? 'noteHint' : 'replyHint')}
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
