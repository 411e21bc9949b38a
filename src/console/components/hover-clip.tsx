import { useInViewport } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { uploadPoster, type Video, videoQuery } from '../data/videos.ts';

/** Whether the user accepts pictures that move by themselves. */
export const acceptsMotion = (): boolean => !matchMedia('(prefers-reduced-motion: reduce)').matches;

interface HoverClipProps {
  readonly video: Pick<Video, 'task_id' | 'poster_url'>;
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
  const detail = useQuery({ ...videoQuery(video.task_id), enabled: isPlaying });
  const link = detail.data?.play_url ?? '';
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
      {isPlaying && link !== '' ? <video src={link} muted loop playsInline autoPlay aria-hidden /> : null}
    </span>
  );
}

/** The first frame of a video, requested once it is in view, and uploaded as its poster. */
function FirstFrame({ video: { task_id: id }, fallback }: HoverClipProps) {
  const { ref, inViewport } = useInViewport<HTMLSpanElement>();
  const { data } = useQuery({ ...videoQuery(id), enabled: inViewport });
  const link = data?.play_url ?? '';
  return (
    <span ref={ref} className="clip">
      {link === '' ? (
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
