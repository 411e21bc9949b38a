import type { Page } from 'playwright-core';

/** Pages of a signed-in user by the name of their screenshot, filled by `fillWithDemoData`. */
export const CONSOLE_PATHS: Readonly<Record<string, string>> = {
  studio: '/studio',
  explore: '/studio/explore',
  playground: '/playground',
  videos: '/videos',
  files: '/files',
  batches: '/batches',
  'video-shares': '/videos/shares',
  usage: '/account/overview',
  requests: '/account/requests',
  token: '/account/tokens/1',
  tokens: '/account/tokens',
  webhooks: '/account/webhooks',
  organizations: '/account/organizations',
  devices: '/account/devices',
  security: '/account/security',
  profile: '/account/profile',
  packages: '/packages',
  mailbox: '/mailbox',
  notifications: '/notifications',
  'notification-settings': '/notifications/settings',
  tickets: '/tickets',
  ticket: '/tickets/1',
  'ticket-new': '/tickets/new',
  'beta-applications': '/beta-applications',
  'admin-overview': '/admin/overview',
  'admin-users': '/admin/users',
  'admin-user': '/admin/users/1',
  'admin-organizations': '/admin/organizations',
  'admin-channels': '/admin/channels',
  'admin-channel': '/admin/channels/1',
  'admin-channel-new': '/admin/channels/new',
  'admin-models': '/admin/models',
  'admin-model-new': '/admin/models/new',
  'admin-model': '/admin/models/kling-v1-6',
  'admin-packages': '/admin/packages',
  'admin-package': '/admin/packages/2',
  'admin-package-new': '/admin/packages/new',
  'admin-codes': '/admin/codes',
  'admin-tasks': '/admin/tasks',
  'admin-costs': '/admin/costs?by=channel',
  'admin-requests': '/admin/requests',
  'admin-ledger': '/admin/ledger',
  'admin-reconciliation': '/admin/reconciliation',
  'admin-tickets': '/admin/tickets',
  'admin-ticket': '/admin/tickets/1',
  'admin-beta-applications': '/admin/beta-applications',
  'admin-beta-application': '/admin/beta-applications/2',
  'admin-announcements': '/admin/announcements',
  'admin-audit': '/admin/audit',
  'admin-logins': '/admin/logins',
  'admin-settings': '/admin/settings',
  'admin-device-clients': '/admin/device-clients',
  'admin-claude-code': '/admin/claude-code',
};

/** Pages whose URL contains a generated id: the page that links to them, and the prefix of the link. */
export const LINKED_PAGES: Readonly<Record<string, readonly [from: string, href: string]>> = {
  video: ['/videos', '/videos/task_'],
  receipt: ['/account/requests', '/account/receipts/'],
  'admin-task': ['/admin/tasks', '/admin/tasks/task_'],
};

/** Path of the first link on the current page that starts with `href`. */
export async function findLinkedPath(page: Page, href: string): Promise<string> {
  const path = await page.locator(`main a[href^="${href}"]`).first().getAttribute('href');
  if (path === null) throw new Error(`no link to ${href}`);
  return path;
}
