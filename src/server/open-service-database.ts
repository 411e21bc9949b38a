import { migrations } from './migrations.ts';
import type { Config } from './platform/config.ts';
import type { Database } from './platform/db/database.ts';
import { metaMigrations, migrate } from './platform/db/migrate.ts';
import {
  acquireSingleSandboxLock,
  assertSchemaFits,
  lockSqliteFile,
  openDatabase,
} from './platform/db/open-database.ts';
import type { Log } from './platform/log.ts';
import { assertMasterKey, hasMasterKey, openMasterKeys } from './platform/master-key.ts';
import { naming } from './platform/path-checks.ts';
import type { Tables } from './tables.ts';

export interface ServiceDatabase {
  readonly database: Database<Tables>;
  readonly masterKey: Buffer;
  readonly previousKeys: readonly Buffer[];
  /** Lets another process have what this one had alone; after the database is closed. */
  release(): Promise<void>;
}

/**
 * Opens the database of the service with its schema up to date.
 *
 * @throws ConfigError when the database was written with another master key, or its key is missing; nothing is changed then
 * @throws AlreadyServedError when another process serves this SQLite file
 * @throws SchemaMismatchError when a newer release has changed the schema in a way this one cannot work with
 */
export async function openServiceDatabase(
  config: Config,
  log: Log,
  onQuery: (seconds: number) => void,
): Promise<ServiceDatabase> {
  const { databaseUrl, databaseDirectUrl, databasePool: poolMax } = config;
  const isSqlite = databaseUrl.startsWith('sqlite:');
  const path = databaseUrl.slice('sqlite:'.length);
  const unlock = isSqlite ? naming('DATABASE_URL', path, () => lockSqliteFile(path)) : () => {};
  const opened: { close(): Promise<void> }[] = [{ close: async () => unlock() }];
  try {
    const isPooled = databaseDirectUrl !== undefined;
    const database = openDatabase<Tables>(databaseUrl, { log, poolMax, isPooled, onQuery });
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

/** A connection to the server itself, on which a step of a migration may take its time. */
async function withSchemaDatabase<R>(url: string, work: (database: Database<Tables>) => Promise<R>): Promise<R> {
  const database = openDatabase<Tables>(url, { poolMax: 1, statementTimeoutMs: 0 });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
