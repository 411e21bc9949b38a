import * as mailboxEndpoints from '../contract/mailbox.ts';
import { getStorage } from '../contract/own-videos.ts';
import { deleteBudget, listBudgets, putBudget } from '../contract/plans.ts';
import { done, ok, toLimit } from '../contract/responses.ts';
import * as siteEndpoints from '../contract/service.ts';
import { HOUR_MS } from '../contract/time-units.ts';
import { listEvents, toEventPayload } from '../contract/webhooks.ts';
import { PENDING_LOGIN_MS } from './accounts/login-service.ts';
import { addAccountRoutes } from './accounts/routes.ts';
import { SESSION_MS } from './accounts/sessions.ts';
import { addReferenceRoutes } from './api-reference/routes.ts';
import type { Artifacts } from './artifacts/module.ts';
import { makeBatches } from './batches/module.ts';
import { addBatchRoutes, type LineCalls, renderLineError } from './batches/routes.ts';
import type { BudgetService } from './budgets/budgets.ts';
import { addChannelRoutes } from './channels/routes.ts';
import { type ChatTimeLimits, makeChat } from './chat/module.ts';
import { journalDirectory } from './chat/settlement-journal.ts';
import { ClaudeCodeUsage, ManagedSettings } from './claude-code/managed-settings.ts';
import { addClaudeCodeRoutes, closeGatewayWhileOff } from './claude-code/routes.ts';
import { addConsoleRoutes } from './console/routes.ts';
import { addDeviceAuthRoutes } from './device-auth/routes.ts';
import { ADMINISTRATORS, type Events } from './event-log/event-log.ts';
import { addFileRoutes } from './files/routes.ts';
import type { Foundation } from './foundation.ts';
import { addIdentityRoutes } from './identity-providers/routes.ts';
import type { Mail } from './mail/mail-queue.ts';
import { addMailboxRoutes } from './mailbox/routes.ts';
import { addMcpRoutes } from './mcp/routes.ts';
import { registerOnDemandMetrics } from './metrics.ts';
import type { Modules } from './modules.ts';
import { addAnnouncementAdminRoutes, addNotificationRoutes } from './notifications/routes.ts';
import { addOrganizationRoutes, addTransferRoutes } from './organizations/routes.ts';
import { VERSION } from './package-root.ts';
import type { FindPlanTerms } from './plans/plan-store.ts';
import { addPlanAdminRoutes, addPlanRoutes } from './plans/routes.ts';
import { createClientIpResolver, createIpCheck } from './platform/client-ip.ts';
import type { PortLifecycle } from './platform/http/lifecycle.ts';
import { createLoginCookies, type LoginCookies, renewSessionCookies } from './platform/http/login-cookies.ts';
import { type RouteRegistry, toActor } from './platform/http/route-registry.ts';
import { createHttpServer, type HttpServer } from './platform/http/server.ts';
import { addDesignRoutes, addServiceRoutes, readPublicServiceSettings } from './platform/http/service-routes.ts';
import { ApiKeyLimiter } from './platform/limits/rate-limits.ts';
import { newTaskId } from './platform/tokens.ts';
import { addBillingDashboardRoutes, addQuotaRoutes } from './quota/routes.ts';
import { makeReceipts } from './request-log/module.ts';
import { addReceiptRoutes, addRequestRoutes } from './request-log/routes.ts';
import { addServiceStatusRoutes, addStatusPageRoutes } from './service-status/routes.ts';
import type { Site } from './site-settings/settings.ts';
import { makeSupport } from './support/module.ts';
import { addSupportAdminRoutes, addSupportRoutes } from './support/routes.ts';
import { makeVideo, type Video } from './video/module.ts';
import type { FaultPoint } from './video/task-completion.ts';
import { addWebhookRoutes } from './webhooks/routes.ts';

/** Registers the endpoints for an account's stored copies. */
function addArtifactRoutes(routes: RouteRegistry, artifacts: Artifacts): void {
  routes.add(getStorage, async ({ caller }) => {
    const [usage, limits] = await Promise.all([artifacts.usage(caller.userId), artifacts.limitsOf(caller.userId)]);
    return ok({
      enabled: artifacts.isEnabled,
      files: usage.files,
      used_bytes: usage.bytes,
      limit_bytes: limits.bytes,
      days: limits.days,
    });
  });
}

/** Registers the budgets of the caller's own account. */
function addBudgetRoutes(routes: RouteRegistry, budgets: BudgetService): void {
  routes.add(listBudgets, async ({ caller }) => ok(await budgets.list(caller.userId)));
  routes.add(putBudget, async ({ caller, params, body }) =>
    ok(await budgets.put(caller.userId, Number(params.token_id), body)),
  );
  routes.add(deleteBudget, async ({ caller, params }) => {
    await budgets.remove(caller.userId, Number(params.token_id));
    return done();
  });
}

