import Type from 'typebox';
import { endpoint } from './endpoint.ts';

/**
 * First path segments of the console: every path below one of them is a console page. Links in notifications use them
 * too.
 */
export const CONSOLE_SECTIONS = [
  'sign-in',
  'register',
  'confirm-email',
  'forgot-password',
  'reset-password',
  'studio',
  'playground',
  'videos',
  'files',
  'batches',
  'account',
  'packages',
  'mailbox',
  'notifications',
  'tickets',
  'beta-applications',
  'admin',
] as const;

export const consolePage = endpoint({
  method: 'GET',
  path: '/',
  summary: 'The console, and the addresses of its pages',
  tag: 'service',
  policy: 'public',
  envelope: 'page',
  compressed: true,
});

const open = { method: 'GET', tag: 'service', policy: 'public', envelope: 'page', compressed: true } as const;

export const openApiFile = endpoint({
  ...open,
  path: '/openapi.json',
  summary: 'This reference as OpenAPI 3.1',
  responseTypes: ['application/json'],
});
export const referencePage = endpoint({
  ...open,
  path: '/docs',
  summary: 'Guide and reference as a page, in English and Chinese',
  query: Type.Object({ lang: Type.Optional(Type.String({ maxLength: 16 })) }),
  responseTypes: ['text/html'],
});
export const referenceScript = endpoint({
  ...open,
  path: '/docs.js',
  summary: 'Script of that page, which works without it',
  responseTypes: ['text/javascript'],
});
export const referenceMarkdown = endpoint({
  ...open,
  path: '/docs.md',
  summary: 'This reference as Markdown',
  responseTypes: ['text/markdown'],
});
export const llmsText = endpoint({
  ...open,
  path: '/llms.txt',
  summary: 'Entry point for language models',
  responseTypes: ['text/plain'],
});
