import { endpoint } from './endpoint.ts';

const open = { method: 'GET', tag: 'service', policy: 'public', envelope: 'page' } as const;

export const openApiFile = endpoint({
  ...open,
  path: '/openapi.json',
  summary: 'This reference as OpenAPI 3.1',
  responseTypes: ['application/json'],
});
export const referencePage = endpoint({
  ...open,
  path: '/docs',
  summary: 'This reference as a page',
  responseTypes: ['text/html'],
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
  summary: 'Where a language model should begin',
  responseTypes: ['text/plain'],
});