/** Registers the events of the caller's own account. */
function addEventRoutes(routes: RouteRegistry, { store }: Pick<Events, 'store'>): void {
  routes.add(listEvents, async ({ caller, query }) => {
    const limit = toLimit(query.limit);
    const rows = await store.list({
      userIds: caller.role === 'user' ? [caller.userId] : [caller.userId, ADMINISTRATORS],
      since: Number(query.since ?? 0) * 1000,
      afterSeq: Number(query.after ?? 0),
      limit,
    });
    const last = rows.at(-1);
    return ok({
      events: rows.map(({ id, type, created_at, data }) => ({ id, ...toEventPayload(type, created_at, data) })),
      next: last === undefined || rows.length < limit ? null : String(last.seq),
    });
  });
}

/** Registers the administrators' endpoints for outgoing mail. */
function addMailRoutes(routes: RouteRegistry, { queue, testMail, countWaiting }: Mail): void {
  routes.add(mailboxEndpoints.getMailState, async () =>
    ok({ enabled: queue.isEnabled, waiting: await countWaiting(), last_error: queue.lastError ?? null }),
  );
  routes.add(mailboxEndpoints.sendTestMail, async ({ body, request }) => {
    await testMail.send(body.to, request.locale);
    return done();
  });
}

/** Registers root's endpoints of the site settings. */
function addSiteRoutes(routes: RouteRegistry, { settings }: Pick<Site, 'settings'>): void {
  routes.add(siteEndpoints.listSiteSettings, async () => ok(await settings.list()));
  routes.add(siteEndpoints.updateSiteSetting, async ({ caller, params, body, request }) =>
    ok(await settings.set(toActor(caller, request), params.name, body.value)),
  );
}

/** Replacements for real components and constants, for tests. */
export interface RouteOverrides {
  readonly onFaultPoint?: (point: FaultPoint) => void;
  /** The port to serve on, which may already be open. */
  readonly port?: PortLifecycle;
  /** Replaces some of `CHAT_TIME_LIMITS`. */
  readonly chatTimeLimits?: Partial<ChatTimeLimits>;
  /** Replaces `CONNECTIONS_PER_IP`. */
  readonly connectionsPerIp?: number;
}

/**
 * Connections one IP address (an IPv6 /64) may have open: far more than an office behind a NAT needs, far fewer than a
 * process can hold.
 */
const CONNECTIONS_PER_IP = 1_000;

/** Registers the endpoints of all modules, and constructs the modules that need the HTTP server: video and chat. */
export async function registerRoutes(
  http: HttpServer,
  foundation: Foundation,
  modules: Modules,
  site: Site,
  { onFaultPoint, chatTimeLimits }: RouteOverrides,
  lineCalls: LineCalls,
) {
  const { config, settings, clock, masterKey, rateLimits } = foundation;
  const { accounts, notifications, allowances, channels, artifacts } = modules;
  const { credentialWatch } = accounts;
  const { routes } = http;
  const plans = planFinders(modules);
  const shared = { keyLimiter: new ApiKeyLimiter(rateLimits, clock), ...plans };
  closeGatewayWhileOff(http.fastify, settings);
  const video = makeVideo(routes, {
    ...accounts,
    ...foundation,
    quota: modules.quota.ledger,
    allowances,
    outlook: modules.plans.outlook,
    channels,
    vendors: modules.vendors,
    ledgerHistory: modules.quota.usage,
    notifier: notifications.notifier,
    events: modules.events.eventLog,
    artifacts,
    checkCallbackUrl: modules.webhooks.checkUrl,
    findAuthors: modules.findAuthors,
    ...shared,
    baseUrl: config.baseUrl,
    accelProxies: config.artifactsAccelProxies,
    site: settings,
    newTaskId,
    inputFinders: [(id, owner) => modules.files.findInput(id, owner)],
    syncPeriodMs: config.syncPeriodSeconds * 1000,
    ambiguousTtlMs: config.ambiguousSubmitTtlSeconds * 1000,
    taskTimeoutMs: config.taskTimeoutHours * HOUR_MS,
    submitVisibilityMs: config.submitVisibilitySeconds * 1000,
    // Aborted only after the grace period: callers still receive their responses, and a submit that was cut off earlier
    // would have an unknown outcome.
    stopping: foundation.forcedStop.signal,
    faultPoint: onFaultPoint ?? (() => {}),
  });
  const claudeCodeUsage = new ClaudeCodeUsage({ ledger: modules.quota.ledger, amountUnit: amountUnitOf(foundation) });
  const chat = makeChat(http, {
    ...foundation,
    ...{ ...shared, claudeCodeUsage, channels, vendors: modules.vendors, authenticator: accounts.authenticator },
    quota: modules.quota.ledger,
    adapterContexts: video.upstreamCalls,
    requestLog: modules.requests.log,
    stopping: foundation.forcedStop.signal,
    journalDirectory: journalDirectory(config.databaseUrl, config.journalDir),
    masterKeys: [masterKey, ...foundation.previousMasterKeys],
    timeLimits: chatTimeLimits,
  });
  const batches = makeBatches({
    ...foundation,
    ...{ video, chat, files: modules.files, ledger: modules.quota.ledger, notifier: notifications.notifier },
    outlook: modules.plans.outlook,
    callerOf: (owner) => accounts.authenticator.callerOf(owner),
    callModel: (call) => lineCalls.send(http.fastify, call),
    renderError: renderLineError,
    faultPoint: onFaultPoint ?? (() => {}),
  });
  addBatchRoutes(routes, batches);
  addMcp(routes, foundation, modules, video);
  const support = addSupport(routes, foundation, modules, video);
  const cookies = createCookies(http, config.baseUrl);
  addAccountRoutes(routes, { accounts, cookies });
  addIndependentRoutes(routes, modules);
  addSignInRoutes(routes, foundation, modules, { site, cookies, claudeCodeUsage });
  addNotificationRoutes(routes, { notifications, credentialWatch, countPending: support.countPending });
  addMoneyRoutes(routes, foundation, modules, video);
  addChannels(routes, foundation, modules, { ...plans, video });
  await addPages(http, foundation, modules, site);
  registerOnDemandMetrics(foundation, modules, { video, chat, batches });
  return { video, chat, batches };
}

