import { createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { TICKET_STATUS, type TicketStatus } from '../contract/tickets.ts';
import { appRoute, rootRoute } from './app-route.tsx';
import { queryClient, whenSignedOut } from './data/queries.ts';
import { forgetUser, safePath } from './data/session.ts';
import { adminRoutes } from './pages/admin/admin-routes.tsx';
import { toVideosSearch } from './pages/videos/videos-search.ts';
import { PageFailure } from './parts/page-failure.tsx';
import { PageLoader } from './parts/page-loader.tsx';

/** `back`: the page to return to; whatever is no path of this console is dropped. */
const signedOutSearch = (search: Record<string, unknown>): { back?: string } =>
  typeof search.back === 'string' ? { back: safePath(search.back) } : {};

/** What an address says of a list's page and of a text that fills a form; anything else is dropped. */
const toPage = (page: unknown): { page?: number } =>
  Number.isSafeInteger(page) && Number(page) > 1 ? { page: Number(page) } : {};
const toText = <Name extends string>(name: Name, value: unknown, longest: number): { [Key in Name]?: string } =>
  (typeof value === 'string' || typeof value === 'number') && String(value).length <= longest
    ? ({ [name]: String(value) } as { [Key in Name]?: string })
    : {};

const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  beforeLoad: () => {
    redirect({ to: '/studio' as string, throw: true });
  },
});

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: signedOutSearch,
  component: lazyRouteComponent(() => import('./pages/sign-in/sign-in-page.tsx'), 'SignInPage'),
});
const registerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/register',
  validateSearch: signedOutSearch,
  component: lazyRouteComponent(() => import('./pages/sign-in/register-page.tsx'), 'RegisterPage'),
});

const studioRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/studio',
  /** `again`: a task whose parameters fill the form. */
  validateSearch: ({ again }: Record<string, unknown>): { again?: string } =>
    typeof again === 'string' ? { again } : {},
  component: lazyRouteComponent(() => import('./pages/studio/studio-page.tsx'), 'StudioPage'),
});
const videosRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/videos',
  validateSearch: toVideosSearch,
  component: lazyRouteComponent(() => import('./pages/videos/videos-page.tsx'), 'VideosPage'),
});
const videoRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/videos/$taskId',
  component: lazyRouteComponent(() => import('./pages/videos/video-page.tsx'), 'VideoPage'),
});
const tokensRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/tokens',
  component: lazyRouteComponent(() => import('./pages/account/tokens-page.tsx'), 'TokensPage'),
});

const usageRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/overview',
  component: lazyRouteComponent(() => import('./pages/account/usage-page.tsx'), 'UsagePage'),
});
const devicesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/devices',
  component: lazyRouteComponent(() => import('./pages/account/devices-page.tsx'), 'DevicesPage'),
});
const securityRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/security',
  component: lazyRouteComponent(() => import('./pages/account/security-page.tsx'), 'SecurityPage'),
});
const profileRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/profile',
  component: lazyRouteComponent(() => import('./pages/account/profile-page.tsx'), 'ProfilePage'),
});
const mailboxRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/mailbox',
  component: lazyRouteComponent(() => import('./pages/mailbox/mailbox-page.tsx'), 'MailboxPage'),
});

const notificationsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/notifications',
  validateSearch: ({ page, unread }: Record<string, unknown>): { page?: number; unread?: true } => ({
    ...toPage(page),
    ...(unread === true ? { unread } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/messages/notifications-page.tsx'), 'NotificationsPage'),
});
const notificationSettingsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/notifications/settings',
  component: lazyRouteComponent(() => import('./pages/messages/preferences-page.tsx'), 'PreferencesPage'),
});

const packagesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/packages',
  validateSearch: ({ code }: Record<string, unknown>): { code?: string } => toText('code', code, 200),
  component: lazyRouteComponent(() => import('./pages/packages/packages-page.tsx'), 'PackagesPage'),
});
const ticketsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/tickets',
  validateSearch: ({ page, status }: Record<string, unknown>): { page?: number; status?: TicketStatus } => ({
    ...toPage(page),
    ...(TICKET_STATUS.some((each) => each === status) ? { status: status as TicketStatus } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/support/tickets-page.tsx'), 'TicketsPage'),
});
const newTicketRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/tickets/new',
  validateSearch: ({ task }: Record<string, unknown>): { task?: string } => toText('task', task, 200),
  component: lazyRouteComponent(() => import('./pages/support/new-ticket-page.tsx'), 'NewTicketPage'),
});
const ticketRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/tickets/$id',
  component: lazyRouteComponent(() => import('./pages/support/ticket-page.tsx'), 'TicketPage'),
});
const betaRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/beta-applications',
  validateSearch: ({ feature }: Record<string, unknown>): { feature?: string } => toText('feature', feature, 100),
  component: lazyRouteComponent(() => import('./pages/support/beta-page.tsx'), 'BetaPage'),
});
/** `/account` alone, as older links have it. */
const accountRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account',
  beforeLoad: () => {
    redirect({ to: '/account/overview' as string, throw: true });
  },
});

const appRoutes = [
  studioRoute,
  videosRoute,
  videoRoute,
  tokensRoute,
  usageRoute,
  devicesRoute,
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
  ...adminRoutes,
] as const;

export const router = createRouter({
  routeTree: rootRoute.addChildren([homeRoute, signInRoute, registerRoute, appRoute.addChildren(appRoutes)]),
  defaultPreload: 'intent',
  defaultPendingComponent: PageLoader,
  defaultErrorComponent: PageFailure,
  scrollRestoration: true,
});

whenSignedOut(() => {
  forgetUser();
  queryClient.clear();
  void router.navigate({ to: '/sign-in', search: { back: router.state.location.href } });
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
