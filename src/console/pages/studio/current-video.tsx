import { AspectRatio, Center, Group, Paper, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { CreditAmount } from '../../components/credit-amount.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { TaskProgress } from '../../components/task-progress.tsx';
import { VideoFailure } from '../../components/video-failure.tsx';
import { VideoPlayer } from '../../components/video-player.tsx';
import { VideoStatusBadge } from '../../components/video-status-badge.tsx';
import { formatElapsed } from '../../data/format-times-and-durations.ts';
import { uploadPoster } from '../../data/upload-poster.ts';
import { type Video, type VideoDetail, videoQuery } from '../../data/video-queries.ts';
import { type RemixActions, RemixButtons } from './remix-buttons.tsx';

/** One video in the middle of the studio, as large as there is room: its progress, then the player; of a failure why. */
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
      </Stack>
    </Paper>
  );
}

/** Model, cost and time of one video in a line. */
export function VideoFacts({ video }: { readonly video: Video }) {
  const { t } = useTranslation('studio');
  return (
    <Group gap={8} c="dimmed" fz="xs">
      {/* Read out as it changes: the video may end while its author is elsewhere on the page. */}
      <span role="status">
        <VideoStatusBadge status={video.status} />
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

/** The first frame that is shown becomes the poster of a video that has none. */
export const firstFrameUpload = (
  video: Pick<VideoDetail, 'poster_url' | 'task_id'>,
): { readonly onFrame?: (frame: HTMLVideoElement) => void } =>
  video.poster_url === '' ? { onFrame: (frame) => uploadPoster(video.task_id, frame) } : {};