/** Accounts and every way to sign in to one: passwords, identity providers, devices, OAuth and Claude Code. */
function addSignInRoutes(
  routes: RouteRegistry,
  foundation: Foundation,
  { accounts, deviceAuth, identityProviders }: Modules,
  {
    site,
    cookies,
    claudeCodeUsage,
  }: { readonly site: Site; readonly cookies: LoginCookies; readonly claudeCodeUsage: ClaudeCodeUsage },
): void {
  const { config, settings, clock, masterKey } = foundation;
  const { baseUrl } = config;
  const managedSettings = new ManagedSettings({ ...foundation, ...accounts, store: site.store });
  addDeviceAuthRoutes(routes, {
    ...{ deviceAuth, accounts, cookies, clock, masterKey, baseUrl, site: settings },
    quotaPerUnit: config.quotaPerUnit,
    findManagedSettings: (clientId) => managedSettings.findSensitive(clientId),
  });
  addClaudeCodeRoutes(routes, {
    ...{ deviceAuth, managedSettings, claudeCodeUsage, baseUrl },
    emails: accounts.emailConfirmations,
  });
  addIdentityRoutes(routes, { identityProviders, accounts, cookies, baseUrl, site: settings });
}

function addChannels(
  routes: RouteRegistry,
  { vault, clock }: Foundation,
  { channels, channelStore: store, accounts, vendors, allowances }: Modules,
  shared: { readonly findPlanTerms: FindPlanTerms; readonly video: Video },
): void {
  addChannelRoutes(routes, {
    ...shared,
    channels,
    store,
    vault,
    clock,
    audit: accounts.auditLog,
    vendors,
    allowances,
  });
}

/** Amounts are shown in the currency of the site, otherwise in credits. */
const amountUnitOf =
  ({ config, settings }: Foundation) =>
  () => ({ quotaPerCredit: config.quotaPerUnit, currency: settings.current().currency ?? '' });

function addMcp(routes: RouteRegistry, foundation: Foundation, modules: Modules, video: Video): void {
  const { config, settings } = foundation;
  addMcpRoutes(routes, {
    ...foundation,
    video,
    outlook: modules.plans.outlook,
    ledger: modules.quota.ledger,
    amountUnit: amountUnitOf(foundation),
    credentialWatch: modules.accounts.credentialWatch,
    siteName: () => settings.current().siteName,
    baseUrl: config.baseUrl,
  });
}

/** Reads an account's terms only if a channel of the model depends on plans. */
function planFinders({ channels, allowances }: Modules) {
  const findPlanTerms: FindPlanTerms = async (userId, model) =>
    (await channels.hasPlanTerms(model)) ? allowances.currentTerms(userId) : undefined;
  const findPlanLevel = async (userId: number): Promise<number> => (await allowances.currentTerms(userId)).level;
  return { findPlanTerms, findPlanLevel };
}

