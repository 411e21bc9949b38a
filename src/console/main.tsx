import './page-start.ts';
import './mantine.css';
import './style.css';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { Suspense } from 'react';
import { createRoot } from 'react-dom/client';
import { PageLoadingIndicator } from './components/page.tsx';
import { ToastProvider } from './components/toasts.tsx';
import { queryClient } from './data/api-client.ts';
import { readUserId } from './data/browser-storage.ts';
import { selfQuery, usableModelsQuery } from './data/self.ts';
import { videosQuery } from './data/videos.ts';
import { resolveCssVariables, theme } from './mantine-theme.ts';
import { cspNonce, NEWEST_VIDEOS_COUNT, startsAtStudio } from './page-start.ts';
import { router } from './router.tsx';
import { initLanguage, translateValidationMessages } from './strings/language.ts';
import type { Namespace } from './strings/namespaces.ts';

/** The router with its providers: theme, queries and toasts. */
function App() {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={resolveCssVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => cspNonce}
    >
      <QueryClientProvider client={queryClient}>
        <Suspense fallback={<PageLoadingIndicator />}>
          <ToastProvider>
            <RouterProvider router={router} />
          </ToastProvider>
        </Suspense>
      </QueryClientProvider>
    </MantineProvider>
  );
}

/**
 * Preloads code, texts and data of the studio, where most visits start. Otherwise they would load one after the other,
 * each requested by the previous one.
 *
 * @returns namespaces of the texts it needs, and a promise that settles when its data has arrived or failed
 */
function preloadStudio(): { readonly texts: readonly Namespace[]; readonly data: Promise<unknown> } {
  if (readUserId() === undefined || !startsAtStudio()) return { texts: [], data: Promise.resolve() };
  // On failure the page requests the script again and shows the error.
  import('./pages/studio/studio-page.tsx').catch(() => {});
  const data = Promise.all([
    queryClient.prefetchQuery(selfQuery),
    queryClient.prefetchQuery(usableModelsQuery),
    queryClient.prefetchQuery(videosQuery(1, NEWEST_VIDEOS_COUNT)),
  ]).then(() => {
    // Drops unused early responses, which would be stale by the time a query needed them.
    globalThis.firstResponses = undefined;
  });
  return { texts: ['studio'], data };
}

/** Longest wait for the page before the frame is rendered without it. */
const MAX_WAIT_MS = 1_000;

/**
 * Longest wait for the studio's data after its code: rendering twice, first without the data, takes about as long on a
 * slow machine.
 */
const MAX_WAIT_FOR_DATA_MS = 150;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

// Held down on a button, Enter clicks it again and again, and each click could start and charge another video.
addEventListener('keydown', (event) => {
  if (event.repeat && event.key === 'Enter' && event.target instanceof HTMLButtonElement) event.preventDefault();
});

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root');
translateValidationMessages();
const first = preloadStudio();
const texts = initLanguage(first.texts);
// The page loads in parallel, so that everything renders once. Its errors are shown in its place.
const page = Promise.race([router.load(), pause(MAX_WAIT_MS)]).catch(() => {});
void Promise.all([texts, page])
  .then(() => Promise.race([first.data, pause(MAX_WAIT_FOR_DATA_MS)]))
  .then(() => createRoot(root).render(<App />));
