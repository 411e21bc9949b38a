import type { Video } from '../../data/videos.ts';

/** Videos of one prompt that were submitted together. */
export type VideoGroup = readonly Video[];

/** Longest time between two submits of one group, in seconds. */
const SAME_SUBMIT_SECONDS = 20;
const MAX_GROUP = 4;

/** Groups videos by submit, newest first, as several of one prompt are compared. */
export function groupBySubmit(videos: readonly Video[]): readonly VideoGroup[] {
  const groups: Video[][] = [];
  for (const video of videos) {
    const group = groups.at(-1);
    const [first] = group ?? [];
    const isSame =
      first !== undefined &&
      first.prompt === video.prompt &&
      Math.abs(first.submit_time - video.submit_time) <= SAME_SUBMIT_SECONDS;
    if (isSame && group !== undefined && group.length < MAX_GROUP) group.push(video);
    else groups.push([video]);
  }
  return groups;
}
