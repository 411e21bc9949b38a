import {
  ActionIcon,
  Anchor,
  Badge,
  Button,
  Card,
  Checkbox,
  Group,
  Select,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import {
  IconAlertTriangle,
  IconArrowBackUp,
  IconDownload,
  IconFileInfo,
  IconFilter,
  IconMovie,
  IconShare,
  IconSparkles,
  IconSquareCheck,
  IconStar,
  IconStarFilled,
} from '@tabler/icons-react';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, memo, type ReactNode, Suspense, useCallback, useDeferredValue, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { TASK_STATUS } from '../../../contract/task-states.ts';
import { CreditAmount, useFormatCredits } from '../../components/credit-amount.tsx';
import { DayInput } from '../../components/day-input.tsx';
import { QueryError } from '../../components/error-alert.tsx';
import { byLabelOrValue, toModelOptions } from '../../components/model-name.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { TaskProgress, VideoStatusBadge } from '../../components/task-status.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { CollectButton, FavouriteButton } from '../../components/video-buttons.tsx';
import { HoverClip } from '../../components/video-player.tsx';
import { formatLabelled } from '../../data/format-values.ts';
import { usableModelsQuery, useModelTitle } from '../../data/self.ts';
import { collectionsQuery, downloadVideo, type Video, videosQuery } from '../../data/videos.ts';
import { StorageUsage } from './storage-usage.tsx';
import { type Selection, useVideoSelection, VideoSelectionBar } from './video-selection.tsx';
import { hasFilters, type VideosSearchParams } from './videos-search-params.ts';

const CollectionBar = lazy(async () => ({ default: (await import('../../components/collections.tsx')).CollectionBar }));
const Lightbox = lazy(() => import('../../components/lightbox.tsx'));

const PAGE_SIZE = 24;
const NO_VIDEOS: readonly Video[] = [];

/** All videos of the user; the filters are in the URL, so that a view can be bookmarked and shared. */
export function VideoListPage() {
  const search = useSearch({ from: '/app/videos' });
  // Filters and cards take longer than one frame to render; deferring them lets the click paint first.
  return <VideoList search={useDeferredValue(search)} />;
}

const VideoList = memo(function VideoList({ search }: { readonly search: VideosSearchParams }) {
  const { t } = useTranslation(['studio', 'library']);
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
  const shown = videos.data?.data ?? NO_VIDEOS;
  const set = (part: VideosSearchParams): void =>
    void navigate({
      to: '/videos',
      search: (latest) => ({ ...latest, page: undefined, after: undefined, ...part }),
      replace: true,
    });
  const studio = (
    <Button
      data-create
      leftSection={<IconSparkles size={16} />}
      renderRoot={(props) => <Link to="/studio" {...props} />}
    >
      {t('run')}
    </Button>
  );
  const hasNone = videos.data?.total === 0 && !hasFilters(search);
  return (
    <Page
      title={t('library:videosTitle')}
      subtitle={t('library:videosLead')}
      actions={
        <>
          <ListActions selection={selection} isEmpty={shown.length === 0} />
          {hasNone ? null : studio}
        </>
      }
    >
      {hasNone ? null : <VideoFilters search={search} set={set} />}
      {collection === undefined ? null : (
        <Suspense>
          <CollectionBar id={collection} onDeleted={() => set({ collection: undefined })} />
        </Suspense>
      )}
      <QueryError query={videos} />
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
});

interface VideoGridProps {
  readonly videos: readonly Video[];
  readonly selection: Selection;
}

/** The videos as cards; a click on a finished one opens the lightbox. The cards render after the pager. */
function VideoGrid({ videos: newest, selection }: VideoGridProps) {
  const videos = useDeferredValue(newest);
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
  const { t } = useTranslation('library');
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
  const { t } = useTranslation(['studio', 'library']);
  const { page: _, favourite, ...others } = search;
  if (favourite && !hasFilters(others))
    return (
      <EmptyState icon={<IconStar size={28} />} title={t('library:noFavourites')}>
        {t('library:noFavouritesText')}
      </EmptyState>
    );
  if (hasFilters(search)) return <Text c="dimmed">{t('library:noMatch')}</Text>;
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
  const { t } = useTranslation(['studio', 'library']);
  const { status, model, from, to, favourite } = search;
  // On phones the search alone is shown first: all filters would fill half of the screen.
  const [open, { toggle }] = useDisclosure(status !== undefined || model !== undefined || (from ?? to) !== undefined);
  return (
    <Group mb="lg" gap="sm" align="flex-end" className="filters" role="search" data-folded={open ? undefined : ''}>
      <SearchInput
        label={t('prompt')}
        type="search"
        w={180}
        maxLength={200}
        placeholder={t('library:searchPlaceholder')}
        value={search.q ?? ''}
        onChange={(q) => set({ q: q === '' ? undefined : q })}
      />
      <Button
        hiddenFrom="xs"
        variant="default"
        leftSection={<IconFilter size={16} />}
        onClick={toggle}
        aria-expanded={open}
      >
        {t('library:filters')}
      </Button>
      <Select
        label={t('library:filterStatus')}
        w={130}
        placeholder={t('library:anyStatus')}
        clearable
        data={STATUS_CHOICES.map((value) => ({ value, label: t(`stage.${value}`) }))}
        value={status ?? null}
        onChange={(value) => set({ status: value ?? undefined })}
      />
      <ModelFilter search={search} set={set} />
      <DayInput
        label={t('library:filterFrom')}
        value={from ?? ''}
        onChange={(day) => set({ from: day || undefined })}
      />
      <DayInput label={t('library:filterTo')} value={to ?? ''} onChange={(day) => set({ to: day || undefined })} />
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
          {t('library:clearFilters')}
        </Button>
      ) : null}
    </Group>
  );
}

