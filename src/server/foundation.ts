import type { Kysely } from 'kysely';
import type { DestinationStream } from 'pino';
import { openServiceDatabase } from './open-service-database.ts';
import type { Clock } from './platform/clock.ts';
import type { Config } from './platform/config.ts';
import { type Database, openDatabaseClock } from './platform/db/database.ts';
import { openPubSub, type PubSub } from './platform/db/pub-sub.ts';
import { hasConcurrentWriters } from './platform/db/sql.ts';
import { CounterSnapshots } from './platform/limits/postgres-counters.ts';
import { createRateLimits, type RateLimits } from './platform/limits/rate-limits.ts';
import type { RateLimitTables } from './platform/limits/tables.ts';
import { type Log, openLog } from './platform/log.ts';
import { createMetrics, type Metrics } from './platform/metrics.ts';
import { openOutbound } from './platform/outbound/client.ts';
import type { OutboundClient } from './platform/outbound/outbound.ts';
import { startTracing } from './platform/tracing/start-tracing.ts';
import type { Tracing } from './platform/tracing/tracing.ts';
import { createVault, type Vault } from './platform/vault.ts';
import { Readiness } from './readiness.ts';
import type { Tables } from './tables.ts';
import { ERROR_REASONS } from './upstreams/vendor-errors.ts';
import { VERSION } from './version.ts';

/** The mechanisms every capability depends on. */
export interface Foundation {
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
  /** Previous keys, which decrypt what was encrypted before the key was changed. */
  readonly previousMasterKeys: readonly Buffer[];
  readonly vault: Vault;
  readonly readiness: Readiness;
  /** Aborted when the grace period of a shutdown has passed. */
  readonly forcedStop: AbortController;
  /** @param graceMs for pending requests to upstreams */
  close(graceMs: number): Promise<void>;
}

/** Replacements for real components; used by tests. */
export interface FoundationOverrides {
  readonly clock?: Clock;
  readonly log?: Log;
  /** Where the lines go in place of standard output. */
  readonly logDestination?: DestinationStream;
  /** Closed with the service. */
  readonly outbound?: OutboundClient;
}

/**
 * Opens the database with its schema up to date, and what does not depend on any capability.
 *
 * @throws ConfigError when the database was written with another master key; nothing is changed then, the schema included
 */
export async function openFoundation(config: Config, overrides: FoundationOverrides): Promise<Foundation> {
  const origin = { instance: config.instanceName, version: VERSION };
  const log = overrides.log ?? openLog(config.logLevel, overrides.logDestination, origin);
  const metrics = createMetrics(VERSION, ['ok', 'unreachable', ...ERROR_REASONS]);
  const { database, masterKey, previousKeys, release } = await openServiceDatabase(config, log, metrics.recordQuery);
  const databaseClock = await openDatabaseClock(database);
  const clock = overrides.clock ?? databaseClock;
  const tracing = await startTracing(config, origin);
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

/** Counters shared by all processes where there may be several, else those of this process, saved over restarts. */
async function openRateLimits(
  { valkeyUrl }: Config,
  database: Database<Tables>,
  clock: Clock,
  log: Log,
): Promise<RateLimits> {
  // A store of some tables of a database; Kysely's type has them all.
  const kysely = database.kysely as unknown as Kysely<RateLimitTables>;
  if (hasConcurrentWriters(database.kysely)) return createRateLimits({ valkeyUrl, sharedDatabase: kysely, clock, log });
  const snapshots = valkeyUrl === undefined ? await CounterSnapshots.open(kysely, clock, log) : undefined;
  return createRateLimits({ valkeyUrl, snapshots, clock, log });
}
