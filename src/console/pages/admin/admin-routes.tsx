import { createRoute, Outlet, redirect } from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { QueryError } from '../../components/error-alert.tsx';
import type { ListSearch } from '../../components/list/use-list-filters.ts';
import { NotFound, PageLoadingIndicator } from '../../components/page.tsx';
import { isAdmin, useSelf } from '../../data/self.ts';
import { appRoute, lazyPage } from '../../root-routes.tsx';

/** Hides admin pages from users without the role, for whom they would be empty. The service enforces access. */
function RequireAdmin() {
  const self = useSelf();
  if (self.data === undefined) return self.error === null ? <PageLoadingIndicator /> : <QueryError query={self} />;
  return isAdmin(self.data.role) ? <Outlet /> : <NotFound />;
}

const adminRoute = createRoute({ getParentRoute: () => appRoute, id: 'admin', component: RequireAdmin });

const page = <const Path extends string>(path: Path, load: () => Promise<ComponentType>) =>
  createRoute({
    getParentRoute: () => adminRoute,
    path: `/admin/${path}`,
    validateSearch: (search: Record<string, unknown>): ListSearch => search as ListSearch,
    component: lazyPage(load),
  });

const homeRoute = createRoute({
  getParentRoute: () => adminRoute,
  path: '/admin',
  beforeLoad: () => {
    redirect({ to: '/admin/overview', throw: true });
  },
});

/** Pages under /admin, each loaded when first opened. The server enforces access to their endpoints. */
export const adminRoutes = adminRoute.addChildren([
  homeRoute,
  page('overview', async () => (await import('./overview/overview-page.tsx')).OverviewPage),
  page('users', async () => (await import('./users/user-list-page.tsx')).UserListPage),
  page('users/$id', async () => (await import('./users/user-page.tsx')).UserPage),
  page('organizations', async () => (await import('./organizations/admin-organization-page.tsx')).OrganizationListPage),
  page(
    'organizations/$id',
    async () => (await import('./organizations/admin-organization-page.tsx')).AdminOrganizationPage,
  ),
  page('channels', async () => (await import('./channels/channel-list-page.tsx')).ChannelListPage),
  page('channels/new', async () => (await import('./channels/channel-page.tsx')).NewChannelPage),
  page('channels/$id', async () => (await import('./channels/channel-page.tsx')).ChannelPage),
  page('models', async () => (await import('./models/model-list-page.tsx')).ModelListPage),
  page('models/new', async () => (await import('./models/model-page.tsx')).NewModelPage),
  page('models/$id', async () => (await import('./models/model-page.tsx')).ModelPage),
  page('tasks', async () => (await import('./tasks/task-page.tsx')).TaskListPage),
  page('tasks/$id', async () => (await import('./tasks/task-page.tsx')).TaskPage),
  page('requests', async () => (await import('../requests/request-log.tsx')).AdminRequestsPage),
  page('costs', async () => (await import('../costs/cost-explorer.tsx')).AdminCostsPage),
  page('ledger', async () => (await import('./ledger/ledger-page.tsx')).LedgerPage),
  page('reconciliation', async () => (await import('./reconciliation/reconciliation-page.tsx')).ReconciliationPage),
  page('packages', async () => (await import('./plans/plan-page.tsx')).PlanListPage),
  page('packages/new', async () => (await import('./plans/plan-page.tsx')).NewPlanPage),
  page('packages/$id', async () => (await import('./plans/plan-page.tsx')).PlanPage),
  page('codes', async () => (await import('./redemption-codes/redemption-codes-page.tsx')).RedemptionCodesPage),
  page('tickets', async () => (await import('./tickets/admin-ticket-page.tsx')).AdminTicketListPage),
  page('tickets/$id', async () => (await import('./tickets/admin-ticket-page.tsx')).AdminTicketPage),
  page(
    'beta-applications',
    async () => (await import('./beta-applications/beta-application-page.tsx')).AdminApplicationListPage,
  ),
  page(
    'beta-applications/$id',
    async () => (await import('./beta-applications/beta-application-page.tsx')).AdminBetaApplicationPage,
  ),
  page('announcements', async () => (await import('./announcements/announcements-page.tsx')).AnnouncementsPage),
  page('settings', async () => (await import('./settings/settings-page.tsx')).SettingsPage),
  page('audit', async () => (await import('./audit/audit-log-page.tsx')).AuditLogPage),
  page('logins', async () => (await import('./audit/audit-log-page.tsx')).LoginHistoryPage),
  page('claude-code', async () => (await import('./claude-code/claude-code-page.tsx')).ClaudeCodePage),
  page('device-clients', async () => (await import('./device-clients/device-clients-page.tsx')).DeviceClientsPage),
]);
