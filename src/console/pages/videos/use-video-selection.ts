import { useState } from 'react';
import type { Video } from '../../data/video-queries.ts';

/** Videos chosen to be dealt with together, those of other pages and filters included. */
export interface Selection {
  /** Undefined: selection mode is off. */
  readonly videos: readonly Video[] | undefined;
  has(id: string): boolean;
  start(): void;
  stop(): void;
  toggle(video: Video): void;
  add(videos: readonly Video[]): void;
  remove(videos: readonly Video[]): void;
}

export function useVideoSelection(): Selection {
  const [chosen, setChosen] = useState<readonly Video[]>();
  const without = (all: readonly Video[] = [], some: readonly Video[]) =>
    all.filter(({ task_id: id }) => !some.some(({ task_id: other }) => other === id));
  return {
    videos: chosen,
    has: (id) => chosen?.some(({ task_id: each }) => each === id) === true,
    start: () => setChosen([]),
    stop: () => setChosen(undefined),
    toggle: (video) =>
      setChosen((all = []) => {
        const others = without(all, [video]);
        return others.length === all.length ? [...all, video] : others;
      }),
    add: (videos) => setChosen((all) => [...without(all, videos), ...videos]),
    remove: (videos) => setChosen((all) => without(all, videos)),
  };
}
