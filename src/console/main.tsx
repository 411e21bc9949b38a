import '@mantine/core/styles.css';
import './style.css';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { initLanguage } from './strings/language.ts';
import { translateValidationMessages } from './strings/validation-messages.ts';

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root');
translateValidationMessages();
void initLanguage().then(() => createRoot(root).render(<App />));
