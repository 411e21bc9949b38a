import '@mantine/core/styles/baseline.css';
import '@mantine/core/styles/default-css-variables.css';
import '@mantine/core/styles/global.css';
import './style.css';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { preloadFirstPage } from './preload-first-page.ts';
import { initLanguage } from './strings/language.ts';
import { translateValidationMessages } from './strings/validation-messages.ts';

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root');
translateValidationMessages();
// The build gives each component its own rules (vite.config.ts).
if (import.meta.env.DEV) await import('@mantine/core/styles.css');
void initLanguage(preloadFirstPage()).then(() => createRoot(root).render(<App />));
