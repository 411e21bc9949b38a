import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe } from 'node:test';
import type { Database, DatabaseOptions } from '../src/server/platform/db/database.ts';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import type { DialectName } from '../src/server/platform/db/sql.ts';
import type { Tables } from '../src/server/tables.ts';
import { administer, copyPostgresTemplate, copySqliteTemplate, dropOwnTemplates } from './database-templates.ts';
import { findPostgres, type PostgresServer, startPostgres } from './start-postgres.ts';

/** Opens a new, migrated database for exclusive use, which is closed and removed after the suite. */
export type OpenFresh = (options?: DatabaseOptions) => Promise<Database<Tables>>;
/** The URL of a new database with the schema and no rows, for a test that opens it itself or starts a server on it. */
export type FreshUrl = () => Promise<string>;
type Suite = (name: DialectName, open: OpenFresh, freshUrl: FreshUrl, emptyUrl: FreshUrl) => void;

/**
 * Declares the same suite for SQLite and for PostgreSQL.
 *
 * Uses the PostgreSQL server named by `TEST_POSTGRES_URL`, otherwise one started for this process. Without PostgreSQL
 * the suite is skipped with the reason, except under `CI`, where it fails.
 * `emptyUrl`: a new database without any table.
 * `TEST_DATABASE=sqlite` or `postgres` skips the other one: `npm run hammer` runs both in parallel, in a process each.
 */
export function forEachDatabase(suite: Suite): void {
  const only = process.env.TEST_DATABASE;
  if (only !== 'postgres') declareOn.sqlite(suite);
  if (only !== 'sqlite') declareOn.postgres(suite);
}

const declareOn: Readonly<Record<DialectName, (suite: Suite) => void>> = {
  sqlite: (suite) => void describe('on sqlite', () => declare('sqlite', freshSqlite, suite)),
  postgres(suite) {
    const absent = !process.env.TEST_POSTGRES_URL && !process.env.CI && !findPostgres();
    const skip = absent ? 'PostgreSQL is not installed and TEST_POSTGRES_URL is not set' : false;
    void describe('on postgres', { skip }, () => declare('postgres', freshPostgres, suite));
  },
};

/**
 * Declares the suite for one database only: for tests of a wire form, a client or a program, because the stores behind
 * them have tests on both. `TEST_DATABASE` names the other one, as `npm run hammer` does for both in parallel.
 */
export function forOneDatabase(suite: Suite, preferred: DialectName = 'sqlite'): void {
  const name = (process.env.TEST_DATABASE as DialectName | undefined) ?? preferred;
  declareOn[name](suite);
}

interface Fresh {
  readonly url: string;
  remove(): Promise<void>;
}
type CreateFresh = (options: { readonly hasSchema: boolean }) => Promise<Fresh>;

function declare(name: DialectName, create: CreateFresh, suite: Suite): void {
  const undo: (() => Promise<void>)[] = [];
  const urlOf = async (hasSchema: boolean) => {
    const { url, remove } = await create({ hasSchema });
    undo.push(remove);
    return url;
  };
  const open = async (options?: DatabaseOptions) => {
    const database = openDatabase<Tables>(await urlOf(true), options);
    undo.push(() => database.close());
    return database;
  };
  suite(
    name,
    open,
    () => urlOf(true),
    () => urlOf(false),
  );
  after(async () => {
    for (const action of undo.reverse()) await action();
  });
}

async function freshSqlite({ hasSchema }: { readonly hasSchema: boolean }): Promise<Fresh> {
  const folder = mkdtempSync(join(tmpdir(), 'rg-sqlite-'));
  const path = join(folder, 'test.db');
  if (hasSchema) await copySqliteTemplate(path);
  return { url: `sqlite:${path}`, remove: async () => rmSync(folder, { recursive: true, force: true }) };
}

async function freshPostgres({ hasSchema }: { readonly hasSchema: boolean }): Promise<Fresh> {
  const server = await postgresUrl();
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  if (hasSchema) await copyPostgresTemplate(server, name);
  else await administer(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, remove: () => administer(server, `drop database if exists ${name} with (force)`) };
}

let own: Promise<PostgresServer> | undefined;

async function postgresUrl(): Promise<string> {
  const shared = process.env.TEST_POSTGRES_URL;
  if (shared) return shared;
  own ??= startPostgres();
  return (await own).url;
}

after(async () => {
  if (own === undefined) await dropOwnTemplates();
  else await (await own).stop();
});
