import { ActionIcon, AspectRatio, Center, Group, Text } from '@mantine/core';
import { IconPlayerSkipBack, IconPlayerSkipForward, IconRepeat } from '@tabler/icons-react';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useStablePlaybackSource } from './use-stable-playback-source.ts';

interface VideoPlayerProps {
  /** A path of this service, good for a few minutes. */
  readonly src: string;
  readonly title: string;
  /** Starts at once: the user asked for it. */
  readonly autoPlay?: boolean;
  /** Called once a frame can be read. */
  readonly onFrame?: (video: HTMLVideoElement) => void;
  /** Frame steps and repeat beside the browser's own controls. */
  readonly frameControls?: boolean;
}

const FRAME_SECONDS = 1 / 24;

/** Plays a video with seeking; shows the first frame until playback starts. */
export function VideoPlayer({ src, title, autoPlay = false, onFrame, frameControls = false }: VideoPlayerProps) {
  const { t } = useTranslation('studio');
  const video = useRef<HTMLVideoElement>(null);
  const [loop, setLoop] = useState(true);
  const { path, src: beginning, renew } = useStablePlaybackSource(src);
  const [failedPath, setFailedPath] = useState<string>();
  const step = (seconds: number): void => {
    if (video.current === null) return;
    video.current.pause();
    video.current.currentTime = Math.max(0, video.current.currentTime + seconds);
  };
  return (
    <div>
      <AspectRatio ratio={16 / 9} bg="dark.9" style={{ borderRadius: 10, overflow: 'hidden' }}>
        {failedPath === path ? (
          <Center c="gray.4">
            <Text size="sm">{t('playFailed')}</Text>
          </Center>
        ) : (
          // biome-ignore lint/a11y/useMediaCaption: what a model makes has no captions
          <video
            key={path}
            ref={video}
            src={beginning}
            aria-label={title}
            controls
            playsInline
            preload="metadata"
            autoPlay={autoPlay}
            onSeeked={({ currentTarget }) => onFrame?.(currentTarget)}
            loop={loop}
            onError={({ currentTarget }) => {
              if (!renew(currentTarget)) setFailedPath(path);
            }}
            style={{ display: 'block', objectFit: 'contain' }}
          />
        )}
      </AspectRatio>
      {frameControls ? (
        <Group gap={4} mt={6}>
          <ActionIcon data-hint={t('frameBack')} aria-label={t('frameBack')} onClick={() => step(-FRAME_SECONDS)}>
            <IconPlayerSkipBack size={17} />
          </ActionIcon>
          <ActionIcon data-hint={t('frameForward')} aria-label={t('frameForward')} onClick={() => step(FRAME_SECONDS)}>
            <IconPlayerSkipForward size={17} />
          </ActionIcon>
          <ActionIcon
            data-hint={t('loop')}
            aria-label={t('loop')}
            aria-pressed={loop}
            color={loop ? 'accent' : 'gray'}
            onClick={() => setLoop(!loop)}
          >
            <IconRepeat size={17} />
          </ActionIcon>
        </Group>
      ) : null}
    </div>
  );
}
