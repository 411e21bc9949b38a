import { Button, SimpleGrid, Skeleton, Text } from '@mantine/core';
import { IconMovie, IconSparkles, IconSquareCheck, IconStar } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { videosQuery } from '../../data/videos.ts';
import { Empty } from '../../parts/empty.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Page } from '../../parts/page.tsx';
import { Pager } from '../../parts/pager.tsx';
import { VideoCard } from '../../parts/video-card.tsx';
import { SelectionBar } from './selection-bar.tsx';
import { useSelection } from './use-selection.ts';
import { VideoFilters } from './video-filters.tsx';
import { isNarrowed, type VideosSearch } from './videos-search.ts';

const PAGE_SIZE = 24;

/** All own videos; the filters are in the address, so that a view can be kept and sent. */
export function VideosPage() {
  const { t } = useTranslation('studio');
  const search = useSearch({ from: '/app/videos' });
  const navigate = useNavigate();
  const selection = useSelection();
  const { page = 1, from, to, favourite, ...rest } = search;
  const filter = {
    ...rest,
    from: toSeconds(from, '00:00:00'),
    to: toSeconds(to, '23:59:59'),
    favourite: favourite ? 'true' : undefined,
  };
  const videos = useQuery({ ...videosQuery(page, PAGE_SIZE, filter), placeholderData: keepPreviousData });
  const shown = videos.data?.data ?? [];
  const set = (part: VideosSearch): void =>
    void navigate({ to: '/videos', search: { ...search, page: undefined, ...part }, replace: true });
  const studio = (
    <Button leftSection={<IconSparkles size={16} />} renderRoot={(props) => <Link to="/studio" {...props} />}>
      {t('run')}
    </Button>
  );
  return (
    <Page
      title={t('videosTitle')}
      lead={t('videosLead')}
      size="xl"
      actions={
        <>
          {selection.chosen === undefined && shown.length === 0 ? null : (
            // One button for both ways, so that the focus stays where it was.
            <Button
              variant="default"
              leftSection={<IconSquareCheck size={16} />}
              onClick={selection.chosen === undefined ? selection.begin : selection.end}
            >
              {t(selection.chosen === undefined ? 'select' : 'selectDone')}
            </Button>
          )}
          {studio}
        </>
      }
    >
      {videos.data?.total === 0 && !isNarrowed(search) ? null : <VideoFilters search={search} set={set} />}
      <Failure error={videos.error} retry={() => void videos.refetch()} />
      {videos.data === undefined && videos.error === null ? <Skeleton h={320} radius="lg" /> : null}
      {videos.data?.total === 0 ? <Nothing search={search} action={studio} /> : null}
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3, xl: 4 }} spacing="md">
        {shown.map((video) => (
          <VideoCard
            key={video.task_id}
            video={video}
            onReuse={({ task_id }) => void navigate({ to: '/studio', search: { again: task_id } })}
            {...(selection.chosen === undefined
              ? {}
              : { chosen: selection.has(video.task_id), onChoose: () => selection.toggle(video) })}
          />
        ))}
      </SimpleGrid>
      <Pager
        page={page}
        total={videos.data?.total ?? 0}
        pageSize={PAGE_SIZE}
        onChange={(next) => set({ page: next })}
      />
      {selection.chosen === undefined ? null : (
        <SelectionBar selection={selection} chosen={selection.chosen} shown={shown} />
      )}
    </Page>
  );
}

function Nothing({ search, action }: { readonly search: VideosSearch; readonly action: ReactNode }) {
  const { t } = useTranslation('studio');
  const { page: _, favourite, ...others } = search;
  if (favourite && !isNarrowed(others))
    return (
      <Empty icon={<IconStar size={28} />} title={t('noFavourites')}>
        {t('noFavouritesText')}
      </Empty>
    );
  if (isNarrowed(search)) return <Text c="dimmed">{t('noMatch')}</Text>;
  return (
    <Empty icon={<IconMovie size={28} />} title={t('emptyTitle')} action={action}>
      {t('emptyText')}
    </Empty>
  );
}

/** A day of this place's calendar at a time of day → Unix seconds as text. */
const toSeconds = (day: string | undefined, time: string): string | undefined =>
  day === undefined ? undefined : String(Math.floor(new Date(`${day}T${time}`).getTime() / 1000));
