import { Button, Group, Select, SimpleGrid, Skeleton, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import {
  IconMovie,
  IconSearch,
  IconShare,
  IconSparkles,
  IconSquareCheck,
  IconStar,
  IconStarFilled,
} from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { TASK_STATUS } from '../../../contract/task-states.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { collectionsQuery } from '../../data/collections.ts';
import { usableModelsQuery } from '../../data/models.ts';
import { type Video, videosQuery } from '../../data/videos.ts';
import { StorageUsage } from './storage-usage.tsx';
import { CardActions, VideoCard } from './video-card.tsx';
import { type Selection, useVideoSelection, VideoSelectionBar } from './video-selection.tsx';
import { hasFilters, type VideosSearchParams } from './videos-search-params.ts';

const CollectionBar = lazy(() => import('./collection-bar.tsx'));
const Lightbox = lazy(() => import('../../components/lightbox.tsx'));

const PAGE_SIZE = 24;

/** All videos of the user; the filters are in the URL, so that a view can be bookmarked and shared. */
export function VideoListPage() {
  const { t } = useTranslation('studio');
  const search = useSearch({ from: '/app/videos' });
  const navigate = useNavigate();
  const selection = useVideoSelection();
  const { page = 1, from, to, favourite, collection, ...rest } = search;
  const filter = {
    ...rest,
    from: dayToUnixSeconds(from, '00:00:00'),
    to: dayToUnixSeconds(to, '23:59:59'),
    favourite: favourite ? 'true' : undefined,
    collection: collection?.toString(),
  };
  const videos = useQuery({ ...videosQuery(page, PAGE_SIZE, filter), placeholderData: keepPreviousData });
  const shown = videos.data?.data ?? [];
  const set = (part: VideosSearchParams): void =>
    void navigate({ to: '/videos', search: { ...search, page: undefined, after: undefined, ...part }, replace: true });
  const studio = (
    <Button
      data-create
      leftSection={<IconSparkles size={16} />}
      renderRoot={(props) => <Link to="/studio" {...props} />}
    >
      {t('run')}
    </Button>
  );
  return (
    <Page
      title={t('videosTitle')}
      subtitle={t('videosLead')}
      size="xl"
      actions={
        <>
          <ListActions selection={selection} isEmpty={shown.length === 0} />
          {studio}
        </>
      }
    >
      {videos.data?.total === 0 && !hasFilters(search) ? null : <VideoFilters search={search} set={set} />}
      {collection === undefined ? null : (
        <Suspense>
          <CollectionBar id={collection} onDeleted={() => set({ collection: undefined })} />
        </Suspense>
      )}
      <ErrorAlert error={videos.error} retry={() => void videos.refetch()} />
      {videos.data === undefined && videos.error === null ? <Skeleton h={320} radius="lg" /> : null}
      {videos.data?.total === 0 ? <NoVideos search={search} action={studio} /> : null}
      <VideoGrid videos={shown} selection={selection} />
      <Pager
        page={page}
        total={videos.data?.total ?? 0}
        pageSize={PAGE_SIZE}
        next={videos.data?.next}
        onChange={(next, after) => void navigate({ to: '/videos', search: { ...search, page: next, after } })}
      />
      <StorageUsage />
      {selection.videos === undefined ? null : (
        <VideoSelectionBar selection={selection} selected={selection.videos} shown={shown} collection={collection} />
      )}
    </Page>
  );
}

interface VideoGridProps {
  readonly videos: readonly Video[];
  readonly selection: Selection;
}

/** The videos as cards; a click on a finished one shows it over the whole window. */
function VideoGrid({ videos, selection }: VideoGridProps) {
  const reuse = useReuse();
  const [enlarged, setEnlarged] = useState<string>();
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3, xl: 4 }} spacing="md" style={{ alignItems: 'start' }}>
        {videos.map((video) => (
          <VideoCard
            key={video.task_id}
            video={video}
            onReuse={reuse}
            onEnlarge={setEnlarged}
            {...(selection.videos === undefined
              ? {}
              : { selected: selection.has(video.task_id), onSelect: selection.toggle })}
          />
        ))}
      </SimpleGrid>
      {enlarged === undefined ? null : (
        <Suspense>
          <Lightbox
            videos={videos.filter(({ status }) => status === 'SUCCESS')}
            start={enlarged}
            onClose={() => setEnlarged(undefined)}
            actions={(video) => <CardActions video={video} onReuse={reuse} isInLightbox />}
          />
        </Suspense>
      )}
    </>
  );
}

interface ListActionsProps {
  readonly selection: Selection;
  readonly isEmpty: boolean;
}

