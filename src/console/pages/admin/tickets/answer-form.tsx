import { Button, Group, SegmentedControl, Stack, Text, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminReplyToTicket } from '../../../../contract/tickets.ts';
import { ReelgateError } from '../../../../sdk/errors.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Failure } from '../../../parts/failure.tsx';
import { useDraftText } from '../../../parts/use-draft-text.ts';
import type { AdminTicket } from './ticket-page.tsx';

/** An answer to the user or a note to colleagues; an answer is refused where somebody has written meanwhile. */
export function AnswerForm({ ticket }: { readonly ticket: AdminTicket }) {
  const { t } = useTranslation('desk');
  const refresh = useRefresh();
  const [internal, setInternal] = useState(false);
  // Apart, so that a note begun is never sent to the user by mistake.
  const [answer, setAnswer] = useDraftText(`desk.${ticket.id}.answer`);
  const [note, setNote] = useDraftText(`desk.${ticket.id}.note`);
  const [text, setText] = internal ? [note, setNote] : [answer, setAnswer];
  const send = useMutation({
    mutationFn: () =>
      call(adminReplyToTicket, {
        params: { id: String(ticket.id) },
        body: { content: text, ...(internal ? { internal } : { seen_replies: ticket.reply_count }) },
      }),
    onSuccess: async () => {
      setText('');
      await refresh();
    },
    // Whoever was overtaken sees what was written before sending again.
    onError: (error) => (error instanceof ReelgateError && error.status < 500 ? refresh() : undefined),
  });
  const ready = text.trim() !== '' && !send.isPending;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) send.mutate();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && ready) send.mutate();
      }}
    >
      <Stack gap="sm">
        <SegmentedControl
          aria-label={t('tickets.reply')}
          value={internal ? 'note' : 'answer'}
          onChange={(value) => {
            setInternal(value === 'note');
            send.reset();
          }}
          data={[
            { value: 'answer', label: t('tickets.answer') },
            { value: 'note', label: t('tickets.note') },
          ]}
          style={{ alignSelf: 'flex-start' }}
        />
        <Textarea
          label={t(internal ? 'tickets.replyNote' : 'tickets.reply')}
          autosize
          minRows={4}
          maxRows={18}
          maxLength={10_000}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Failure error={send.error} />
        <Group justify="space-between">
          <Text size="xs" c="dimmed">
            {t(internal ? 'tickets.noteHint' : 'tickets.replyHint')}
          </Text>
          <Button type="submit" loading={send.isPending} disabled={!ready} {...(internal ? { color: 'gray.7' } : {})}>
            {t(internal ? 'tickets.keepNote' : 'tickets.send')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
