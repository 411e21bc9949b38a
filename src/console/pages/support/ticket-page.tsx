import { Anchor, Button, Group, Paper, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { closeTicket, replyToTicket } from '../../../contract/tickets.ts';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { TicketReplyForm, TicketStatusBadge, TicketWaitingFor } from '../../components/tickets.tsx';
import { callApi } from '../../data/api-client.ts';
import { type TicketDetail, ticketQuery } from '../../data/tickets.ts';

/** One ticket of the user; replies appear automatically. */
export function TicketPage() {
  const { t } = useTranslation('support');
  const { id } = useParams({ from: '/app/tickets/$id' });
  const ticket = useQuery(ticketQuery(id));
  return (
    <Page
      title={ticket.data?.title ?? t('ticket', { id })}
      size="md"
      subtitle={<Anchor renderRoot={(props) => <Link to="/tickets" {...props} />}>{t('backToAll')}</Anchor>}
      actions={ticket.data === undefined ? undefined : <TicketActions ticket={ticket.data} />}
    >
      <ErrorAlert error={ticket.error} retry={() => void ticket.refetch()} />
      {ticket.data === undefined ? (
        ticket.error === null ? (
          <Skeleton h={280} radius="lg" />
        ) : null
      ) : (
        <Conversation ticket={ticket.data} />
      )}
    </Page>
  );
}

function TicketActions({ ticket }: { readonly ticket: TicketDetail }) {
  const { t } = useTranslation('support');
  const queries = useQueryClient();
  const close = async (): Promise<void> => {
    await callApi(closeTicket, { params: { id: String(ticket.id) } });
    await queries.invalidateQueries({ queryKey: ['tickets'] });
  };
  return (
    <>
      <TicketWaitingFor turn={ticket.waiting_for} />
      <TicketStatusBadge status={ticket.status} />
      {ticket.status === 'closed' ? null : (
        <ConfirmDialog
          title={t('closeTitle')}
          confirmLabel={t('close')}
          onConfirm={close}
          trigger={(open) => (
            <Button size="compact-sm" variant="default" onClick={open}>
              {t('close')}
            </Button>
          )}
        >
          {t('closeText')}
        </ConfirmDialog>
      )}
    </>
  );
}

function Conversation({ ticket }: { readonly ticket: TicketDetail }) {
  const { t } = useTranslation('support');
  const first = {
    by_staff: false,
    content: ticket.content,
    task_id: ticket.task_id,
    created_time: ticket.created_time,
  };
  return (
    <Stack>
      <Stack component="section" aria-label={t('conversation')} aria-live="polite">
        <Message {...first} />
        {ticket.replies.map((reply) => (
          <Message key={reply.id} {...reply} />
        ))}
      </Stack>
      {ticket.status === 'closed' ? (
        <Text size="sm" c="dimmed">
          {t('closedText')}{' '}
          <Anchor inherit renderRoot={(props) => <Link to="/tickets/new" {...props} />}>
            {t('new')}
          </Anchor>
        </Text>
      ) : (
        <UserReplyForm key={ticket.id} ticket={ticket} />
      )}
    </Stack>
  );
}

type MessageProps = Pick<TicketDetail['replies'][number], 'by_staff' | 'content' | 'task_id' | 'created_time'>;

function Message({ by_staff, content, task_id, created_time }: MessageProps) {
  const { t } = useTranslation('support');
  return (
    <Paper
      withBorder
      p="md"
      component="article"
      className={by_staff ? 'message staff' : 'message'}
      aria-label={by_staff ? t('staff') : t('you')}
    >
      <Group justify="space-between" mb={6} gap="xs">
        <Text size="sm" fw={650}>
          {by_staff ? t('staff') : t('you')}
        </Text>
        <Text size="xs" c="dimmed">
          <RelativeTime at={created_time} />
        </Text>
      </Group>
      <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {content}
      </Text>
      {task_id === '' ? null : (
        <Anchor
          size="xs"
          mt="xs"
          display="inline-block"
          renderRoot={(props) => <Link to="/videos/$taskId" params={{ taskId: task_id }} {...props} />}
        >
          {t('aboutTask', { task: task_id })}
        </Anchor>
      )}
    </Paper>
  );
}

/** Adds a reply; refused if someone else has replied meanwhile, so that the user reads that reply first. */
function UserReplyForm({ ticket }: { readonly ticket: TicketDetail }) {
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
