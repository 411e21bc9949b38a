import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { makeAccounts } from './accounts/accounts.ts';
import { makeAudit } from './accounts/audit-store.ts';
import { PENDING_MS } from './accounts/logins.ts';
import { addAccountRoutes } from './accounts/routes.ts';
import { SESSION_MS } from './accounts/sessions.ts';
import type { Settings } from './accounts/settings.ts';
import { makeStanding } from './accounts/standing.ts';
import type { ChannelVendor } from './channels/channels.ts';
import { ensureSandboxChannels, type SandboxChannel, type SeedModel, seedModels } from './channels/first-start.ts';
import { makeRestNotices } from './channels/rest-notices.ts';
import { addChannelRoutes } from './channels/routes.ts';
import { ChannelService } from './channels/service.ts';
import { ChannelStore } from './channels/store.ts';
import { CHAT_SEEDS, makeChat } from './chat/chat.ts';
import { addConsoleRoutes } from './console/routes.ts';
import { makeDeviceAuth } from './device-auth/device-auth.ts';
import { addDeviceAuthRoutes } from './device-auth/routes.ts';
import { makeMailbox } from './mailbox/mailbox.ts';
import { addMailboxRoutes } from './mailbox/routes.ts';
import { migrations } from './migrations.ts';
import { addAnnouncementRoutes } from './notifications/admin-routes.ts';
import { makeNotifications, type Notifications } from './notifications/notifications.ts';
import { addNotificationRoutes } from './notifications/routes.ts';
import { addPackageAdminRoutes } from './packages/admin-routes.ts';
import { makeAllowances } from './packages/allowances.ts';
import { makePackages } from './packages/packages.ts';
import { addPackageRoutes } from './packages/routes.ts';
import { makeAddressOf } from './platform/address.ts';
import type { Clock } from './platform/clock.ts';
import type { Config } from './platform/config.ts';
import { type Database, openDatabase } from './platform/db/database.ts';
import { openDatabaseClock } from './platform/db/database-clock.ts';
import { openSignals } from './platform/db/listen.ts';
import { migrate } from './platform/db/migrate.ts';
import { metaMigrations } from './platform/db/tables.ts';
import { type Http, makeHttp } from './platform/http/server.ts';
import { addServiceRoutes, openMetricsPort } from './platform/http/service-routes.ts';
import { makeSessionCookies, renewSessionCookies } from './platform/http/session-cookie.ts';
import { taskId } from './platform/ids.ts';
import { assertMasterKey } from './platform/key-check.ts';
import { makeLimits } from './platform/limits/limits.ts';
import { type Log, openLog } from './platform/log.ts';
import { openMasterKeys } from './platform/master-key.ts';
import { makeMetrics } from './platform/metrics.ts';
import { openOutbound } from './platform/outbound/door.ts';
import type { Outbound } from './platform/outbound/outbound.ts';
import { makeVault } from './platform/secrets.ts';
import { refundAbandoned } from './quota/abandoned.ts';
import { makeLowQuotaWatch } from './quota/low-quota.ts';
import { addQuotaRoutes } from './quota/routes.ts';
import { makeQuota } from './quota/service.ts';
import { QuotaStore } from './quota/store.ts';
import { UsageStore } from './quota/usage-store.ts';
import { addReferenceRoutes } from './reference/routes.ts';
import { addSupportAdminRoutes } from './support/admin-routes.ts';
import { addSupportRoutes } from './support/routes.ts';
import { makeSupport } from './support/support.ts';
import type { Tables } from './tables.ts';
import { VERSION } from './version.ts';
import { ADAPTERS } from './video/adapters.ts';
import { priceOf } from './video/pricing.ts';
import type { FaultPoint } from './video/submit.ts';
import { Vendors } from './video/vendors.ts';
import { makeVideo } from './video/video.ts';

/** What tests put in place of the real thing. */
export interface Overrides {
  readonly clock?: Clock;
  readonly log?: Log;
  /** Closed with the service. */
  readonly outbound?: Outbound;
  readonly at?: (point: FaultPoint) => void;
}

export interface App {
  readonly http: Http;
  readonly database: Database<Tables>;
  readonly log: Log;
  /** For tests: the way in for the other capabilities. */
  readonly notifications: Notifications;
  /** The address people use. */
  readonly baseUrl: string;
  /** Looks for what time has ended; done every minute while it listens. */
  sweep(): Promise<void>;
  /** Starts listening and working; answers with the address in use. */
  listen(): Promise<AddressInfo>;
  /** Takes no new work, finishes what is under way within `graceMs` (default 30 000), closes everything it opened. */
  close(graceMs?: number): Promise<void>;
}

const SWEEP_MS = 60_000;