/** Selection mode, and the page of shared links. */
function ListActions({ selection, isEmpty }: ListActionsProps) {
  const { t } = useTranslation('studio');
  return (
    <>
      {selection.videos === undefined && isEmpty ? null : (
        // One button toggles the selection mode, so that the focus does not move.
        <Button
          variant="default"
          leftSection={<IconSquareCheck size={16} />}
          onClick={selection.videos === undefined ? selection.start : selection.stop}
        >
          {t(selection.videos === undefined ? 'select' : 'selectDone')}
        </Button>
      )}
      <Button
        variant="default"
        leftSection={<IconShare size={16} />}
        renderRoot={(props) => <Link to="/videos/shares" {...props} />}
      >
        {t('share.links')}
      </Button>
    </>
  );
}

/** Opens the studio with the inputs of a video. Stable, so that the cards need not render again. */
function useReuse() {
  const navigate = useNavigate();
  return useCallback(({ task_id }: Video) => void navigate({ to: '/studio', search: { again: task_id } }), [navigate]);
}

function NoVideos({ search, action }: { readonly search: VideosSearchParams; readonly action: ReactNode }) {
  const { t } = useTranslation('studio');
  const { page: _, favourite, ...others } = search;
  if (favourite && !hasFilters(others))
    return (
      <EmptyState icon={<IconStar size={28} />} title={t('noFavourites')}>
        {t('noFavouritesText')}
      </EmptyState>
    );
  if (hasFilters(search)) return <Text c="dimmed">{t('noMatch')}</Text>;
  return (
    <EmptyState icon={<IconMovie size={28} />} title={t('emptyTitle')} action={action}>
      {t('emptyText')}
    </EmptyState>
  );
}

/** Converts a day in the local time zone and a time of day to Unix seconds, as text. */
const dayToUnixSeconds = (day: string | undefined, time: string): string | undefined =>
  day === undefined ? undefined : String(Math.floor(new Date(`${day}T${time}`).getTime() / 1000));

const STATUS_CHOICES = [TASK_STATUS.SUCCESS, TASK_STATUS.IN_PROGRESS, TASK_STATUS.QUEUED, TASK_STATUS.FAILURE] as const;

interface VideoFiltersProps {
  readonly search: VideosSearchParams;
  readonly set: (part: VideosSearchParams) => void;
}

/** Filters of the user's videos. */
function VideoFilters({ search, set }: VideoFiltersProps) {
  const { t } = useTranslation('studio');
  const { status, model, from, to, favourite } = search;
  const models = useQuery(usableModelsQuery);
  return (
    <Group mb="lg" gap="sm" align="flex-end" className="filters" role="search">
      <PromptSearch value={search.q ?? ''} onChange={(q) => set({ q: q === '' ? undefined : q })} />
      <Select
        label={t('filterStatus')}
        w={130}
        placeholder={t('anyStatus')}
        clearable
        data={STATUS_CHOICES.map((value) => ({ value, label: t(`stage.${value}`) }))}
        value={status ?? null}
        onChange={(value) => set({ status: value ?? undefined })}
      />
      <Select
        label={t('filterModel')}
        w={160}
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
      <CollectionFilter search={search} set={set} />
      <Button
        variant={favourite ? 'light' : 'default'}
        aria-pressed={favourite === true}
        leftSection={favourite ? <IconStarFilled size={15} /> : <IconStar size={15} />}
        onClick={() => set({ favourite: favourite ? undefined : true })}
      >
        {t('favourites')}
      </Button>
      {hasFilters(search) ? (
        <Button
          variant="subtle"
          color="gray"
          onClick={() =>
            set({
              q: undefined,
              status: undefined,
              model: undefined,
              from: undefined,
              to: undefined,
              favourite: undefined,
              collection: undefined,
            })
          }
        >
          {t('clearFilters')}
        </Button>
      ) : null}
    </Group>
  );
}

/** Choice of a collection, once there is one. */
function CollectionFilter({ search: { collection }, set }: VideoFiltersProps) {
  const { t } = useTranslation('studio');
  const { data: collections = [] } = useQuery(collectionsQuery());
  if (collections.length === 0) return null;
  return (
    <Select
      label={t('collection')}
      w={160}
      placeholder={t('anyCollection')}
      clearable
      searchable
      data={collections.map(({ id, name }) => ({ value: String(id), label: name }))}
      value={collection === undefined ? null : String(collection)}
      onChange={(value) => set({ collection: value === null ? undefined : Number(value) })}
    />
  );
}

/** Searches after a short pause, not on every keystroke. */
function PromptSearch({ value, onChange }: { readonly value: string; readonly onChange: (words: string) => void }) {
  const { t } = useTranslation('studio');
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const apply = useDebouncedCallback((next: string) => onChange(next.trim()), 300);
  return (
    <TextInput
      label={t('prompt')}
      type="search"
      w={180}
      maxLength={200}
      placeholder={t('searchPlaceholder')}
      leftSection={<IconSearch size={15} />}
      value={text}
      onChange={({ currentTarget: { value: next } }) => {
        setText(next);
        apply(next);
      }}
    />
  );
}
