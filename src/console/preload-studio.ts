import { queryClient } from './data/query-client.ts';
import { selfQuery } from './data/signed-in-user-and-site-queries.ts';
import { readUserId } from './data/stored-user-id.ts';
import { usableModelsQuery } from './data/usable-models-query.ts';
import { videoQuery, videosQuery } from './data/video-queries.ts';
import { beginsAtStudio, isPlayedAtOnce } from './is-studio-url-and-autoplays-newest.ts';
import { NEWEST_VIDEOS_COUNT } from './pages/studio/newest-videos-count.ts';
import type { Namespace } from './strings/translation-namespace-types.ts';

/**
 * Begins to load all that the studio is made of, where most visits begin: its code, its texts and its data would otherwise be asked
 * for one after the other, each by what has arrived before. What the page asks for later is then there, or on its way.
 *
 * @returns the texts it needs, and when its data has arrived, or failed to
 */
export function preloadStudio(): { readonly texts: readonly Namespace[]; readonly data: Promise<unknown> } {
  if (readUserId() === undefined || !beginsAtStudio()) return { texts: [], data: Promise.resolve() };
  // Where it fails, the page asks again and shows why.
  import('./pages/studio/studio-page.tsx').catch(() => {});
  const data = Promise.all([
    queryClient.prefetchQuery(selfQuery),
    queryClient.prefetchQuery(usableModelsQuery),
    preloadNewestVideo(),
  ]);
  return { texts: ['studio'], data };
}

/** The list of the newest videos, and what the newest is played from, unless the address names another. */
async function preloadNewestVideo(): Promise<void> {
  const list = await queryClient.fetchQuery(videosQuery(1, NEWEST_VIDEOS_COUNT)).catch(() => undefined);
  const newest = list?.data[0];
  if (isPlayedAtOnce(newest)) await queryClient.prefetchQuery(videoQuery(newest.task_id));
  // What nothing has taken would be old when something asks for it.
  globalThis.firstResponses = undefined;
}
