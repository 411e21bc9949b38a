import { useInViewport } from '@mantine/hooks';
import { IconMovie } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { videoQuery } from '../data/videos.ts';
import { HoverClip } from './video-player.tsx';

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
