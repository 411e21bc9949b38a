import '@mantine/core/styles.css';
import './style.css';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { startLanguage } from './strings/language.ts';

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root');
void startLanguage().then(() => createRoot(root).render(<App />));
