import '@mantine/core/styles/baseline.css';
import '@mantine/core/styles/default-css-variables.css';
import '@mantine/core/styles/global.css';
import './style.css';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { preloadStudio } from './preload-studio.ts';
import { router } from './router.tsx';
import { initLanguage } from './strings/init-and-change-language.ts';
import { translateBrowserValidationMessages } from './strings/translate-browser-validation-messages.ts';

/** How long the page may take before the frame is shown without it. */
const MAX_WAIT_MS = 1_000;

/** How long its data may take longer than its code: rendering what waits for it, and all of it again, takes a slow machine as long. */
const MAX_WAIT_FOR_DATA_MS = 150;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root');
translateBrowserValidationMessages();
// The build gives each component its own rules (vite.config.ts).
if (import.meta.env.DEV) await import('@mantine/core/styles.css');
const first = preloadStudio();
const texts = initLanguage(first.texts);
// The page is loaded meanwhile, so that all is rendered once, and not first without it. Its errors are shown where it would be.
const page = Promise.race([router.load(), pause(MAX_WAIT_MS)]).catch(() => {});
void Promise.all([texts, page])
  .then(() => Promise.race([first.data, pause(MAX_WAIT_FOR_DATA_MS)]))
  .then(() => createRoot(root).render(<App />));
