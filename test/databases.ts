import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe } from 'node:test';
import { Client } from 'pg';
import { migrations } from '../src/server/migrations.ts';
import type { Database, DatabaseOptions } from '../src/server/platform/db/database.ts';
import type { DialectName } from '../src/server/platform/db/dialect.ts';
import { migrate } from '../src/server/platform/db/migrate.ts';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import type { Tables } from '../src/server/tables.ts';
import { findPostgres, type PostgresServer, startPostgres } from './postgres.ts';

/** Opens a new, migrated database that nobody else uses. Closed and removed after the suite. */
export type OpenFresh = (options?: DatabaseOptions) => Promise<Database<Tables>>;
/** The url of a new database without any table, for a test that opens it itself or starts a server on it. */
export type FreshUrl = () => Promise<string>;

/**
 * Declares the same suite for SQLite and for PostgreSQL.
 *
 * PostgreSQL is the server named by `TEST_POSTGRES_URL`, else one started for this process. Where it is not installed the
 * suite is skipped with the reason, except under `CI`, where it fails.
 */
export function forEachDatabase(suite: (name: DialectName, open: OpenFresh, freshUrl: FreshUrl) => void): void {
  describe('on sqlite', () => declare('sqlite', freshSqlite, suite));
  const absent = !process.env.TEST_POSTGRES_URL && !process.env.CI && !findPostgres();
  const skip = absent ? 'PostgreSQL is not installed and TEST_POSTGRES_URL is not set' : false;
  describe('on postgres', { skip }, () => declare('postgres', freshPostgres, suite));
}

interface Fresh {
  readonly url: string;
  remove(): Promise<void>;
}

function declare(
  name: DialectName,
  fresh: () => Promise<Fresh>,
  suite: (name: DialectName, open: OpenFresh, freshUrl: FreshUrl) => void,
): void {
  const undo: (() => Promise<void>)[] = [];
  const freshUrl = async () => {
    const { url, remove } = await fresh();
    undo.push(remove);
    return url;
  };
  const open = async (options?: DatabaseOptions) => {
    const database = openDatabase<Tables>(await freshUrl(), options);
    undo.push(() => database.close());
    await migrate(database, migrations);
    return database;
  };
  suite(name, open, freshUrl);
  after(async () => {
    for (const action of undo.reverse()) await action();
  });
}

async function freshSqlite(): Promise<Fresh> {
  const folder = mkdtempSync(join(tmpdir(), 'rg-sqlite-'));
  return {
    url: `sqlite:${join(folder, 'test.db')}`,
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function freshPostgres(): Promise<Fresh> {
  const server = await postgresUrl();
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await administer(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, remove: () => administer(server, `drop database if exists ${name} with (force)`) };
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

let own: Promise<PostgresServer> | undefined;

async function postgresUrl(): Promise<string> {
  const shared = process.env.TEST_POSTGRES_URL;
  if (shared) return shared;
  own ??= startPostgres();
  return (await own).url;
}

after(async () => {
  await (await own)?.stop();
});
