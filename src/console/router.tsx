import { createRoute, createRouter, redirect } from '@tanstack/react-router';
import { defined } from '../contract/objects.ts';
import type { TicketStatus } from '../contract/tickets.ts';
import type { ListSearch } from './components/list/use-list-filters.ts';
import { PageError, PageLoadingIndicator } from './components/page.tsx';
import { queryClient, setSecondFactorListener, setSignedOutListener } from './data/api-client.ts';
import { clearUserId, onUserChange, readLastUserId, readUserId } from './data/browser-storage.ts';
import { renewSession, signIn } from './data/renew-session.ts';
import { toSafeRedirectPath } from './data/safe-redirect-path.ts';
import { adminRoutes } from './pages/admin/admin-routes.tsx';
import { parseVideosSearchParams } from './pages/videos/videos-search-params.ts';
import { appRoute, lazyPage, rootRoute } from './root-routes.tsx';

interface SignInSearch {
  /** The page to return to, dropped unless it is a path of this console. */
  back?: string;
  /** The session has ended. */
  ended?: true;
  /** An identity provider has signed the browser in. */
  signed_in?: true;
  /** The second step is outstanding. */
  step?: 'code';
}
const parseSignInSearch = (search: Record<string, unknown>): SignInSearch =>
  defined({
    back: typeof search.back === 'string' ? toSafeRedirectPath(search.back) : undefined,
    ended: search.ended === true ? (true as const) : undefined,
    signed_in: search.signed_in === true ? (true as const) : undefined,
    step: search.step === 'code' ? ('code' as const) : undefined,
  });

/** Parses the page number of a list from the URL; invalid values are dropped. */
const parsePage = (page: unknown): { page?: number } =>
  Number.isSafeInteger(page) && Number(page) > 1 ? { page: Number(page) } : {};
const parseText = <Name extends string>(name: Name, value: unknown, longest: number): { [Key in Name]?: string } =>
  (typeof value === 'string' || typeof value === 'number') && String(value).length <= longest
    ? ({ [name]: String(value) } as { [Key in Name]?: string })
    : {};

const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  beforeLoad: () => {
    redirect({ to: '/studio', throw: true });
  },
});

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: parseSignInSearch,
  component: lazyPage(async () => (await import('./pages/sign-in/sign-in-page.tsx')).SignInPage),
});
const secondFactorRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in/second-factor',
  validateSearch: parseSignInSearch,
  component: lazyPage(async () => (await import('./pages/account/security-page.tsx')).SecondFactorPage),
});
const registerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/register',
  validateSearch: parseSignInSearch,
  component: lazyPage(async () => (await import('./pages/sign-in/register-page.tsx')).RegisterPage),
});

const forgotPasswordRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/forgot-password',
  component: lazyPage(async () => (await import('./pages/sign-in/email-pages.tsx')).ForgotPasswordPage),
});
const resetPasswordRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/reset-password',
  component: lazyPage(async () => (await import('./pages/sign-in/email-pages.tsx')).ResetPasswordPage),
});
const confirmEmailRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/confirm-email',
  component: lazyPage(async () => (await import('./pages/sign-in/email-pages.tsx')).ConfirmEmailPage),
});

const studioRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/studio',
  /**
   * `again`: a task whose parameters fill the form; `edit`, `extend`: a task to edit or extend; `file`: an uploaded file
   * to use; `frame`: a task whose last frame is the first of the next; `idea`: an idea whose prompt fills the form; `model`: the model to select; `show`: the videos on the stage.
   */
  validateSearch: ({
    again,
    edit,
    extend,
    file,
    frame,
    idea,
    model,
    show,
  }: Record<string, unknown>): {
    again?: string;
    edit?: string;
    extend?: string;
    file?: string;
    frame?: string;
    idea?: string;
    model?: string;
    show?: string;
  } => ({
    ...parseText('show', show, 1000),
    ...parseText('again', again, 200),
    ...parseText('edit', edit, 200),
    ...parseText('extend', extend, 200),
    ...parseText('file', file, 200),
    ...parseText('frame', frame, 200),
    ...parseText('idea', idea, 40),
    ...parseText('model', model, 200),
  }),
  component: lazyPage(async () => (await import('./pages/studio/studio-page.tsx')).StudioPage),
});
const exploreRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/studio/explore',
  component: lazyPage(async () => (await import('./pages/studio/ideas.tsx')).ExplorePage),
});
const playgroundRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/playground',
  validateSearch: (search: Record<string, unknown>): ListSearch => search as ListSearch,
  component: lazyPage(async () => (await import('./pages/playground/playground-page.tsx')).PlaygroundPage),
});
const videosRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/videos',
  validateSearch: parseVideosSearchParams,
  component: lazyPage(async () => (await import('./pages/videos/video-list-page.tsx')).VideoListPage),
});
const videoRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/videos/$taskId',
  component: lazyPage(async () => (await import('./pages/videos/video-page.tsx')).VideoPage),
});
const filesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/files',
  component: lazyPage(async () => (await import('./pages/files/files-page.tsx')).FilesPage),
});
const batchesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/batches',
  component: lazyPage(async () => (await import('./pages/batches/batch-page.tsx')).BatchesPage),
});
const batchRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/batches/$batchId',
  component: lazyPage(async () => (await import('./pages/batches/batch-page.tsx')).BatchPage),
});
const sharesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/videos/shares',
  component: lazyPage(async () => (await import('./pages/videos/shares-page.tsx')).SharesPage),
});
const tokensRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/tokens',
  component: lazyPage(async () => (await import('./pages/account/api-keys-page.tsx')).ApiKeysPage),
});

const tokenRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/tokens/$id',
  component: lazyPage(async () => (await import('./pages/account/api-key-page.tsx')).ApiKeyPage),
});

const webhooksRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/webhooks',
  component: lazyPage(async () => (await import('./pages/account/webhook-list-page.tsx')).WebhookListPage),
});
const webhookRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/webhooks/$id',
  component: lazyPage(async () => (await import('./pages/account/webhook-page.tsx')).WebhookPage),
});
const usageRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/overview',
  validateSearch: (search: Record<string, unknown>): ListSearch => search as ListSearch,
  component: lazyPage(async () => (await import('./pages/account/usage-page.tsx')).UsagePage),
});
const requestsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/requests',
  validateSearch: (search: Record<string, unknown>): ListSearch => search as ListSearch,
  component: lazyPage(async () => (await import('./pages/requests/request-log.tsx')).RequestsPage),
});
const receiptRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/receipts/$id',
  component: lazyPage(async () => (await import('./pages/requests/receipt-page.tsx')).ReceiptPage),
});
const devicesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/devices',
  component: lazyPage(async () => (await import('./pages/account/devices-page.tsx')).DevicesPage),
});
const organizationsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/organizations',
  component: lazyPage(async () => (await import('./pages/account/organizations-page.tsx')).OrganizationsPage),
});
const organizationRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/organizations/$slug',
  component: lazyPage(async () => (await import('./pages/account/organization-page.tsx')).OrganizationPage),
});
const invitationRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/invitation',
  component: lazyPage(async () => (await import('./pages/account/organizations-page.tsx')).InvitationPage),
});
const securityRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/security',
  component: lazyPage(async () => (await import('./pages/account/security-page.tsx')).SecurityPage),
});
const profileRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/profile',
  component: lazyPage(async () => (await import('./pages/account/profile-page.tsx')).ProfilePage),
});
const mailboxRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/mailbox',
  component: lazyPage(async () => (await import('./pages/mailbox/mailbox-page.tsx')).MailboxPage),
});

const notificationsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/notifications',
  validateSearch: ({ page, unread }: Record<string, unknown>): { page?: number; unread?: true } => ({
    ...parsePage(page),
    unread: unread === true ? true : undefined,
  }),
  component: lazyPage(async () => (await import('./pages/notifications/notifications-page.tsx')).NotificationsPage),
});
const notificationSettingsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/notifications/settings',
  component: lazyPage(
    async () => (await import('./pages/notifications/notifications-page.tsx')).NotificationPreferencesPage,
  ),
});

const packagesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/packages',
  validateSearch: ({ code }: Record<string, unknown>): { code?: string } => parseText('code', code, 200),
  component: lazyPage(async () => (await import('./pages/plan/own-plan-page.tsx')).OwnPlanPage),
});
const ticketsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/tickets',
  validateSearch: ({ page, status }: Record<string, unknown>): { page?: number; status?: TicketStatus } => ({
    ...parsePage(page),
    // The page drops invalid values, so that the contract of tickets is not loaded with every page.
    status: typeof status === 'string' ? (status as TicketStatus) : undefined,
  }),
  component: lazyPage(async () => (await import('./pages/support/ticket-page.tsx')).TicketListPage),
});
/** Values that prefill a ticket. */
interface NewTicketSearch {
  readonly task?: string;
  readonly title?: string;
  readonly content?: string;
  readonly category?: string;
}
const newTicketRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/tickets/new',
  validateSearch: ({ task, title, content, category }: Record<string, unknown>): NewTicketSearch => ({
    ...parseText('task', task, 200),
    ...parseText('title', title, 200),
    ...parseText('content', content, 2_000),
    ...parseText('category', category, 40),
  }),
  component: lazyPage(async () => (await import('./pages/support/ticket-page.tsx')).NewTicketPage),
});
const ticketRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/tickets/$id',
  component: lazyPage(async () => (await import('./pages/support/ticket-page.tsx')).TicketPage),
});
const betaRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/beta-applications',
  validateSearch: ({ feature }: Record<string, unknown>): { feature?: string } => parseText('feature', feature, 100),
  component: lazyPage(async () => (await import('./pages/support/beta-applications-page.tsx')).BetaApplicationsPage),
});
/** `/account` alone, used by older links. */
const accountRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account',
  beforeLoad: () => {
    redirect({ to: '/account/overview', throw: true });
  },
});

const appRoutes = [
  studioRoute,
  exploreRoute,
  playgroundRoute,
  videosRoute,
  videoRoute,
  filesRoute,
  batchesRoute,
  batchRoute,
  sharesRoute,
  tokensRoute,
  tokenRoute,
  webhooksRoute,
  webhookRoute,
  usageRoute,
  requestsRoute,
  receiptRoute,
  devicesRoute,
  organizationsRoute,
  organizationRoute,
  invitationRoute,
  securityRoute,
  profileRoute,
  mailboxRoute,
  notificationsRoute,
  notificationSettingsRoute,
  packagesRoute,
  ticketsRoute,
  newTicketRoute,
  ticketRoute,
  betaRoute,
  accountRoute,
  adminRoutes,
] as const;

/** The console's router; each page's code is loaded on demand. */
export const router = createRouter({
  routeTree: rootRoute.addChildren([
    homeRoute,
    signInRoute,
    secondFactorRoute,
    registerRoute,
    forgotPasswordRoute,
    resetPasswordRoute,
    confirmEmailRoute,
    appRoute.addChildren(appRoutes),
  ]),
  defaultPreload: 'intent',
  defaultPendingComponent: PageLoadingIndicator,
  defaultErrorComponent: PageError,
  scrollRestoration: true,
});

/** Forgets the account and asks for a sign-in. @param ended the session was not signed out on purpose */
function leaveSession(ended?: true): void {
  clearUserId();
  queryClient.clear();
  void router.navigate({ to: '/sign-in', search: { back: router.state.location.href, ended } });
}

setSignedOutListener(async () => {
  if (readUserId() === undefined && signIn === undefined) return false;
  const renewal = renewSession();
  if (renewal === undefined) leaveSession(true);
  return renewal ?? false;
});

onUserChange((id) => {
  if (signIn !== undefined) return;
  const { pathname, search } = router.state.location;
  // These show nothing of an account.
  if (/^\/(register|forgot|reset|confirm)/.test(pathname)) return;
  if (pathname === '/sign-in') {
    if (id !== undefined) location.assign(toSafeRedirectPath(search.back));
  } else if (id !== undefined) {
    // The page shows another account than its next request would be for.
    location.reload();
  } else if (readLastUserId() === undefined || renewSession() === undefined) leaveSession();
});

setSecondFactorListener(() => {
  const { pathname, href } = router.state.location;
  if (pathname !== '/sign-in/second-factor')
    void router.navigate({ to: '/sign-in/second-factor', search: { back: href } });
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
