import { ActionIcon, Group, Paper, Stack, Text } from '@mantine/core';
import { IconPlayerPauseFilled, IconPlayerPlayFilled } from '@tabler/icons-react';
import { type CSSProperties, useCallback, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CreditAmount } from '../../components/credit-amount.tsx';
import { TaskProgress, VideoFailure } from '../../components/task-status.tsx';
import { acceptsMotion, useStablePlaybackSource } from '../../components/video-player.tsx';
import { formatLabelled } from '../../data/format-values.ts';
import { useModelTitle } from '../../data/self.ts';
import type { Video } from '../../data/videos.ts';
import { firstFrameUpload, RemixButtons, VideoFacts } from './current-video.tsx';
import type { RemixActions } from './remix-actions.ts';

interface ComparedVideosProps {
  readonly videos: readonly Video[];
  readonly actions: RemixActions;
}

/** Videos of one prompt side by side, played in sync, each with its cost and duration. */
export function ComparedVideos({ videos, actions }: ComparedVideosProps) {
  const { t } = useTranslation('studio');
  const play = useSynchronousPlay();
  const titleOf = useModelTitle();
  const position = t('secondsShort', { seconds: play.time.toFixed(1) });
  const charged = videos.filter(({ status }) => status !== 'FAILURE').reduce((sum, { quota }) => sum + quota, 0);
  return (
    <Stack gap="sm" component="section" aria-label={t('comparison')}>
      <div className="compared" data-upright={play.isUpright || undefined}>
        {videos.map((video) => (
          <Paper
            key={video.task_id}
            withBorder
            p="xs"
            component="article"
            aria-label={formatLabelled(titleOf(video.model), video.prompt)}
          >
            {video.status === 'SUCCESS' ? <ComparedPlayer video={video} play={play} /> : <TaskProgress video={video} />}
            <Stack gap={6} mt="xs">
              {video.status === 'FAILURE' ? <VideoFailure video={video} /> : null}
              <VideoFacts video={video} />
              <RemixButtons video={video} actions={actions} compact />
            </Stack>
          </Paper>
        ))}
      </div>
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
        <input
          type="range"
          className="scrubber"
          aria-label={t('position')}
          aria-valuetext={position}
          min={0}
          max={Math.max(play.duration, 0.1)}
          step={0.04}
          value={play.time}
          style={{ '--played': `${(play.time / Math.max(play.duration, 0.1)) * 100}%` } as CSSProperties}
          onChange={({ currentTarget }) => play.seek(Number(currentTarget.value))}
        />
        <Text size="sm" c="dimmed" className="position">
          {position}
        </Text>
        <Text size="sm">
          {t('together')} <CreditAmount value={charged} fw={600} />
        </Text>
      </Group>
    </Stack>
  );
}

function ComparedPlayer({ video, play }: { readonly video: Video; readonly play: SynchronousPlay }) {
  const { onFrame } = firstFrameUpload(video);
  const titleOf = useModelTitle();
  const { path, src, renew } = useStablePlaybackSource(video.play_url);
  return (
    <div className="frame">
      <video
        key={path}
        ref={play.register}
        src={src}
        aria-label={formatLabelled(titleOf(video.model), video.prompt)}
        muted
        playsInline
        preload="auto"
        onSeeked={({ currentTarget }) => onFrame?.(currentTarget)}
        onError={({ currentTarget }) => void renew(currentTarget)}
      />
    </div>
  );
}

interface SynchronousPlay {
  readonly playing: boolean;
  /** Position in seconds, in the longest video. */
  readonly time: number;
  readonly duration: number;
  /** Whether the videos are at least as high as wide. */
  readonly isUpright: boolean;
  /** Ref for each video to synchronize. */
  readonly register: (video: HTMLVideoElement | null) => (() => void) | undefined;
  readonly toggle: () => void;
  readonly seek: (seconds: number) => void;
}

/** Drift at which a video is set to the position of the others; correcting less would be visible as a jerk. */
const MAX_DRIFT_SECONDS = 0.12;

/** Plays several videos in sync: they start, stop and seek together, and restart together after the longest. */
function useSynchronousPlay(): SynchronousPlay {
  const videos = useRef(new Set<HTMLVideoElement>());
  const [playing, setPlaying] = useState(acceptsMotion);
  const isPlaying = useRef(playing);
  isPlaying.current = playing;
  const [{ time, duration }, setPosition] = useState({ time: 0, duration: 0 });
  const [isUpright, setUpright] = useState(false);
  const longest = (): HTMLVideoElement | undefined =>
    [...videos.current].sort((one, other) => (other.duration || 0) - (one.duration || 0))[0];

  const register = useCallback((video: HTMLVideoElement | null) => {
    if (video === null) return undefined;
    videos.current.add(video);
    const onMetadata = (): void => {
      setPosition((known) => ({ ...known, duration: Math.max(known.duration, video.duration || 0) }));
      setUpright(video.videoHeight >= video.videoWidth);
      // A video that finishes after the others joins them.
      if (isPlaying.current) void video.play().catch(() => setPlaying(false));
    };
    video.addEventListener('loadedmetadata', onMetadata);
    return () => {
      videos.current.delete(video);
      video.removeEventListener('loadedmetadata', onMetadata);
    };
  }, []);

  const seek = (seconds: number): void => {
    for (const video of videos.current) video.currentTime = Math.min(seconds, video.duration || 0);
    setPosition((known) => ({ ...known, time: seconds }));
  };
  const follow = useRef((): void => {});
  follow.current = () => {
    const leader = longest();
    if (leader === undefined) return;
    if (leader.ended) {
      seek(0);
      for (const video of videos.current) void video.play().catch(() => setPlaying(false));
      return;
    }
    for (const video of videos.current) {
      const target = Math.min(leader.currentTime, video.duration || 0);
      if (video !== leader && Math.abs(video.currentTime - target) > MAX_DRIFT_SECONDS) video.currentTime = target;
    }
    setPosition((known) => ({ ...known, time: leader.currentTime }));
  };
  useEffect(() => {
    for (const video of videos.current) {
      if (playing) void video.play().catch(() => setPlaying(false));
      else video.pause();
    }
    if (!playing) return undefined;
    const timer = setInterval(() => follow.current(), 100);
    return () => clearInterval(timer);
  }, [playing]);
  return { playing, time, duration, isUpright, register, toggle: () => setPlaying(!playing), seek };
}
