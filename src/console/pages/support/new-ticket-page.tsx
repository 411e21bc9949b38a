import { Button, Group, Paper, Select, Stack, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { openTicket } from '../../../contract/tickets.ts';
import { call } from '../../data/client.ts';
import { toMoment } from '../../data/time.ts';
import { videosQuery } from '../../data/videos.ts';
import { Failure } from '../../parts/failure.tsx';
import { useNotices } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { useDraftText } from '../../parts/use-draft-text.ts';

const CATEGORIES = ['video', 'billing', 'account', 'mailbox', 'other'] as const;

/** Asks the operators something; `?task=` says which video it is about. */
export function NewTicketPage() {
  const { t } = useTranslation(['support', 'shell']);
  const { task: brought } = useSearch({ from: '/app/tickets/new' });
  const navigate = useNavigate();
  const queries = useQueryClient();
  const notices = useNotices();
  const [title, setTitle] = useDraftText('ticket.title');
  const [content, setContent] = useDraftText('ticket.content');
  const [category, setCategory] = useState<string | null>(brought === undefined ? null : 'video');
  const [task, setTask] = useState<string | null>(brought ?? null);
  const open = useMutation({
    mutationFn: async () =>
      (
        await call(openTicket, {
          body: {
            title: title.trim(),
            content,
            ...(category === null ? {} : { category }),
            ...(task === null ? {} : { task_id: task }),
          },
        })
      ).data,
    onSuccess: async ({ id }) => {
      setTitle('');
      setContent('');
      notices.done(t('opened'));
      await queries.invalidateQueries({ queryKey: ['tickets'] });
      await navigate({ to: '/tickets/$id', params: { id: String(id) }, replace: true });
    },
  });
  const ready = title.trim() !== '' && content.trim() !== '';
  return (
    <Page title={t('newTitle')} lead={t('newLead')} size="sm">
      <Paper
        withBorder
        p={{ base: 'md', sm: 'lg' }}
        component="form"
        onSubmit={(event) => {
          event.preventDefault();
          open.mutate();
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && ready && !open.isPending) open.mutate();
        }}
      >
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
          <TaskSelect value={task} brought={brought} onChange={setTask} />
          <Textarea
            label={t('text')}
            placeholder={t('textPlaceholder')}
            required
            autosize
            minRows={6}
            maxRows={20}
            maxLength={10_000}
            value={content}
            onChange={(event) => setContent(event.currentTarget.value)}
          />
          <Failure error={open.error} />
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

interface TaskSelectProps {
  readonly value: string | null;
  readonly brought: string | undefined;
  readonly onChange: (task: string | null) => void;
}

/** The latest videos, so that nobody has to copy an id. */
function TaskSelect({ value, brought, onChange }: TaskSelectProps) {
  const { t } = useTranslation('support');
  const videos = useQuery(videosQuery(1, 20));
  const known = (videos.data?.data ?? []).map(({ task_id, model, submit_time, prompt }) => ({
    value: task_id,
    label: `${model} · ${toMoment(submit_time)} · ${prompt.slice(0, 40)}`,
  }));
  const data =
    brought === undefined || known.some((each) => each.value === brought)
      ? known
      : [{ value: brought, label: brought }, ...known];
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
