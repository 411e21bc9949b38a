import { Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { replyToTicket } from '../../../contract/tickets.ts';
import { ReelgateError } from '../../../sdk/errors.ts';
import { call } from '../../data/client.ts';
import type { TicketDetail } from '../../data/support.ts';
import { Failure } from '../../parts/failure.tsx';
import { useDraftText } from '../../parts/use-draft-text.ts';

/** Goes on with the conversation; refused where somebody has answered meanwhile, so that nobody talks past the other. */
export function ReplyForm({ ticket }: { readonly ticket: TicketDetail }) {
  const { t } = useTranslation('support');
  const queries = useQueryClient();
  const [text, setText] = useDraftText(`ticket.${ticket.id}`);
  const renew = () => queries.invalidateQueries({ queryKey: ['tickets'] });
  const send = useMutation({
    mutationFn: () =>
      call(replyToTicket, {
        params: { id: String(ticket.id) },
        body: { content: text, seen_replies: ticket.reply_count },
      }),
    onSuccess: async () => {
      setText('');
      await renew();
    },
    // Whoever was overtaken sees the answer before sending again.
    onError: (error) => (error instanceof ReelgateError && error.status < 500 ? renew() : undefined),
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
        <Textarea
          label={t('reply')}
          autosize
          minRows={3}
          maxRows={16}
          maxLength={10_000}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Failure error={send.error} />
        <Group justify="space-between">
          <Text size="xs" c="dimmed">
            {ticket.status === 'resolved' ? t('reopens') : ''}
          </Text>
          <Button type="submit" loading={send.isPending} disabled={!ready}>
            {t('send')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
