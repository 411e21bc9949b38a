import { endpoint } from './endpoint.ts';

/** First parts of the console's addresses; everything under them is a page of it. The links of notifications lie here too. */
export const CONSOLE_SECTIONS = [
  'sign-in',
  'register',
  'studio',
  'videos',
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
  summary: 'The console; also at the addresses of its pages',
  tag: 'service',
  policy: 'public',
  envelope: 'page',
});
