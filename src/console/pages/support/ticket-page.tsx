import {
  Anchor,
  Button,
  Group,
  Paper,
  Select,
  Skeleton,
  Stack,
  Text,
  Textarea,
  TextInput,
  UnstyledButton,
} from '@mantine/core';
import { IconLifebuoy, IconPlus } from '@tabler/icons-react';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  closeTicket,
  MAX_TICKET_TEXT,
  openTicket,
  replyToTicket,
  TICKET_STATUS,
  type TicketStatus,
} from '../../../contract/tickets.ts';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { ErrorAlert, QueryError } from '../../components/error-alert.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import {
  submitOnCtrlEnter,
  TICKET_CATEGORIES,
  TicketReplyForm,
  TicketStatusBadge,
  TicketWaitingFor,
  useDraftText,
} from '../../components/tickets.tsx';
import { useToasts } from '../../components/toasts.tsx';
import {
  TICKETS_PAGE_SIZE,
  type Ticket,
  type TicketDetail,
  ticketQuery,
  ticketsQuery,
} from '../../data/account-queries.ts';
import { callApi } from '../../data/api-client.ts';
import { formatDateTime } from '../../data/format-values.ts';
import { useModelTitle } from '../../data/self.ts';
import { videoQuery, videosQuery } from '../../data/videos.ts';

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
      <QueryError query={ticket} />
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
      {task_id === '' ? null : <VideoLink id={task_id} />}
    </Paper>
  );
}

/** Link to a video, named by its prompt; by its id while loading or if it was deleted. */
function VideoLink({ id }: { readonly id: string }) {
  const { t } = useTranslation('support');
  const { data: video } = useQuery(videoQuery(id));
  return (
    <Anchor
      size="xs"
      mt="xs"
      display="inline-block"
      style={{ overflowWrap: 'anywhere' }}
      renderRoot={(props) => <Link to="/videos/$taskId" params={{ taskId: id }} {...props} />}
    >
      {t('aboutTask', { task: video?.prompt.slice(0, MAX_PROMPT_LENGTH) || id })}
    </Anchor>
  );
}

/** The start of a prompt is enough to recognize a video. */
const MAX_PROMPT_LENGTH = 100;

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
  const hasNone = tickets.data?.total === 0 && status === undefined;
  return (
    <Page title={t('title')} subtitle={t('lead')} size="md" actions={hasNone ? undefined : ask}>
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
      <QueryError query={tickets} />
      {tickets.data === undefined && tickets.error === null ? <TicketSkeletons /> : null}
      {tickets.data?.total === 0 && status !== undefined ? <Text c="dimmed">{t('noMatch')}</Text> : null}
      {hasNone ? (
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
        pageSize={TICKETS_PAGE_SIZE}
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
        <Text size="sm" fw={600} truncate title={ticket.title}>
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

/** Opens a ticket; `?task=` names the video concerned, and other pages may prefill the remaining fields. */
export function NewTicketPage() {
  const { t } = useTranslation('support');
  const { task: linkedTask, ...given } = useSearch({ from: '/app/tickets/new' });
  const navigate = useNavigate();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [title, setTitle] = useDraftText('ticket.title', given.title);
  const [content, setContent] = useDraftText('ticket.content', given.content);
  const [category, setCategory] = useState<string | null>(
    TICKET_CATEGORIES.find((each) => each === given.category) ?? (linkedTask === undefined ? null : 'video'),
  );
  const [task, setTask] = useState<string | null>(linkedTask ?? null);
  const open = useMutation({
    mutationFn: async () =>
      (
        await callApi(openTicket, {
          body: {
            title: title.trim(),
            content,
            category: category ?? undefined,
            task_id: task ?? undefined,
          },
        })
      ).data,
    onSuccess: async ({ id }) => {
      setTitle('');
      setContent('');
      toasts.success(t('opened'));
      await queries.invalidateQueries({ queryKey: ['tickets'] });
      await navigate({ to: '/tickets/$id', params: { id: String(id) }, replace: true });
    },
  });
  const ready = title.trim() !== '' && content.trim() !== '' && !open.isPending;
  return (
    <Page title={t('newTitle')} subtitle={t('newLead')} size="sm">
      <Paper withBorder p={{ base: 'md', sm: 'lg' }} component="form" {...submitOnCtrlEnter(ready, open.mutate)}>
        <Stack>
          <TextInput
            label={t('subject')}
            placeholder={t('subjectPlaceholder')}
            required
            maxLength={200}
            value={title}
            onChange={(event) => setTitle(event.currentTarget.value)}
          />
          <Select
            label={t('category')}
            placeholder={t('categoryPlaceholder')}
            clearable
            data={TICKET_CATEGORIES.map((value) => ({ value, label: t(`categories.${value}`) }))}
            value={category}
            onChange={setCategory}
          />
          <VideoSelect value={task} linkedTask={linkedTask} onChange={setTask} />
          <Textarea
            label={t('text')}
            placeholder={t('textPlaceholder')}
            required
            autosize
            minRows={6}
            maxRows={20}
            maxLength={MAX_TICKET_TEXT}
            value={content}
            onChange={(event) => setContent(event.currentTarget.value)}
          />
          <ErrorAlert error={open.error} />
          <Group>
            <Button type="submit" loading={open.isPending} disabled={!ready}>
              {t('send')}
            </Button>
          </Group>
        </Stack>
      </Paper>
    </Page>
  );
}

interface VideoSelectProps {
  readonly value: string | null;
  readonly linkedTask: string | undefined;
  readonly onChange: (task: string | null) => void;
}

/** Selects one of the latest videos, so that users need not copy an id. */
function VideoSelect({ value, linkedTask, onChange }: VideoSelectProps) {
  const { t } = useTranslation('support');
  const videos = useQuery(videosQuery(1, 20));
  const titleOf = useModelTitle();
  const known = (videos.data?.data ?? []).map(({ task_id, model, submit_time, prompt }) => ({
    value: task_id,
    label: `${titleOf(model)} · ${formatDateTime(submit_time)} · ${prompt.slice(0, 40)}`,
  }));
  const data =
    linkedTask === undefined || known.some((each) => each.value === linkedTask)
      ? known
      : [{ value: linkedTask, label: linkedTask }, ...known];
  return (
    <Select
      label={t('task')}
      description={t('taskHint')}
      placeholder={t('taskPlaceholder')}
      clearable
      searchable
      data={data}
      value={value}
      onChange={onChange}
    />
  );
}
