import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { AuditStore } from './accounts/audit-log.ts';
import { resolveArtifactsDirectory } from './artifacts/create-storage.ts';
import { LineCalls } from './batches/routes.ts';
import { ensureSandboxChannels, type SeedModel, seedModels } from './channels/seeds.ts';
import { journalDirectory } from './chat/settlement-journal.ts';
import type { Events } from './event-log/event-log.ts';
import { type Foundation, type FoundationOverrides, openFoundation } from './foundation.ts';
import { addComingPartitionsJob, makeRetentionRules, removeEnded } from './jobs.ts';
import type { Mail } from './mail/mail-queue.ts';
import { type ModuleOverrides, type Modules, makeModules } from './modules.ts';
import type { Notifications } from './notifications/module.ts';
import type { Config } from './platform/config.ts';
import type { Database } from './platform/db/database.ts';
import type { MetaTables } from './platform/db/migrate.ts';
import type { HttpServer } from './platform/http/server.ts';
import { startMetricsServer } from './platform/http/service-routes.ts';
import type { Log } from './platform/log.ts';
import { assertDatabaseFile, assertDirectory, makeDirectory } from './platform/path-checks.ts';
import { retentionJob, ScheduledJobs } from './platform/scheduled-jobs.ts';
import { makeHttpServer, type RouteOverrides, registerRoutes } from './routes.ts';
import { type RunningSandbox, startAppSandbox } from './sandbox-loader.ts';
import { makeSite } from './site-settings/settings.ts';
import type { Tables } from './tables.ts';
import type { Webhooks } from './webhooks/module.ts';

/** Replacements for real components, for tests. */
export interface AppOverrides extends FoundationOverrides, ModuleOverrides, RouteOverrides {}

/** The assembled service. */
export interface App {
  readonly http: HttpServer;
  readonly database: Database<Tables>;
  readonly log: Log;
  /** For tests, which send notices like other modules do. */
  readonly notifications: Notifications;
  /** For tests, which flush due mail immediately. */
  readonly mail: Mail;
  /** For tests and benchmarks, which report events like other modules do. */
  readonly events: Pick<Events, 'eventLog'>;
  /** For tests, which change the clock. */
  readonly webhooks: Pick<Webhooks, 'wake'>;
  /** The public base URL. */
  readonly baseUrl: string;
  /** Ends and removes whatever has expired; run every minute while listening. */
  runMaintenance(): Promise<void>;
  /** Runs the due jobs that only one process at a time runs; called at intervals while listening. */
  runDueJobs(): Promise<void>;
  /**
   * Starts listening and the background work.
   * @returns the address it listens on
   */
  listen(): Promise<AddressInfo>;
  /**
   * Reports at `/readyz` that it is draining and keeps serving for `drainMs` (default 0), so that load balancers send
   * requests elsewhere. Then closes the port, finishes pending work within `graceMs` (default 30 000) and closes
   * everything it opened.
   */
  close(graceMs?: number, drainMs?: number): Promise<void>;
}

const MAINTENANCE_INTERVAL_MS = 60_000;
/** Grace period for requests in flight after the port is closed. */
export const GRACE_MS = 30_000;
/** At this point no request waits for an upstream; only notices such as job cancellations may be in flight. */
const OUTBOUND_GRACE_MS = 1_000;

