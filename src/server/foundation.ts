import type { Kysely } from 'kysely';
import type { DestinationStream } from 'pino';
import type { NotReadyReason } from '../contract/service.ts';
import { VERSION } from './package-root.ts';
import type { Clock } from './platform/clock.ts';
import { SingleFlight, withinTime } from './platform/concurrency.ts';
import type { Config, Live, SiteSettings } from './platform/config.ts';
import { type Database, DiskFullError, openDatabaseClock } from './platform/db/database.ts';
import { metaMigrations, migrate } from './platform/db/migrate.ts';
import {
  acquireSingleSandboxLock,
  assertSchemaFits,
  lockSqliteFile,
  openDatabase,
} from './platform/db/open-database.ts';
import { openPubSub, type PubSub } from './platform/db/pub-sub.ts';
import { hasConcurrentWriters } from './platform/db/sql.ts';
import { CounterSnapshots, type RateLimitTables } from './platform/limits/postgres-counters.ts';
import { createRateLimits, type RateLimits } from './platform/limits/rate-limits.ts';
import { type Log, openLog } from './platform/log.ts';
import { assertMasterKey, hasMasterKey, openMasterKeys } from './platform/master-key.ts';
import { createMetrics, type Metrics } from './platform/metrics.ts';
import { openOutbound } from './platform/outbound/client.ts';
import type { OutboundClient } from './platform/outbound/outbound.ts';
import { naming } from './platform/path-checks.ts';
import { NO_TRACING, type Tracing, type TracingSettings } from './platform/tracing/tracing.ts';
import { createVault, type Vault } from './platform/vault.ts';
import { migrations, type Tables } from './tables.ts';
import { ERROR_REASONS } from './upstreams/upstream.ts';

/** Loads the SDK only if an endpoint is configured: it takes some megabytes and a tenth of a second. */
export async function startTracing(
  settings: TracingSettings,
  process: { readonly instance: string; readonly version: string },
  log?: Log,
): Promise<Tracing> {
  const { otelSdkDisabled, otelExporterOtlpEndpoint: base } = settings;
  const url = settings.otelExporterOtlpTracesEndpoint ?? (base && `${base.replace(/\/$/, '')}/v1/traces`);
  if (otelSdkDisabled || url === undefined) return NO_TRACING;
  const { openOpenTelemetry } = await import('./platform/tracing/open-telemetry.ts');
  return openOpenTelemetry(url, settings, process, (error) =>
    log?.warn(
      { err: error },
      'traces were not received: the collector must accept OTLP over HTTP, usually on port 4318',
    ),
  );
}

/** Mechanisms that every module depends on. */
export interface Foundation extends OpenedFoundation {
  readonly settings: Live<SiteSettings>;
}

/** Mechanisms that exist before the stored settings are read. */
interface OpenedFoundation {
  readonly config: Config;
  readonly log: Log;
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly outbound: OutboundClient;
  readonly rateLimits: RateLimits;
  readonly pubSub: PubSub;
  readonly masterKey: Buffer;
  /** Previous keys, which decrypt data that was encrypted before the key was changed. */
  readonly previousMasterKeys: readonly Buffer[];
  readonly vault: Vault;
  readonly readiness: Readiness;
  /** Aborted at the end of the shutdown's grace period. */
  readonly forcedStop: AbortController;
  /** @param graceMs time for pending requests to upstreams */
  close(graceMs: number): Promise<void>;
}

/** Replacements for real components, for tests. */
export interface FoundationOverrides {
  readonly clock?: Clock;
  readonly log?: Log;
  /** Receives log lines instead of standard output. */
  readonly logDestination?: DestinationStream;
  /** Closed together with the service. */
  readonly outbound?: OutboundClient;
  /** PostgreSQL connections. Default: 10. */
  readonly poolMax?: number;
  /** Ends the process: its SQLite file may lack writes that were never reported. Default: only logged. */
  readonly onDatabaseLost?: () => void;
}

/**
 * PostgreSQL connections per process: enough for some thousand queries a second, and for many processes below
 * `max_connections`.
 */
const POOL_MAX = 10;

/**
 * Opens the database, migrates its schema, and constructs everything that depends on no module.
 * @throws ConfigError when the database was written with another master key; nothing is changed then, not even the
 * schema
 */
export async function openFoundation(config: Config, overrides: FoundationOverrides): Promise<OpenedFoundation> {
  const origin = { instance: config.instanceName, version: VERSION };
  const log = overrides.log ?? openLog(config.logLevel, overrides.logDestination, origin);
  const metrics = createMetrics(VERSION, ['ok', 'unreachable', ...ERROR_REASONS]);
  const { database, masterKey, previousKeys, release } = await openServiceDatabase(
    config,
    log,
    metrics.recordQuery,
    overrides,
  );
  const databaseClock = await openDatabaseClock(database);
  const clock = overrides.clock ?? databaseClock;
  const tracing = await startTracing(config, origin, log);
  const outbound = overrides.outbound ?? openOutbound({ traceparent: tracing.current });
  const rateLimits = await openRateLimits(config, database, clock, log);
  const pubSub = openPubSub(config.databaseDirectUrl ?? config.databaseUrl, log);
  return {
    config,
    log,
    database,
    clock,
    metrics,
    tracing,
    outbound,
    rateLimits,
    pubSub,
    masterKey,
    previousMasterKeys: previousKeys,
    vault: createVault(masterKey, previousKeys),
    readiness: new Readiness(database),
    forcedStop: new AbortController(),
    async close(graceMs) {
      await outbound.close(graceMs);
      await rateLimits.close();
      databaseClock.stop();
      await pubSub.close();
      await database.close();
      await release();
      await tracing.close();
    },
  };
}

