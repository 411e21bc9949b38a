import { ActionIcon, AspectRatio, Group, Paper, SimpleGrid, Slider, Stack, Text } from '@mantine/core';
import { IconPlayerPauseFilled, IconPlayerPlayFilled } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { CreditAmount } from '../../components/credit-amount.tsx';
import { TaskProgress } from '../../components/task-progress.tsx';
import { useStablePlaybackSource } from '../../components/use-stable-playback-source.ts';
import { VideoFailure } from '../../components/video-failure.tsx';
import { type Video, videoQuery } from '../../data/video-queries.ts';
import { firstFrameUpload, VideoFacts } from './current-video.tsx';
import { type RemixActions, RemixButtons } from './remix-buttons.tsx';
import { type SynchronousPlay, useSynchronousPlay } from './use-synchronous-play.ts';

interface CompareStageProps {
  readonly videos: readonly Video[];
  readonly actions: RemixActions;
}

/** The videos of one prompt beside each other, played together; below each its cost and its time. */
export default function ComparedVideos({ videos, actions }: CompareStageProps) {
  const { t } = useTranslation('studio');
  const play = useSynchronousPlay();
  const charged = videos.filter(({ status }) => status !== 'FAILURE').reduce((sum, { quota }) => sum + quota, 0);
  return (
    <Stack gap="sm" component="section" aria-label={t('comparison')}>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
        {videos.map((video) => (
          <Paper
            key={video.task_id}
            withBorder
            p="xs"
            component="article"
            aria-label={`${video.model}: ${video.prompt}`}
          >
            {video.status === 'SUCCESS' ? <ComparedPlayer video={video} play={play} /> : <TaskProgress video={video} />}
            <Stack gap={6} mt="xs">
              {video.status === 'FAILURE' ? <VideoFailure video={video} /> : null}
              <VideoFacts video={video} />
              <RemixButtons video={video} actions={actions} />
            </Stack>
          </Paper>
        ))}
      </SimpleGrid>
      <Group gap="sm" wrap="nowrap">
        <ActionIcon
          variant="filled"
          color="accent"
          size="lg"
          radius="xl"
          aria-label={t(play.playing ? 'pauseAll' : 'playAll')}
          onClick={play.toggle}
        >
          {play.playing ? <IconPlayerPauseFilled size={18} /> : <IconPlayerPlayFilled size={18} />}
        </ActionIcon>
        <Slider
          flex={1}
          min={0}
          max={Math.max(play.duration, 0.1)}
          step={0.04}
          value={play.time}
          onChange={play.seek}
          label={(seconds) => t('secondsShort', { seconds: Number(seconds.toFixed(1)) })}
          thumbLabel={t('position')}
        />
        <Text size="sm">
          {t('together')} <CreditAmount value={charged} fw={600} />
        </Text>
      </Group>
    </Stack>
  );
}

function ComparedPlayer({ video, play }: { readonly video: Video; readonly play: SynchronousPlay }) {
  const detail = useQuery(videoQuery(video.task_id));
  return (
    <AspectRatio ratio={16 / 9} bg="dark.9" style={{ borderRadius: 'var(--rg-radius-md)', overflow: 'hidden' }}>
      {detail.data === undefined || detail.data.play_url === '' ? (
        <div />
      ) : (
        <MutedVideo video={video} link={detail.data.play_url} play={play} />
      )}
    </AspectRatio>
  );
}

function MutedVideo({
  video,
  link,
  play,
}: {
  readonly video: Video;
  readonly link: string;
  readonly play: SynchronousPlay;
}) {
  const { onFrame } = firstFrameUpload(video);
  const { path, src, renew } = useStablePlaybackSource(link);
  return (
    <video
      key={path}
      ref={play.register}
      src={src}
      aria-label={`${video.model}: ${video.prompt}`}
      muted
      playsInline
      preload="auto"
      onSeeked={({ currentTarget }) => onFrame?.(currentTarget)}
      onError={({ currentTarget }) => void renew(currentTarget)}
      style={{ display: 'block', objectFit: 'contain' }}
    />
  );
}
