import { useState } from 'react';

/** Where the first frame is shown: at 0 some browsers show none before playback starts. */
const FIRST_FRAME_SECONDS = 0.05;

/** Link and position a video element begins with. */
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
 * The source of a video element whose link is renewed every few minutes. A renewed link to the same file would load it again and play
 * it from its start, so it is taken only once the link in use fails, and then at the same position.
 *
 * @param link the newest one
 */
export function useStablePlaybackSource(link: string): {
  /** Of the file: the key of the element. */
  readonly path: string;
  readonly src: string;
  /** Call it when the element fails. @returns false when no newer link is known */
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
