import { Button, Group, Select, SimpleGrid, Skeleton, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import {
  IconDownload,
  IconFolderMinus,
  IconFolderPlus,
  IconMovie,
  IconSearch,
  IconShare,
  IconSparkles,
  IconSquareCheck,
  IconStar,
  IconStarFilled,
  IconTrash,
} from '@tabler/icons-react';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isTerminal, TASK_STATUS } from '../../../contract/task-states.ts';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { ErrorAlert, toErrorMessage } from '../../components/error-alert.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { collectionsQuery, setMembership } from '../../data/collections.ts';
import { usableModelsQuery } from '../../data/models.ts';
import { deleteVideo, downloadVideos, type Video, videosQuery } from '../../data/videos.ts';
import { StorageUsage } from './storage-usage.tsx';
import { CardActions, VideoCard } from './video-card.tsx';
import { hasFilters, type VideosSearchParams } from './videos-search-params.ts';

const CollectionBar = lazy(() => import('./collection-bar.tsx'));
const CollectionDialog = lazy(() => import('../../components/collection-dialog.tsx'));
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
  const reuse = useReuse();
  const [enlarged, setEnlarged] = useState<string>();
  const studio = (
    <Button leftSection={<IconSparkles size={16} />} renderRoot={(props) => <Link to="/studio" {...props} />}>
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
          {selection.videos === undefined && shown.length === 0 ? null : (
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
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3, xl: 4 }} spacing="md" style={{ alignItems: 'start' }}>
        {shown.map((video) => (
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
      {enlarged === undefined ? null : (
        <Suspense>
          <Lightbox
            videos={shown.filter(({ status }) => status === 'SUCCESS')}
            start={enlarged}
            onClose={() => setEnlarged(undefined)}
            actions={(video) => <CardActions video={video} onReuse={reuse} inLightbox />}
          />
        </Suspense>
      )}
    </Page>
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
  const { status, model, from, to, favourite, collection } = search;
  const models = useQuery(usableModelsQuery);
  const { data: collections = [] } = useQuery(collectionsQuery());
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
      {collections.length === 0 ? null : (
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
      )}
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

interface SelectionBarProps {
  readonly selection: Selection;
  readonly selected: readonly Video[];
  /** Videos on the screen. */
  readonly shown: readonly Video[];
  /** The collection whose videos the page shows. */
  readonly collection: number | undefined;
}

/** Bulk actions for the selected videos; sticky while any video is selected. */
function VideoSelectionBar({ selection, selected, shown, collection }: SelectionBarProps) {
  const { t } = useTranslation(['studio', 'app']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const finished = selected.filter(({ status }) => isTerminal(status));
  const downloadable = selected.filter(({ status }) => status === 'SUCCESS').map(({ task_id: id }) => id);
  const [isCollecting, setCollecting] = useState(false);
  const uncollect = useMutation({
    mutationFn: (id: number) =>
      setMembership(
        id,
        selected.map((each) => each.task_id),
        false,
      ),
    onSuccess: () => {
      selection.stop();
      return Promise.all(
        ['list', 'collections'].map((part) => queries.invalidateQueries({ queryKey: ['videos', part] })),
      );
    },
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  const save = useMutation({
    mutationFn: () => downloadVideos(queries, downloadable),
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  const remove = async (): Promise<void> => {
    try {
      for (const video of finished) {
        await deleteVideo(video.task_id);
        selection.remove([video]);
      }
    } finally {
      for (const list of ['list', 'favourites', 'collections'])
        await queries.invalidateQueries({ queryKey: ['videos', list] });
    }
    toasts.success(t('deletedMany', { count: finished.length }));
    selection.stop();
  };
  return (
    <Group className="selection-bar" role="region" aria-label={t('select')} justify="space-between" gap="xs">
      <Group gap="xs">
        <Text size="sm" fw={600} role="status">
          {t('chosen', { count: selected.length })}
        </Text>
        <Button variant="subtle" size="compact-sm" onClick={() => selection.add(shown)}>
          {t('choosePage')}
        </Button>
      </Group>
      <Group gap="xs">
        <Button
          variant="default"
          size="xs"
          leftSection={<IconFolderPlus size={16} />}
          disabled={selected.length === 0}
          onClick={() => setCollecting(true)}
        >
          {t('collect')}
        </Button>
        {collection === undefined ? null : (
          <Button
            variant="default"
            size="xs"
            leftSection={<IconFolderMinus size={16} />}
            disabled={selected.length === 0}
            loading={uncollect.isPending}
            onClick={() => uncollect.mutate(collection)}
          >
            {t('uncollect')}
          </Button>
        )}
        <Button
          variant="default"
          size="xs"
          leftSection={<IconDownload size={16} />}
          disabled={downloadable.length === 0}
          loading={save.isPending}
          onClick={() => save.mutate()}
        >
          {t('downloadMany', { count: downloadable.length })}
        </Button>
        <ConfirmDialog
          title={t('deleteManyTitle', { count: finished.length })}
          confirmLabel={t('deleteMany', { count: finished.length })}
          onConfirm={remove}
          trigger={(open) => (
            <Button
              variant="default"
              size="xs"
              leftSection={<IconTrash size={16} />}
              disabled={finished.length === 0}
              onClick={open}
            >
              {t('deleteMany', { count: finished.length })}
            </Button>
          )}
        >
          {t('deleteManyText')}
          {finished.length < selected.length
            ? ` ${t('unfinishedStay', { count: selected.length - finished.length })}`
            : ''}
        </ConfirmDialog>
        <Button size="xs" onClick={selection.stop}>
          {t('selectDone')}
        </Button>
      </Group>
      {isCollecting ? (
        <Suspense>
          <CollectionDialog taskIds={selected.map((each) => each.task_id)} onClose={() => setCollecting(false)} />
        </Suspense>
      ) : null}
    </Group>
  );
}

/** Videos selected for a bulk action, including those on other pages and outside the current filters. */
interface Selection {
  /** Undefined: selection mode is off. */
  readonly videos: readonly Video[] | undefined;
  has(id: string): boolean;
  start(): void;
  stop(): void;
  toggle(video: Video): void;
  add(videos: readonly Video[]): void;
  remove(videos: readonly Video[]): void;
}

function useVideoSelection(): Selection {
  const [chosen, setChosen] = useState<readonly Video[]>();
  // Stable, so that a click renders only the cards that change.
  const toggle = useCallback(
    (video: Video) =>
      setChosen((all = []) => {
        const others = without(all, [video]);
        return others.length === all.length ? [...all, video] : others;
      }),
    [],
  );
  return {
    videos: chosen,
    has: (id) => chosen?.some(({ task_id: each }) => each === id) === true,
    start: () => setChosen([]),
    stop: () => setChosen(undefined),
    toggle,
    add: (videos) => setChosen((all) => [...without(all, videos), ...videos]),
    remove: (videos) => setChosen((all) => without(all, videos)),
  };
}

const without = (all: readonly Video[] = [], some: readonly Video[]) =>
  all.filter(({ task_id: id }) => !some.some(({ task_id: other }) => other === id));
