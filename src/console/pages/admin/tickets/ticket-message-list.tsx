import { Group, Paper, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import type { AdminTicket } from '../../../data/admin-types.ts';
import { useUserNames } from '../../../data/user-and-channel-names.ts';

type Reply = AdminTicket['replies'][number];

/** The ticket's text, its replies and the internal notes of administrators, oldest first. */
export function Conversation({ ticket }: { readonly ticket: AdminTicket }) {
  const { t } = useTranslation('admin-tickets');
  const names = useUserNames([ticket.user_id, ...ticket.replies.map(({ author_id: id }) => id)]);
  const first: Reply = {
    id: 0,
    author_id: ticket.user_id,
    by_staff: false,
    internal: false,
    content: ticket.content,
    task_id: '',
    created_time: ticket.created_time,
  };
  const kind = (reply: Reply) => (reply.internal ? 'noteBy' : reply.by_staff ? 'answeredBy' : 'askedBy');
  return (
    <Stack component="section" aria-live="polite">
      {[first, ...ticket.replies].map((reply) => (
        <Message
          key={reply.id}
          reply={reply}
          by={t(`${kind(reply)}`, { name: names(reply.author_id) ?? `#${reply.author_id}` })}
        />
      ))}
    </Stack>
  );
}

function Message({ reply, by }: { readonly reply: Reply; readonly by: string }) {
  const side = reply.internal ? 'message staff note' : reply.by_staff ? 'message staff' : 'message';
  return (
    <Paper withBorder p="md" component="article" className={side} aria-label={by}>
      <Group justify="space-between" mb={6} gap="xs">
        <Text size="sm" fw={650} style={{ overflowWrap: 'anywhere' }}>
          {by}
        </Text>
        <Text size="xs" c="dimmed">
          <RelativeTime at={reply.created_time} />
        </Text>
      </Group>
      <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {reply.content}
      </Text>
      {reply.task_id === '' ? null : (
        <RouteLink to="/admin/tasks/$id" params={{ id: reply.task_id }} size="xs" style={{ overflowWrap: 'anywhere' }}>
          {reply.task_id}
        </RouteLink>
      )}
    </Paper>
  );
}
