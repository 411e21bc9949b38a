import { ActionIcon, Center, Group, Text } from '@mantine/core';
import { useInViewport } from '@mantine/hooks';
import { IconMovie, IconPlayerSkipBack, IconPlayerSkipForward, IconRepeat } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { uploadPoster, type Video, videoQuery } from '../data/videos.ts';

interface VideoPlayerProps {
  /** A path of this service, valid for a few minutes. */
  readonly src: string;
  readonly title: string;
  /** Starts playback immediately, because the user requested it. */
  readonly autoPlay?: boolean;
  /** Plays muted and repeated at once, unless the user asks for reduced motion. */
  readonly ambient?: boolean;
  /** Called once size and length are known. */
  readonly onMetadata?: (video: HTMLVideoElement) => void;
  /** Called once a frame can be captured. */
  readonly onFrame?: (video: HTMLVideoElement) => void;
  /** Adds frame stepping and repeat to the browser's own controls. */
  readonly frameControls?: boolean;
}

const FRAME_SECONDS = 1 / 24;

/** Plays a video with seeking; shows the first frame until playback starts. */
export function VideoPlayer(props: VideoPlayerProps) {
  const { src, title, autoPlay = false, ambient = false, onMetadata, onFrame, frameControls = false } = props;
  const { t } = useTranslation('studio');
  const [isAmbient] = useState(() => ambient && acceptsMotion());
  const video = useRef<HTMLVideoElement>(null);
  const [loop, setLoop] = useState(true);
  const { path, src: beginning, renew } = useStablePlaybackSource(src);
  const [failedPath, setFailedPath] = useState<string>();
  const onMount = useEffectEvent((element: HTMLVideoElement) => {
    if (element.readyState >= element.HAVE_METADATA) onMetadata?.(element);
    if (element.readyState >= element.HAVE_CURRENT_DATA && !element.seeking) onFrame?.(element);
  });
  // React drops the events of an element that loads while the page still waits for something else.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another path has another element
  useEffect(() => {
    if (video.current !== null) onMount(video.current);
  }, [path]);
  const step = (seconds: number): void => {
    if (video.current === null) return;
    video.current.pause();
    video.current.currentTime = Math.max(0, video.current.currentTime + seconds);
  };
  return (
    <div>
      <div className="frame">
        {failedPath === path ? (
          <Center c="gray.4">
            <Text size="sm">{t('playFailed')}</Text>
          </Center>
        ) : (
          <video
            key={path}
            ref={video}
            src={beginning}
            aria-label={title}
            controls
            playsInline
            preload="metadata"
            autoPlay={autoPlay || isAmbient}
            muted={isAmbient}
            onLoadedMetadata={({ currentTarget }) => onMetadata?.(currentTarget)}
            onSeeked={({ currentTarget }) => onFrame?.(currentTarget)}
            loop={loop}
            onError={({ currentTarget }) => {
              if (!renew(currentTarget)) setFailedPath(path);
            }}
          />
        )}
      </div>
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

/** Position of the first frame shown: at 0 some browsers show none before playback starts. */
const FIRST_FRAME_SECONDS = 0.05;

/** Link and start position of a video element. */
interface Beginning {
  readonly path: string;
  readonly link: string;
  readonly seconds: number;
}

const beginningOf = (link: string): Beginning => ({
  path: link.split('?', 1)[0] ?? '',
  link,
  seconds: FIRST_FRAME_SECONDS,
});

/**
 * The source of a video element whose link is renewed every few minutes. Switching to a renewed link would reload the
 * file and restart playback, so the new link is used only once the current one fails, at the same position.
 *
 * @param link the newest link
 */
export function useStablePlaybackSource(link: string): {
  /** Path of the file, used as the key of the element. */
  readonly path: string;
  readonly src: string;
  /** To be called when the element fails. @returns false if no newer link is known */
  readonly renew: (video: HTMLVideoElement) => boolean;
} {
  const [beginning, setBeginning] = useState(() => beginningOf(link));
  const newest = beginningOf(link);
  const current = beginning.path === newest.path ? beginning : newest;
  if (current !== beginning) setBeginning(current);
  return {
    path: current.path,
    src: `${current.link}#t=${current.seconds}`,
    renew({ currentTime }) {
      if (current.link === link) return false;
      setBeginning({ ...newest, seconds: Math.max(currentTime, FIRST_FRAME_SECONDS) });
      return true;
    },
  };
}

/** Whether the user accepts pictures that move by themselves. */
export const acceptsMotion = (): boolean => !matchMedia('(prefers-reduced-motion: reduce)').matches;

interface HoverClipProps {
  /** A finished video. */
  readonly video: Pick<Video, 'task_id' | 'poster_url' | 'play_url'>;
  /** Shown while there is no picture. */
  readonly fallback: ReactNode;
}

/**
 * Poster of a video that plays, muted, while the pointer is on it. The file is requested only then, or to show the first
 * frame of a video without a poster.
 */
export function HoverClip({ video, fallback }: HoverClipProps) {
  const [isPlaying, setPlaying] = useState(false);
  const [hasFailed, setFailed] = useState(false);
  return (
    <span
      className="clip"
      onPointerEnter={({ pointerType }) => setPlaying(pointerType === 'mouse' && acceptsMotion())}
      onPointerLeave={() => setPlaying(false)}
    >
      {video.poster_url === '' || hasFailed ? (
        <FirstFrame video={video} fallback={fallback} />
      ) : (
        <img src={video.poster_url} alt="" loading="lazy" onError={() => setFailed(true)} />
      )}
      {isPlaying ? <video src={video.play_url} muted loop playsInline autoPlay aria-hidden /> : null}
    </span>
  );
}

/** Small picture of a video of which only the id is known: requested once in view. @param isFinished else an icon */
export function VideoTile({ taskId, isFinished }: { readonly taskId: string; readonly isFinished: boolean }) {
  const { ref, inViewport } = useInViewport<HTMLSpanElement>();
  const { data } = useQuery({ ...videoQuery(taskId), enabled: isFinished && inViewport });
  return (
    <span className="tile" ref={ref}>
      {data === undefined ? <IconMovie size={18} /> : <HoverClip video={data} fallback={<IconMovie size={18} />} />}
    </span>
  );
}

/** The first frame of a video, requested once it is in view, and uploaded as its poster. */
function FirstFrame({ video: { task_id: id, play_url: link }, fallback }: HoverClipProps) {
  const { ref, inViewport } = useInViewport<HTMLSpanElement>();
  const [isWanted, setWanted] = useState(false);
  if (inViewport && !isWanted) setWanted(true);
  return (
    <span ref={ref} className="clip">
      {!isWanted ? (
        fallback
      ) : (
        // At 0 some browsers show no frame before playback starts.
        <video
          src={`${link}#t=0.05`}
          muted
          playsInline
          preload="metadata"
          aria-hidden
          onSeeked={({ currentTarget }) => uploadPoster(id, currentTarget)}
        />
      )}
    </span>
  );
}