/**
 * Counters shared by all processes where several may run; otherwise counters of this process, saved across restarts.
 */
async function openRateLimits(
  { valkeyUrl }: Config,
  database: Database<Tables>,
  clock: Clock,
  log: Log,
): Promise<RateLimits> {
  // A store limited to some tables; Kysely's type contains all tables.
  const kysely = database.kysely as unknown as Kysely<RateLimitTables>;
  if (hasConcurrentWriters(database.kysely)) return createRateLimits({ valkeyUrl, sharedDatabase: kysely, clock, log });
  const snapshots = valkeyUrl === undefined ? await CounterSnapshots.open(kysely, clock, log) : undefined;
  return createRateLimits({ valkeyUrl, snapshots, clock, log });
}

interface ServiceDatabase {
  readonly database: Database<Tables>;
  readonly masterKey: Buffer;
  readonly previousKeys: readonly Buffer[];
  /** Lets another process open the database; called after it is closed. */
  release(): Promise<void>;
}

/**
 * Opens the service's database and migrates its schema.
 * @throws ConfigError when the database was written with another master key, or its key is missing; nothing is changed
 * then
 * @throws AlreadyServedError when another process serves this SQLite file
 * @throws SchemaMismatchError when a newer release has changed the schema in a way this release cannot work with
 */
async function openServiceDatabase(
  config: Config,
  log: Log,
  onQuery: (seconds: number) => void,
  { poolMax = POOL_MAX, onDatabaseLost }: FoundationOverrides,
): Promise<ServiceDatabase> {
  const { databaseUrl, databaseDirectUrl } = config;
  const isSqlite = databaseUrl.startsWith('sqlite:');
  const path = databaseUrl.slice('sqlite:'.length);
  const unlock = isSqlite ? naming('DATABASE_URL', path, () => lockSqliteFile(path)) : () => {};
  const opened: { close(): Promise<void> }[] = [{ close: async () => unlock() }];
  try {
    const isPooled = databaseDirectUrl !== undefined;
    const onLost = (error: Error): void => {
      log.fatal({ err: error }, 'the disk of the database failed to flush writes: stopping, unacknowledged');
      onDatabaseLost?.();
    };
    const database = openDatabase<Tables>(databaseUrl, { log, poolMax, isPooled, onQuery, onLost });
    opened.push(database);
    const keys = isSqlite
      ? await prepareSchema(database, config)
      : await withSchemaDatabase(databaseDirectUrl ?? databaseUrl, (schema) => prepareSchema(schema, config));
    const claim =
      config.sandbox && !isSqlite ? await acquireSingleSandboxLock(databaseDirectUrl ?? databaseUrl, log) : undefined;
    return {
      database,
      masterKey: keys.current,
      previousKeys: keys.previous,
      release: async () => {
        await claim?.release();
        unlock();
      },
    };
  } catch (error) {
    for (const each of opened.reverse()) await each.close();
    throw error;
  }
}

async function prepareSchema(database: Database<Tables>, config: Config) {
  await migrate(database, metaMigrations);
  const keys = openMasterKeys(config, !(await hasMasterKey(database)));
  await assertMasterKey(database, keys.current, keys.previous);
  await migrate(database, migrations);
  await assertSchemaFits(database, migrations);
  return keys;
}

/** Runs work on a direct connection to the database server, where migration steps may take long. */
async function withSchemaDatabase<R>(url: string, work: (database: Database<Tables>) => Promise<R>): Promise<R> {
  const database = openDatabase<Tables>(url, { poolMax: 1, statementTimeoutMs: 0 });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Answers a health check within two seconds, however slow the database is. */
const DEADLINE_MS = 1_500;

/** Tells load balancers whether to send requests to this process. */
class Readiness {
  readonly #database: Pick<Database<unknown>, 'ping'>;
  /** Concurrent checks share one ping, so that they do not pile up in front of an unresponsive database. */
  readonly #pings = new SingleFlight<NotReadyReason | undefined>();
  #draining = false;

  constructor(database: Pick<Database<unknown>, 'ping'>) {
    this.#database = database;
  }

  /** Reports not ready from now on, so that requests go to other processes. */
  drain(): void {
    this.#draining = true;
  }

  /** Why this process is not ready; undefined when it is. Resolves within two seconds. */
  async notReadyReason(): Promise<NotReadyReason | undefined> {
    if (this.#draining) return 'draining';
    return withinTime(
      this.#pings.run('', () => this.#ping()),
      DEADLINE_MS,
      () => 'database' as const,
    );
  }

  #ping(): Promise<NotReadyReason | undefined> {
    return this.#database.ping().then(
      () => undefined,
      (error: unknown) => (error instanceof DiskFullError ? 'disk_full' : 'database'),
    );
  }
}
