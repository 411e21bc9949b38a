import { useCallback, useEffect, useRef, useState } from 'react';

export interface SynchronousPlay {
  readonly playing: boolean;
  /** Seconds; of the longest video. */
  readonly time: number;
  readonly duration: number;
  /** Ref of every video that plays along. */
  readonly register: (video: HTMLVideoElement | null) => (() => void) | undefined;
  readonly toggle: () => void;
  readonly seek: (seconds: number) => void;
}

/** How far videos may be apart before one is set to the time of the others; below it, setting would be seen as a jerk. */
const MAX_DRIFT_SECONDS = 0.12;

/** Plays several videos as one: they start, stop and are searched together, and all begin again after the longest. */
export function useSynchronousPlay(): SynchronousPlay {
  const videos = useRef(new Set<HTMLVideoElement>());
  const [playing, setPlaying] = useState(false);
  const [{ time, duration }, setPosition] = useState({ time: 0, duration: 0 });
  const longest = (): HTMLVideoElement | undefined =>
    [...videos.current].sort((one, other) => (other.duration || 0) - (one.duration || 0))[0];

  const register = useCallback((video: HTMLVideoElement | null) => {
    if (video === null) return undefined;
    videos.current.add(video);
    const onMetadata = (): void =>
      setPosition((known) => ({ ...known, duration: Math.max(known.duration, video.duration || 0) }));
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
  return { playing, time, duration, register, toggle: () => setPlaying(!playing), seek };
}
