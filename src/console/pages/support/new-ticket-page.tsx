import { Button, Group, Paper, Select, Stack, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { MAX_TICKET_TEXT, openTicket } from '../../../contract/tickets.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { submitOnCtrlEnter, useDraftText } from '../../components/tickets.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { formatDateTime } from '../../data/format-times.ts';
import { videosQuery } from '../../data/videos.ts';

const CATEGORIES = ['video', 'billing', 'account', 'mailbox', 'other'] as const;

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
    CATEGORIES.find((each) => each === given.category) ?? (linkedTask === undefined ? null : 'video'),
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
            data={CATEGORIES.map((value) => ({ value, label: t(`categories.${value}`) }))}
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
  const known = (videos.data?.data ?? []).map(({ task_id, model, submit_time, prompt }) => ({
    value: task_id,
    label: `${model} · ${formatDateTime(submit_time)} · ${prompt.slice(0, 40)}`,
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
