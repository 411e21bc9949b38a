import { useState } from 'react';
import type { VideoRow } from '../../data/videos.ts';

/** Videos chosen to be dealt with together, those of other pages and filters included. */
export interface Selection {
  /** Undefined: nobody is choosing. */
  readonly chosen: readonly VideoRow[] | undefined;
  has(id: string): boolean;
  begin(): void;
  end(): void;
  toggle(video: VideoRow): void;
  add(videos: readonly VideoRow[]): void;
  drop(videos: readonly VideoRow[]): void;
}

export function useSelection(): Selection {
  const [chosen, setChosen] = useState<readonly VideoRow[]>();
  const without = (all: readonly VideoRow[] = [], some: readonly VideoRow[]) =>
    all.filter(({ task_id: id }) => !some.some(({ task_id: other }) => other === id));
  return {
    chosen,
    has: (id) => chosen?.some(({ task_id: each }) => each === id) === true,
    begin: () => setChosen([]),
    end: () => setChosen(undefined),
    toggle: (video) =>
      setChosen((all = []) => {
        const others = without(all, [video]);
        return others.length === all.length ? [...all, video] : others;
      }),
    add: (videos) => setChosen((all) => [...without(all, videos), ...videos]),
    drop: (videos) => setChosen((all) => without(all, videos)),
  };
}
