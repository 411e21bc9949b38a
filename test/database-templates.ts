import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import { getOrCreateEntry } from '../src/server/platform/cache.ts';
import { migrate } from '../src/server/platform/db/migrate.ts';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import { migrations } from '../src/server/tables.ts';

/**
 * Databases with the schema and no rows, created once and copied for each test: creating the schema takes 1 s on
 * PostgreSQL and 0.2 s on SQLite, a copy a tenth of that.
 */

/** Template that `npm test` created for all files; a file that runs alone creates its own. */
const SHARED_SQLITE = process.env.TEST_SQLITE_TEMPLATE;
const SHARED_POSTGRES = process.env.TEST_POSTGRES_TEMPLATE;
export const POSTGRES_TEMPLATE = 'reelgate_template';

async function createSchema(url: string): Promise<void> {
  const database = openDatabase(url);
  await migrate(database, migrations);
  await database.close();
}

/** Creates the SQLite file that tests copy. */
export async function createSqliteTemplate(folder: string): Promise<string> {
  const path = join(folder, 'template.db');
  await createSchema(`sqlite:${path}`);
  return path;
}

/** Creates the PostgreSQL database that tests copy. */
export async function createPostgresTemplate(serverUrl: string, name: string): Promise<void> {
  await administer(serverUrl, `create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await createSchema(url.href);
}

/** Connections by server, since a new one for each statement costs PostgreSQL a third of what creating a copy does. */
const pools = new Map<string, Pool>();

/** Runs one statement on the server's database. Its connection does not keep this process alive. */
export async function administer(serverUrl: string, statement: string): Promise<void> {
  const pool = getOrCreateEntry(pools, serverUrl, () =>
    // A server that stops ends its idle connections.
    new Pool({ connectionString: serverUrl, allowExitOnIdle: true }).on('error', () => {}),
  );
  await pool.query(statement);
}

let ownSqlite: Promise<string> | undefined;

/** Copies the SQLite template to the path. */
export async function copySqliteTemplate(path: string): Promise<void> {
  if (SHARED_SQLITE === undefined && ownSqlite === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'rg-template-'));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    ownSqlite = createSqliteTemplate(folder);
  }
  copyFileSync(SHARED_SQLITE ?? (await ownSqlite) ?? '', path);
}

/** Replaces `sqlite::memory:`, a file that a service creates and deletes, by a copy of the template. */
export async function copyForMemoryUrl(url: string): Promise<{ readonly url: string; remove(): void }> {
  if (url !== 'sqlite::memory:') return { url, remove: () => undefined };
  const folder = mkdtempSync(join(tmpdir(), 'rg-sqlite-'));
  const path = join(folder, 'test.db');
  await copySqliteTemplate(path);
  return { url: `sqlite:${path}`, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

const ownPostgres = new Map<string, Promise<string>>();

/** Creates a database on the server as a copy of the template. */
export async function copyPostgresTemplate(serverUrl: string, name: string): Promise<void> {
  const template = SHARED_POSTGRES ?? (await ownTemplate(serverUrl));
  // Copying files is faster than the default strategy, which also writes every page to the WAL; these servers run
  // without `fsync`.
  await administer(serverUrl, `create database ${name} template ${template} strategy file_copy`);
}

function ownTemplate(serverUrl: string): Promise<string> {
  let made = ownPostgres.get(serverUrl);
  if (made === undefined) {
    const name = `${POSTGRES_TEMPLATE}_${process.pid}`;
    made = createPostgresTemplate(serverUrl, name).then(() => name);
    ownPostgres.set(serverUrl, made);
  }
  return made;
}

/** Drops the templates this process created on servers that outlive it. */
export async function dropOwnTemplates(): Promise<void> {
  for (const [serverUrl, name] of ownPostgres) await administer(serverUrl, `drop database if exists ${await name}`);
  ownPostgres.clear();
}
