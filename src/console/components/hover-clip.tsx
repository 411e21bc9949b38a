import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { type Video, videoQuery } from '../data/videos.ts';

/** Whether the user accepts pictures that move by themselves. */
export const acceptsMotion = (): boolean => !matchMedia('(prefers-reduced-motion: reduce)').matches;

interface HoverClipProps {
  readonly video: Pick<Video, 'task_id' | 'poster_url'>;
  /** Shown while there is no poster. */
  readonly fallback: ReactNode;
}

/** Poster of a video that plays, muted, while the pointer is on it. The file is requested only then. */
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
        fallback
      ) : (
        <img src={video.poster_url} alt="" loading="lazy" onError={() => setFailed(true)} />
      )}
      {isPlaying && link !== '' ? <video src={link} muted loop playsInline autoPlay aria-hidden /> : null}
    </span>
  );
}
