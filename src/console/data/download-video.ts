import type { QueryClient } from '@tanstack/react-query';
import { videoQuery } from './video-queries.ts';

/** Between two files: browsers take several at the same moment for one. */
const DELAY_BETWEEN_FILES_MS = 400;

/** Downloads a video with the browser. The URL is requested on click, because it is valid for a few minutes only. */
export async function downloadVideo(queries: QueryClient, id: string): Promise<void> {
  const { play_url: address } = await queries.fetchQuery(videoQuery(id));
  // Nobody keeps a file of it any more.
  if (address === '') return;
  const link = document.createElement('a');
  link.href = address;
  link.download = `${id}.mp4`;
  link.click();
}

export async function downloadVideos(queries: QueryClient, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await downloadVideo(queries, id);
    await new Promise((resolve) => setTimeout(resolve, DELAY_BETWEEN_FILES_MS));
  }
}
