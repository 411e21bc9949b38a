import { Button, SimpleGrid, Skeleton, Text } from '@mantine/core';
import { IconMovie, IconShare, IconSparkles, IconSquareCheck, IconStar } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { VideoCard } from '../../components/video-card.tsx';
import { VideoStorageUsage } from '../../components/video-storage-usage.tsx';
import { videosQuery } from '../../data/video-queries.ts';
import { useVideoSelection } from './use-video-selection.ts';
import { VideoFilters } from './video-filters.tsx';
import { VideoSelectionBar } from './video-selection-bar.tsx';
import { hasFilters, type VideosSearchParams } from './videos-search-params.ts';

const PAGE_SIZE = 24;

/** All videos of the user; the filters are in the URL, so that a view can be bookmarked and shared. */
export function VideoListPage() {
  const { t } = useTranslation('studio');
  const search = useSearch({ from: '/app/videos' });
  const navigate = useNavigate();
  const selection = useVideoSelection();
  const { page = 1, from, to, favourite, ...rest } = search;
  const filter = {
    ...rest,
    from: dayToUnixSeconds(from, '00:00:00'),
    to: dayToUnixSeconds(to, '23:59:59'),
    favourite: favourite ? 'true' : undefined,
  };
  const videos = useQuery({ ...videosQuery(page, PAGE_SIZE, filter), placeholderData: keepPreviousData });
  const shown = videos.data?.data ?? [];
  const set = (part: VideosSearchParams): void =>
    void navigate({ to: '/videos', search: { ...search, page: undefined, after: undefined, ...part }, replace: true });
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
            // One button for both ways, so that the focus stays where it was.
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
      <ErrorAlert error={videos.error} retry={() => void videos.refetch()} />
      {videos.data === undefined && videos.error === null ? <Skeleton h={320} radius="lg" /> : null}
      {videos.data?.total === 0 ? <NoVideos search={search} action={studio} /> : null}
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3, xl: 4 }} spacing="md">
        {shown.map((video) => (
          <VideoCard
            key={video.task_id}
            video={video}
            onReuse={({ task_id }) => void navigate({ to: '/studio', search: { again: task_id } })}
            {...(selection.videos === undefined
              ? {}
              : { selected: selection.has(video.task_id), onSelect: () => selection.toggle(video) })}
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
      <VideoStorageUsage />
      {selection.videos === undefined ? null : (
        <VideoSelectionBar selection={selection} selected={selection.videos} shown={shown} />
      )}
    </Page>
  );
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

/** A day in the local time zone at a time of day → Unix seconds as text. */
const dayToUnixSeconds = (day: string | undefined, time: string): string | undefined =>
  day === undefined ? undefined : String(Math.floor(new Date(`${day}T${time}`).getTime() / 1000));
