import { ActionIcon, AspectRatio, Button, Center, Group, Paper, Skeleton, Stack, Text } from '@mantine/core';
import {
  IconArrowBackUp,
  IconArrowsMaximize,
  IconArrowsShuffle,
  IconDownload,
  IconPhotoDown,
  IconPlayerTrackNext,
  IconWand,
} from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { CreditAmount, useFormatCredits } from '../../components/credit-amount.tsx';
import { FavouriteButton } from '../../components/favourite-button.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { TaskProgress, VideoFailure, VideoStatusBadge } from '../../components/task-status.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { VideoPlayer } from '../../components/video-player.tsx';
import { formatElapsed } from '../../data/format-times.ts';
import { downloadVideo, uploadPoster, type Video, type VideoDetail, videoQuery } from '../../data/videos.ts';
import type { RemixActions } from './remix-actions.ts';

/**
 * One video in the middle of the studio, as large as possible: its progress, then the player, or the reason of its
 * failure.
 */
export function CurrentVideo({ video, actions }: { readonly video: Video; readonly actions: RemixActions }) {
  const { t } = useTranslation('studio');
  const prompt = video.prompt === '' ? t('noPrompt') : video.prompt;
  return (
    <Paper withBorder p="sm" component="article" aria-label={prompt} className="stage">
      {video.status === 'SUCCESS' ? <StagePlayer video={video} /> : <TaskProgress video={video} />}
      <Stack gap={6} mt="sm">
        {video.status === 'FAILURE' ? <VideoFailure video={video} /> : null}
        <Text size="sm" lineClamp={3} title={video.prompt} style={{ overflowWrap: 'anywhere' }}>
          {prompt}
        </Text>
        <Group justify="space-between" gap="xs">
          <VideoFacts video={video} />
          <RemixButtons video={video} actions={actions} />
        </Group>
        <StageLineage video={video} />
      </Stack>
    </Paper>
  );
}

const Lineage = lazy(async () => ({ default: (await import('../videos/lineage.tsx')).Lineage }));

/** Versions of the video; loaded only for one that has some. */
function StageLineage({ video }: { readonly video: Video }) {
  const { data } = useQuery({ ...videoQuery(video.task_id), enabled: video.status === 'SUCCESS' });
  if (data === undefined || (data.source === null && data.children.length === 0)) return null;
  return (
    <Suspense>
      <Lineage video={data} />
    </Suspense>
  );
}

/** Model, cost and duration of one video in a line. */
export function VideoFacts({ video }: { readonly video: Video }) {
  const { t } = useTranslation('studio');
  return (
    <Group gap={8} c="dimmed" fz="xs">
      {/* Live region, because the video may finish while the user is elsewhere on the page. */}
      <span role="status">
        <VideoStatusBadge {...video} />
      </span>
      <span>{video.model}</span>
      {video.status === 'FAILURE' ? <span>{t('notCharged')}</span> : <CreditAmount value={video.quota} />}
      {video.status === 'SUCCESS' ? (
        <span>{t('took', { time: formatElapsed(video.finish_time - video.submit_time) })}</span>
      ) : null}
      <RelativeTime at={video.submit_time} />
    </Group>
  );
}

function StagePlayer({ video }: { readonly video: Video }) {
  const { t } = useTranslation('studio');
  const detail = useQuery(videoQuery(video.task_id));
  if (detail.data === undefined)
    return (
      <AspectRatio ratio={16 / 9}>
        <Skeleton radius="md" visible={detail.isLoading} />
      </AspectRatio>
    );
  if (detail.data.play_url === '')
    return (
      <AspectRatio ratio={16 / 9}>
        <Center c="dimmed">{t('noFile')}</Center>
      </AspectRatio>
    );
  return <VideoPlayer src={detail.data.play_url} title={video.prompt} frameControls {...firstFrameUpload(video)} />;
}

/** Uploads the first frame shown as the poster of a video without one. */
export const firstFrameUpload = (
  video: Pick<VideoDetail, 'poster_url' | 'task_id'>,
): { readonly onFrame?: (frame: HTMLVideoElement) => void } =>
  video.poster_url === '' ? { onFrame: (frame) => uploadPoster(video.task_id, frame) } : {};

/** Buttons that reuse a video's parameters or frames, download it, or mark it as a favourite. */
export function RemixButtons({ video, actions }: { readonly video: Video; readonly actions: RemixActions }) {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const toasts = useToasts();
  const formatCredits = useFormatCredits();
  const { task_id: id } = video;
  const finished = video.status === 'SUCCESS';
  return (
    <Group gap={4}>
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconArrowBackUp size={15} />}
        aria-keyshortcuts="r"
        onClick={() => actions.remix(id)}
      >
        {t('reuse')}
      </Button>
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconArrowsShuffle size={15} />}
        aria-keyshortcuts="v"
        data-hint={t('varyHint', { price: formatCredits(video.quota) })}
        onClick={() => actions.vary(id)}
      >
        {t('vary')}
      </Button>
      {finished ? (
        <>
          {actions.offered.map((operation) => (
            <Button
              key={operation}
              size="compact-sm"
              variant="default"
              leftSection={operation === 'edit' ? <IconWand size={15} /> : <IconPlayerTrackNext size={15} />}
              aria-keyshortcuts={operation === 'edit' ? 'd' : 'e'}
              onClick={() => actions.change(id, operation)}
            >
              {t(`operations.${operation}`)}
            </Button>
          ))}
          <ActionIcon
            data-hint={t('takeLastFrame')}
            aria-label={t('takeLastFrame')}
            aria-keyshortcuts="l"
            onClick={() => actions.takeLastFrame(id)}
          >
            <IconPhotoDown size={17} />
          </ActionIcon>
          <ActionIcon
            data-hint={t('download')}
            aria-label={t('download')}
            onClick={() => void downloadVideo(queries, id).catch((error: Error) => toasts.error(error.message))}
          >
            <IconDownload size={17} />
          </ActionIcon>
        </>
      ) : null}
      <FavouriteButton id={id} />
      <ActionIcon
        data-hint={t('open')}
        aria-label={t('open')}
        renderRoot={(props) => <Link to="/videos/$taskId" params={{ taskId: id }} {...props} />}
      >
        <IconArrowsMaximize size={16} />
      </ActionIcon>
    </Group>
  );
}