function addSupport(
  routes: RouteRegistry,
  { database, clock, rateLimits, settings }: Foundation,
  modules: Modules,
  video: Video,
) {
  const { auditLog, access } = modules.accounts;
  const support = makeSupport({
    site: settings,
    database,
    clock,
    auditLog,
    access,
    notifier: modules.notifications.notifier,
    rateLimits,
    ownsTask: async (userId, taskId) => (await video.store.findForUser(taskId, userId)) !== undefined,
  });
  addSupportRoutes(routes, support);
  addSupportAdminRoutes(routes, support);
  return support;
}

/**
 * Health checks and everything people view: the API reference, the design assets of all pages, the site's settings and
 * the console.
 */
async function addPages(
  { fastify, routes }: HttpServer,
  foundation: Foundation,
  { operations }: Modules,
  site: Site,
): Promise<void> {
  const { config, settings, metrics, readiness, clock } = foundation;
  const notReadyReason = () => readiness.notReadyReason();
  addServiceRoutes(routes, {
    config,
    settings,
    version: VERSION,
    metrics,
    notReadyReason,
  });
  addStatusPageRoutes(routes, { operations, clock, site: settings, notReadyReason });
  const { baseUrl, apiUserHeader: userHeader } = config;
  addReferenceRoutes(routes, { version: VERSION, baseUrl, userHeader, site: settings });
  addDesignRoutes(routes, settings);
  addSiteRoutes(routes, site);
  addConsoleRoutes(fastify, routes, () => readPublicServiceSettings(config, settings.current(), VERSION));
}

/** Usage, its cost, and the records that explain them. */
function addMoneyRoutes(
  routes: RouteRegistry,
  { clock, config }: Foundation,
  { quota, requests, budgets, operations, accounts, findAuthors }: Modules,
  video: Video,
): void {
  const { audit, ledger, usage } = quota;
  const { adminStore: tasks, store } = video;
  addQuotaRoutes(routes, { audit, usage, clock, tasks, findAuthors });
  addBudgetRoutes(routes, budgets);
  addServiceStatusRoutes(routes, { operations, clock });
  addRequestRoutes(routes, { requests, tasks, credentialWatch: accounts.credentialWatch });
  addReceiptRoutes(routes, {
    receipts: makeReceipts({ store: requests.store, ledger: usage, tasks, findAuthors }),
    findVideo: async (publicId, tokenId) => (await store.findForToken(publicId, tokenId))?.id,
  });
  const describeToken = (id: number) => accounts.tokens.describe(id);
  addBillingDashboardRoutes(routes, { ledger, usage, quotaPerUnit: config.quotaPerUnit, describeToken });
}

/** Endpoints of modules that depend on no other module. */
function addIndependentRoutes(routes: RouteRegistry, modules: Modules): void {
  addMailRoutes(routes, modules.mail);
  addOrganizationRoutes(routes, modules);
  addTransferRoutes(routes, modules.transfers);
  addArtifactRoutes(routes, modules.artifacts);
  addFileRoutes(routes, modules.files);
  addEventRoutes(routes, modules.events);
  addWebhookRoutes(routes, modules.webhooks);
  addMailboxRoutes(routes, modules.mailbox);
  addAnnouncementAdminRoutes(routes, modules.notifications.announcements);
  addPlanRoutes(routes, modules.plans);
  addPlanAdminRoutes(routes, modules.plans);
}

function createCookies(http: HttpServer, baseUrl: string): LoginCookies {
  const cookies = createLoginCookies({
    secure: baseUrl.startsWith('https:'),
    sessionSeconds: SESSION_MS / 1000,
    pendingSeconds: PENDING_LOGIN_MS / 1000,
  });
  renewSessionCookies(http.fastify, cookies);
  return cookies;
}

/** Constructs the service's HTTP server from its settings, without routes. */
export function makeHttpServer(
  { config, log, metrics, tracing }: Foundation,
  { accounts }: Modules,
  lineCalls: LineCalls,
  { port, connectionsPerIp = CONNECTIONS_PER_IP }: RouteOverrides,
): Promise<HttpServer> {
  return createHttpServer({
    port,
    log,
    authenticator: lineCalls.wrap(accounts.authenticator),
    defaultLocale: config.defaultLocale,
    baseUrl: config.baseUrl,
    corsOrigins: config.corsOrigins,
    maxConnectionsPerIp: connectionsPerIp,
    clientIpOf: createClientIpResolver(config.trustProxy),
    isTrustedProxy: createIpCheck(config.trustProxy),
    tracing,
    onResponse: metrics.recordRequest,
  });
}