/** Constructs the service. Listening and background work start with `listen`. */
export async function makeApp(config: Config, overrides: AppOverrides = {}): Promise<App> {
  assertPaths(config);
  const opened = await openFoundation(config, overrides);
  const site = await makeSite({ ...opened, auditLog: new AuditStore(opened.database, opened.clock) });
  const foundation: Foundation = { ...opened, settings: site.live };
  const modules = await makeModules(foundation, overrides);
  const lineCalls = new LineCalls((payer) => modules.accounts.authenticator.callerOf(payer));
  const http = await makeHttpServer(foundation, modules, lineCalls, overrides);
  const { video, chat, batches } = await registerRoutes(http, foundation, modules, site, overrides, lineCalls);
  const {
    accounts,
    deviceAccess,
    quota,
    mail,
    events,
    webhooks,
    artifacts,
    mailbox,
    channels,
    notifications,
    requests,
  } = modules;
  const { log, database, metrics } = foundation;

  let maintenanceTimer: NodeJS.Timeout | undefined;
  let metricsServer: Server | undefined;
  let sandbox: RunningSandbox | undefined;
  const runMaintenance = (): Promise<void> => removeEnded(modules, video, chat);
  const jobs = new ScheduledJobs({
    // Kysely's type contains all tables, not just these.
    database: database as unknown as Database<MetaTables>,
    clock: foundation.clock,
    log,
    jobs: [
      quota.audit.job,
      addComingPartitionsJob(foundation),
      retentionJob(makeRetentionRules(foundation), foundation.clock, log, database),
      ...artifacts.jobs,
      modules.files.job,
      ...video.jobs,
      ...batches.jobs,
    ],
  });
  return {
    http,
    database,
    log,
    notifications,
    mail,
    events,
    webhooks,
    baseUrl: config.baseUrl,
    runMaintenance,
    runDueJobs: () => jobs.runDue(),
    async listen() {
      if (config.metricsPort !== undefined)
        metricsServer = await startMetricsServer(config, config.metricsPort, metrics);
      await accounts.createFirstAdministrator((line) => process.stderr.write(`${line}\n`));
      sandbox = config.sandbox ? await startAppSandbox() : undefined;
      await seedChannels(foundation, modules, sandbox);
      chat.recover().catch((error: unknown) => log.error({ err: error }, 'settlements could not be recovered'));
      modules.transfers
        .continueRunning()
        .catch((error: unknown) => log.error({ err: error }, 'transfers could not be continued'));
      const address = await http.listen(config.host, config.port);
      video.start();
      batches.runner.start();
      mailbox.start();
      mail.queue.start();
      await webhooks.start();
      artifacts.start(video.sources);
      modules.operations.monitor.start();
      jobs.start();
      maintenanceTimer = setInterval(() => {
        runMaintenance().catch((error: unknown) => log.error({ err: error }, 'maintenance failed'));
      }, MAINTENANCE_INTERVAL_MS);
      const { baseUrl, sandbox: isSandbox } = config;
      const facts = { address: address.address, port: address.port, baseUrl, sandbox: isSandbox };
      log.info(facts, 'listening');
      return address;
    },
    async close(graceMs = GRACE_MS, drainMs = 0) {
      foundation.readiness.drain();
      http.drain();
      if (drainMs > 0) await delay(drainMs);
      clearInterval(maintenanceTimer);
      // Beside the port: a job or a line of a batch may wait for a vendor for as long as a request.
      const ended = Promise.all([jobs.stop(), modules.operations.monitor.stop()]);
      const linesEnded = batches.runner.stop(graceMs);
      metricsServer?.close();
      // Only now: clients that reconnect should find this process removed from load balancing.
      notifications.close();
      requests.liveViews.close();
      video.services.follower.close();
      await http.close(graceMs, linesEnded);
      foundation.forcedStop.abort();
      await chat.close();
      await requests.log.flush();
      await video.stop();
      await mailbox.stop();
      await mail.queue.stop();
      await webhooks.stop();
      await artifacts.stop();
      await deviceAccess.close();
      await accounts.close();
      await channels.flush();
      await sandbox?.stop();
      site.settings.close();
      await ended;
      await foundation.close(Math.min(graceMs, OUTBOUND_GRACE_MS));
    },
  };
}

/**
 * Checks the configured paths; the database has checked its own before.
 * @throws ConfigError naming the setting whose path is unusable
 */
function assertPaths(config: Config): void {
  const { databaseUrl, journalDir } = config;
  if (databaseUrl.startsWith('sqlite:')) assertDatabaseFile(databaseUrl.slice('sqlite:'.length));
  const artifacts = resolveArtifactsDirectory(config);
  if (artifacts !== undefined) makeDirectory('ARTIFACTS_DIR', artifacts);
  const journal = journalDirectory(databaseUrl, journalDir);
  if (journal !== undefined) assertDirectory('JOURNAL_DIR', journal);
}

/** Creates the models and, in the sandbox, the channels of a first start. */
async function seedChannels(
  { vault, clock }: Foundation,
  { vendors, channelStore }: Modules,
  sandbox: RunningSandbox | undefined,
): Promise<void> {
  const seeds: SeedModel[] = [...vendors.initialModels, ...(sandbox?.seeds ?? [])];
  await seedModels(channelStore, clock, seeds);
  if (sandbox !== undefined)
    await ensureSandboxChannels({ store: channelStore, vault, clock }, sandbox.channels(seeds));
}
