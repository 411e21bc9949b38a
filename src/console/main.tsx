import './mantine.css';
import './style.css';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { queryClient } from './data/api-client.ts';
import { readUserId } from './data/browser-storage.ts';
import { usableModelsQuery } from './data/models.ts';
import { selfQuery } from './data/self.ts';
import { videoQuery, videosQuery } from './data/videos.ts';
import { router } from './router.tsx';
import { initLanguage } from './strings/language.ts';
import type { Namespace } from './strings/namespaces.ts';
import { translateBrowserValidationMessages } from './strings/validation-messages.ts';
import { beginsAtStudio, isPlayedAtOnce, NEWEST_VIDEOS_COUNT } from './studio-start.ts';

/**
 * Begins to load all that the studio is made of, where most visits begin: its code, its texts and its data would otherwise be asked
 * for one after the other, each by what has arrived before. What the page asks for later is then there, or on its way.
 *
 * @returns the texts it needs, and when its data has arrived, or failed to
 */
function preloadStudio(): { readonly texts: readonly Namespace[]; readonly data: Promise<unknown> } {
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

/** How long the page may take before the frame is shown without it. */
const MAX_WAIT_MS = 1_000;

/** How long its data may take longer than its code: rendering what waits for it, and all of it again, takes a slow machine as long. */
const MAX_WAIT_FOR_DATA_MS = 150;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root');
translateBrowserValidationMessages();
const first = preloadStudio();
const texts = initLanguage(first.texts);
// The page is loaded meanwhile, so that all is rendered once, and not first without it. Its errors are shown where it would be.
const page = Promise.race([router.load(), pause(MAX_WAIT_MS)]).catch(() => {});
void Promise.all([texts, page])
  .then(() => Promise.race([first.data, pause(MAX_WAIT_FOR_DATA_MS)]))
  .then(() => createRoot(root).render(<App />));
