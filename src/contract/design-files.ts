import { endpoint } from './endpoint.ts';

const open = { method: 'GET', tag: 'service', policy: 'public', envelope: 'page' } as const;

export const tokensCssFile = endpoint({
  ...open,
  path: '/tokens.css',
  summary: 'Colours, type, spaces and motion as CSS variables',
  responseTypes: ['text/css'],
  compressed: true,
  responseStatuses: [200, 304],
});
export const pagesCssFile = endpoint({
  ...open,
  path: '/pages.css',
  summary: "The same, with the styles of the server's own pages",
  responseTypes: ['text/css'],
  compressed: true,
  responseStatuses: [200, 304],
});
export const logoFile = endpoint({
  ...open,
  path: '/logo',
  summary: 'The logo of the site, or the default mark in its colour',
  responseTypes: ['image/svg+xml', 'image/png', 'image/webp', 'image/jpeg'],
  responseStatuses: [200, 304],
});
