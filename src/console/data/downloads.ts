import type { QueryClient } from '@tanstack/react-query';
import { videoQuery } from './videos.ts';

/** Between two files: browsers take several at the same moment for one. */
const PAUSE_MS = 400;

/** Hands a video to the browser's downloads. Its address is asked for at the press: it lives for minutes only. */
export async function saveVideo(queries: QueryClient, id: string): Promise<void> {
  const { play_url: address } = await queries.fetchQuery(videoQuery(id));
  // Nobody keeps a file of it any more.
  if (address === '') return;
  const link = document.createElement('a');
  link.href = address;
  link.download = `${id}.mp4`;
  link.click();
}

export async function saveVideos(queries: QueryClient, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await saveVideo(queries, id);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
