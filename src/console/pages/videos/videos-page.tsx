import { Button, Group, Select, SimpleGrid, Skeleton, Text, TextInput } from '@mantine/core';
import { IconMovie, IconSparkles } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { TASK_STATUS } from '../../../contract/states.ts';
import { modelsQuery } from '../../data/models.ts';
import { videosQuery } from '../../data/videos.ts';
import { Empty } from '../../parts/empty.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Page } from '../../parts/page.tsx';
import { Pager } from '../../parts/pager.tsx';
import { VideoCard } from '../../parts/video-card.tsx';

const PAGE_SIZE = 24;
const CHOICES = [TASK_STATUS.SUCCESS, TASK_STATUS.IN_PROGRESS, TASK_STATUS.QUEUED, TASK_STATUS.FAILURE] as const;

/** All own videos; the filters are in the address, so that a view can be kept and sent. */
export function VideosPage() {
  const { t } = useTranslation('studio');
  const search = useSearch({ from: '/app/videos' });
  const navigate = useNavigate();
  const { page = 1, status, model, from, to } = search;
  const filter = { status, model, from: toSeconds(from, '00:00:00'), to: toSeconds(to, '23:59:59') };
  const videos = useQuery({ ...videosQuery(page, PAGE_SIZE, filter), placeholderData: keepPreviousData });
  const models = useQuery(modelsQuery);
  const set = (part: Partial<typeof search>): void =>
    void navigate({ to: '/videos', search: { ...search, page: undefined, ...part }, replace: true });
  const filtered = [status, model, from, to].some((each) => each !== undefined);
  const studio = (
    <Button leftSection={<IconSparkles size={16} />} renderRoot={(props) => <Link to="/studio" {...props} />}>
      {t('run')}
    </Button>
  );
  return (
    <Page title={t('videosTitle')} lead={t('videosLead')} size="xl" actions={studio}>
      <Group mb="lg" gap="sm" align="flex-end" className="filters">
        <Select
          label={t('filterStatus')}
          w={150}
          placeholder={t('anyStatus')}
          clearable
          data={CHOICES.map((value) => ({ value, label: t(`stage.${value}`) }))}
          value={status ?? null}
          onChange={(value) => set({ status: value ?? undefined })}
        />
        <Select
          label={t('filterModel')}
          w={220}
          placeholder={t('anyModel')}
          clearable
          searchable
          data={(models.data ?? []).filter(({ kind }) => kind === 'video').map(({ id }) => id)}
          value={model ?? null}
          onChange={(value) => set({ model: value ?? undefined })}
        />
        <TextInput
          type="date"
          label={t('filterFrom')}
          value={from ?? ''}
          onChange={(event) => set({ from: event.currentTarget.value || undefined })}
        />
        <TextInput
          type="date"
          label={t('filterTo')}
          value={to ?? ''}
          onChange={(event) => set({ to: event.currentTarget.value || undefined })}
        />
        {filtered ? (
          <Button
            variant="subtle"
            color="gray"
            onClick={() => set({ status: undefined, model: undefined, from: undefined, to: undefined })}
          >
            {t('clearFilters')}
          </Button>
        ) : null}
      </Group>
      <Failure error={videos.error} retry={() => void videos.refetch()} />
      {videos.data === undefined && videos.error === null ? <Skeleton h={320} radius="lg" /> : null}
      {videos.data?.total === 0 ? (
        filtered ? (
          <Text c="dimmed">{t('noMatch')}</Text>
        ) : (
          <Empty icon={<IconMovie size={28} />} title={t('emptyTitle')} action={studio}>
            {t('emptyText')}
          </Empty>
        )
      ) : null}
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3, xl: 4 }} spacing="md">
        {(videos.data?.data ?? []).map((video) => (
          <VideoCard
            key={video.task_id}
            video={video}
            onReuse={({ task_id }) => void navigate({ to: '/studio', search: { again: task_id } })}
          />
        ))}
      </SimpleGrid>
      <Pager
        page={page}
        total={videos.data?.total ?? 0}
        pageSize={PAGE_SIZE}
        onChange={(next) => set({ page: next })}
      />
    </Page>
  );
}

/** A day of this place's calendar at a time of day → Unix seconds as text. */
const toSeconds = (day: string | undefined, time: string): string | undefined =>
  day === undefined ? undefined : String(Math.floor(new Date(`${day}T${time}`).getTime() / 1000));