/** Choice of a collection, once there is one. */
function CollectionFilter({ search: { collection }, set }: VideoFiltersProps) {
  const { t } = useTranslation('library');
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

function ModelFilter({ search, set }: VideoFiltersProps) {
  const { t } = useTranslation('library');
  const { data: models = [] } = useQuery(usableModelsQuery);
  return (
    <Select
      label={t('filterModel')}
      w={160}
      placeholder={t('anyModel')}
      clearable
      searchable
      data={toModelOptions(models.filter(({ kind }) => kind === 'video'))}
      filter={byLabelOrValue}
      value={search.model ?? null}
      onChange={(model) => set({ model: model ?? undefined })}
    />
  );
}

interface VideoCardProps {
  readonly video: Video;
  readonly onReuse: (video: Video) => void;
  /** Shows a finished video over the whole window. */
  readonly onEnlarge: (taskId: string) => void;
  /** Set while videos are being selected for a bulk action. */
  readonly selected?: boolean;
  readonly onSelect?: (video: Video) => void;
}

/**
 * One video of the user, from submission to playback; for a failure the reason, and whether it was charged. Memoized,
 * because a click on the page of 24 cards would render all of them before the next frame.
 */
const VideoCard = memo(function VideoCard({ video, onReuse, onEnlarge, selected = false, onSelect }: VideoCardProps) {
  const { t } = useTranslation(['studio', 'library']);
  const titleOf = useModelTitle();
  const prompt = video.prompt === '' ? t('noPrompt') : video.prompt;
  return (
    <Card p="sm" component="article" aria-label={prompt} className={selected ? 'chosen' : ''}>
      <Card.Section p="sm" pb={0}>
        <CardMedia video={video} onEnlarge={onEnlarge} />
      </Card.Section>
      <Stack gap={6} mt="sm" flex={1}>
        {onSelect === undefined ? null : (
          <Checkbox
            label={t('library:choose')}
            aria-label={formatLabelled(t('library:choose'), prompt)}
            checked={selected}
            onChange={() => onSelect(video)}
          />
        )}
        <Text size="sm" component="div" mih="2lh">
          <Text
            size="sm"
            lineClamp={video.source === null ? 2 : 1}
            title={video.prompt}
            style={{ overflowWrap: 'anywhere' }}
          >
            {prompt}
          </Text>
          {video.source === null ? null : <SourceLink source={video.source} />}
        </Text>
        <Group gap={8} wrap="nowrap">
          {video.status === 'SUCCESS' ? null : <VideoStatusBadge {...video} />}
          <Text size="xs" c="dimmed" truncate flex={1} title={video.model}>
            {titleOf(video.model)}
          </Text>
          {video.imported ? (
            <Badge size="xs" variant="default" title={t('library:importedHint')}>
              {t('library:imported')}
            </Badge>
          ) : null}
          {video.status === 'SUCCESS' ? <CreditAmount value={video.quota} fz="xs" c="dimmed" /> : null}
        </Group>
        <Group justify="space-between" wrap="nowrap" gap="xs" mt="auto">
          <Text size="xs" c="dimmed" component="div" truncate>
            <RelativeTime at={video.submit_time} />
            {video.submitted_by === undefined ? null : ` · ${video.submitted_by}`}
          </Text>
          <CardActions video={video} onReuse={onReuse} />
        </Group>
      </Stack>
    </Card>
  );
});

/** The video from which this one was made. */
function SourceLink({ source }: { readonly source: NonNullable<Video['source']> }) {
  const { t } = useTranslation(['studio', 'library']);
  const { task_id: taskId, operation, prompt } = source;
  const text = formatLabelled(t(`library:madeFrom.${operation}`), prompt === '' ? t('noPrompt') : prompt);
  return (
    <Anchor
      size="xs"
      c="dimmed"
      truncate
      display="block"
      title={text}
      renderRoot={(props) => <Link to="/videos/$taskId" params={{ taskId }} {...props} />}
    >
      {text}
    </Anchor>
  );
}

interface CardActionsProps extends Pick<VideoCardProps, 'video' | 'onReuse'> {
  /** The lightbox covers dialogs: none can open from it. */
  readonly isInLightbox?: boolean;
}

/** Actions on a video, on its card and in the lightbox. */
function CardActions({ video, onReuse, isInLightbox = false }: CardActionsProps) {
  const { t } = useTranslation(['studio', 'library']);
  return (
    <Group gap={2} wrap="nowrap">
      <FavouriteButton id={video.task_id} />
      {isInLightbox ? null : <CollectButton id={video.task_id} />}
      <ActionIcon data-hint={t('library:reuseHint')} aria-label={t('reuse')} onClick={() => onReuse(video)}>
        <IconArrowBackUp size={17} />
      </ActionIcon>
      {video.status === 'SUCCESS' ? <DownloadButton id={video.task_id} /> : null}
      <ActionIcon
        data-hint={t('open')}
        aria-label={t('open')}
        renderRoot={(props) => <Link to="/videos/$taskId" params={{ taskId: video.task_id }} {...props} />}
      >
        <IconFileInfo size={16} />
      </ActionIcon>
    </Group>
  );
}

/** The upper part of a card, of the same height for every state, so that no card leaves a hole beside another. */
function CardMedia({ video, onEnlarge }: Pick<VideoCardProps, 'video' | 'onEnlarge'>) {
  const { t } = useTranslation(['studio', 'library']);
  if (video.status === 'FAILURE') return <FailureTile video={video} />;
  if (video.status !== 'SUCCESS') return <TaskProgress video={video} />;
  return (
    <button
      type="button"
      className="tile mantine-focus-auto"
      aria-label={formatLabelled(t('library:play'), video.prompt === '' ? t('noPrompt') : video.prompt)}
      onClick={() => onEnlarge(video.task_id)}
    >
      <HoverClip video={video} fallback={<IconMovie size={22} />} />
    </button>
  );
}

/** Why a video failed; leads to its page, which has the remedy and the vendor's message. */
function FailureTile({ video }: { readonly video: Video }) {
  const { t } = useTranslation(['studio', 'library']);
  const failure = useTranslation('videos');
  const formatCredits = useFormatCredits();
  return (
    <Link to="/videos/$taskId" params={{ taskId: video.task_id }} className="tile failure-tile mantine-focus-auto">
      <span>
        <IconAlertTriangle size={22} aria-hidden />
        <strong>{failure.t(`failures.${video.fail_cause === '' ? 'unknown' : video.fail_cause}.text`)}</strong>
        {t(video.imported ? 'importedCost' : 'refunded', { price: formatCredits(video.quota) })}
      </span>
    </Link>
  );
}

function DownloadButton({ id }: { readonly id: string }) {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const toasts = useToasts();
  return (
    <ActionIcon
      data-hint={t('download')}
      aria-label={t('download')}
      onClick={() => void downloadVideo(queries, id).catch((error: Error) => toasts.error(error.message))}
    >
      <IconDownload size={17} />
    </ActionIcon>
  );
}