/** Constructs everything and connects it; the only place that does. Nothing listens and no work starts before `listen`. */
export async function makeApp(config: Config, overrides: Overrides = {}): Promise<App> {
  const log = overrides.log ?? openLog(config.logLevel);
  const stopping = new AbortController();
  /** The grace of a stop is over. */
  const cutting = new AbortController();
  const { current: masterKey, previous: previousKeys } = openMasterKeys(config);
  const database = openDatabase<Tables>(config.databaseUrl, { log, poolMax: config.databasePool });
  // With a wrong key nothing is written, a newer schema included.
  await migrate(database, metaMigrations);
  await assertMasterKey(database, masterKey, previousKeys);
  await migrate(database, migrations);
  const databaseClock = await openDatabaseClock(database);
  const clock = overrides.clock ?? databaseClock;
  const metrics = makeMetrics();
  const outbound = overrides.outbound ?? openOutbound();
  const limits = makeLimits({
    valkeyUrl: config.valkeyUrl,
    sharedDatabase: database.dialect === 'postgres' ? (database.kysely as never) : undefined,
    clock,
    log,
  });
  const vendors = new Vendors(ADAPTERS);

  const vault = makeVault(masterKey, previousKeys);
  const quotaStore = new QuotaStore(database);
  // The ledger stands on the allowances, and they on the account's time zone: accounts and packages are made below.
  const timeZoneIn: Settings['timeZoneIn'] = (trx, userId) => accounts.settings.timeZoneIn(trx, userId);
  const allowances = makeAllowances({ database, clock, timeZoneIn });
  const signals = openSignals(config.databaseUrl, log);
  const notifications = makeNotifications({
    database,
    signals,
    clock,
    log,
    // Accounts tell of security events, so they come after; these two parts of theirs keep no state.
    audit: makeAudit(clock),
    standing: makeStanding(database),
  });
  const { notifier } = notifications;
  const quota = makeQuota(quotaStore, clock, allowances, makeLowQuotaWatch(notifier, clock, config.lowQuota));
  const accounts = makeAccounts({
    config,
    database,
    clock,
    log,
    vault,
    limits,
    outbound,
    quota,
    notifier,
    planOf: (userId) => packages.plans.planOf(userId),
    // Made below: device sign-ins stand on accounts, and accounts ask them back.
    deviceTokens: { find: (hash) => deviceAuth.find(hash), used: (id, address) => deviceAuth.used(id, address) },
    endsWithAccount: [{ endAll: (trx, userId) => deviceAuth.endAll(trx, userId) }],
  });

  const packages = makePackages({
    database,
    clock,
    allowances,
    limits,
    quota,
    notifier,
    audit: accounts.audit,
    standing: accounts.standing,
    timeZoneIn,
    timeZone: accounts.settings.timeZone,
  });

  const channelStore = new ChannelStore(database);
  const onRest = makeRestNotices({ database, notifier, clock, log });
  const channels = new ChannelService({ store: channelStore, vault, clock, log, onRest, sandbox: config.sandbox });

  const mailbox = await makeMailbox({
    config,
    database,
    accounts: accounts.people,
    matchesAccountPassword: accounts.passwords.verify,
    audit: accounts.audit,
    vault,
    limits,
    outbound,
    clock,
    log,
    startSandboxMail: config.mailBackend === 'sandbox' ? (await loadSandbox()).startSandboxMail : undefined,
  });

  const deviceAuth = makeDeviceAuth({ config, database, clock, log, limits, notifier, accounts });

  const support = makeSupport({
    database,
    clock,
    audit: accounts.audit,
    standing: accounts.standing,
    notifier,
    limits,
    // Made below, with its routes.
    ownsTask: async (userId, taskId) => (await video.store.ofUser(taskId, userId)) !== undefined,
  });

  const http = await makeHttp({
    log,
    authenticator: accounts.authenticator,
    defaultLocale: config.defaultLocale,
    hosts: [new URL(config.baseUrl).hostname.toLowerCase()],
    addressOf: makeAddressOf(config.trustProxy),
    onAnswer: metrics.answered,
  });
  const { routes } = http;
  const cookies = makeSessionCookies({
    secure: config.baseUrl.startsWith('https:'),
    sessionSeconds: SESSION_MS / 1000,
    pendingSeconds: PENDING_MS / 1000,
  });
  renewSessionCookies(http.fastify, cookies);
  addAccountRoutes(routes, { accounts, cookies });
  addMailboxRoutes(routes, mailbox);
  const usage = new UsageStore(database);
  addDeviceAuthRoutes(routes, { deviceAuth, accounts, cookies, clock, masterKey, baseUrl: config.baseUrl });
  addNotificationRoutes(routes, {
    notifications,
    authenticator: accounts.authenticator,
    countPending: support.countPending,
  });
  addAnnouncementRoutes(routes, notifications.announcements);
  addPackageRoutes(routes, packages);
  addPackageAdminRoutes(routes, packages);
  addSupportRoutes(routes, support);
  addSupportAdminRoutes(routes, support);
  const video = makeVideo(routes, {
    database,
    quota,
    allowances,
    channels,
    vendors,
    money: usage,
    notifier,
    outbound,
    clock,
    log,
    masterKey,
    baseUrl: config.baseUrl,
    newTaskId: taskId,
    syncPeriodMs: config.syncPeriodSeconds * 1000,
    ambiguousTtlMs: config.ambiguousSubmitTtlSeconds * 1000,
    taskTimeoutMs: config.taskTimeoutHours * 3600_000,
    // Callers are answered within the grace; a submit cut off before would be one nobody knows the end of.
    stopping: cutting.signal,
    at: overrides.at ?? (() => {}),
  });
  const chat = makeChat(http, {
    config,
    database,
    quota,
    channels,
    outbound,
    authenticator: accounts.authenticator,
    clock,
    log,
    calls: video.calls,
    priceOf,
    stopping: stopping.signal,
  });
  addQuotaRoutes(routes, { database, usage, clock, tasks: video.adminStore });
  addChannelRoutes(routes, {
    channels,
    store: channelStore,
    vault,
    clock,
    audit: accounts.audit,
    vendors,
    allowances,
    video,
  });
  addServiceRoutes(routes, { config, version: VERSION, metrics, ready: () => isReady(database, stopping.signal) });
  addReferenceRoutes(routes, { version: VERSION, baseUrl: config.baseUrl, userHeader: config.apiUserHeader });

  await addConsoleRoutes(http.fastify, routes);

  let sweeper: NodeJS.Timeout | undefined;
  let metricsServer: Server | undefined;
  let sandbox: OpenSandbox | undefined;
  const sweep = async (): Promise<void> => {
    const modelCalls = { prefix: 'req_', olderThanMs: chat.longestCallMs };
    await Promise.all([
      video.sweep(),
      accounts.sweep(),
      deviceAuth.sweep(),
      packages.plans.sweep(),
      refundAbandoned({ database, store: quotaStore, quota, clock }, modelCalls),
    ]);
  };
  return {
    http,
    database,
    log,
    notifications,
    baseUrl: config.baseUrl,
    sweep,
    async listen() {
      if (config.metricsPort !== undefined)
        metricsServer = await openMetricsPort(config.host, config.metricsPort, metrics);
      await accounts.start((line) => process.stderr.write(`${line}\n`));
      const seeds: SeedModel[] = [...vendors.seeds, ...CHAT_SEEDS];
      if (config.sandbox) {
        sandbox = await openSandbox();
        seeds.push(...sandbox.seeds);
      }
      await seedModels(channelStore, clock, seeds);
      if (sandbox !== undefined)
        await ensureSandboxChannels({ store: channelStore, vault, clock }, sandbox.channels(seeds));
      const address = await http.listen(config.host, config.port);
      video.synchronizer.start();
      mailbox.start();
      sweeper = setInterval(() => {
        sweep().catch((error: unknown) => log.error({ err: error }, 'a sweep failed'));
      }, SWEEP_MS);
      log.info(
        {
          version: VERSION,
          address: address.address,
          port: address.port,
          baseUrl: config.baseUrl,
          sandbox: config.sandbox,
        },
        'listening',
      );
      return address;
    },
    async close(graceMs = 30_000) {
      stopping.abort();
      clearInterval(sweeper);
      metricsServer?.close();
      notifications.close();
      await http.close(graceMs);
      cutting.abort();
      await chat.close();
      await video.synchronizer.stop();
      await mailbox.stop();
      await deviceAuth.close();
      await accounts.close();
      await outbound.close(graceMs);
      await channels.flush();
      await limits.close();
      await sandbox?.stop();
      databaseClock.stop();
      await signals.close();
      await database.close();
    },
  };
}

