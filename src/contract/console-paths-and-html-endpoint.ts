import { endpoint } from './endpoint.ts';

/** First path segments at which the console is served; every path below them is a console page. Links in notifications use these paths too. */
export const CONSOLE_SECTIONS = [
  'sign-in',
  'register',
  'confirm-email',
  'forgot-password',
  'reset-password',
  'studio',
  'playground',
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