interface OpenSandbox {
  /** Models of the simulators that no adapter brings along. */
  readonly seeds: readonly SeedModel[];
  channels(models: readonly SeedModel[]): SandboxChannel[];
  stop(): Promise<void>;
}

/** The code of the simulators is loaded here alone, and only with SANDBOX=1 or MAIL_BACKEND=sandbox. */
const loadSandbox = () => import('../sandbox/people.ts');

async function openSandbox(): Promise<OpenSandbox> {
  const { OPENAI_SANDBOX_MODELS, startPeopleSandbox } = await loadSandbox();
  const { doors, url, credentials, stop } = await startPeopleSandbox();
  return {
    // A second simulator of one vendor is named after it: `veo-vertex`.
    channels: (models) =>
      doors.map(({ name, serves }) => {
        const vendor = (name.split('-')[0] ?? name) as ChannelVendor;
        const own = models.filter((model) => model.vendor === vendor).map(({ id }) => id);
        return { vendor, name, baseUrl: url(name), credentials: credentials(name), models: own.filter(serves) };
      }),
    seeds: OPENAI_SANDBOX_MODELS.map((model) => ({ ...model, vendor: 'openai' }) as const),
    stop,
  };
}

async function isReady(database: Database<Tables>, stopping: AbortSignal): Promise<boolean> {
  if (stopping.aborted) return false;
  return database.ping().then(
    () => true,
    () => false,
  );
}
