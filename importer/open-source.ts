import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import type * as mysql from 'mysql2/promise';
import { loadPg, PostgresHosts } from '../src/server/platform/db/postgres.ts';
import { findUnencodedPassword } from '../src/server/platform/setting-readers.ts';
import { openSourceDatabase, type SourceDatabase, type SourceRow } from './source.ts';

/**
 * Opens another program's database read-only, as one consistent snapshot.
 *
 * @param url `sqlite:PATH`, `postgres://…` or `mysql://…`
 * @throws Error naming the database that cannot be opened and the reason, without the password in the URL
 */
export async function openSource(url: string): Promise<SourceDatabase> {
  if (url.startsWith('sqlite:')) return openSqliteSource(url.slice('sqlite:'.length));
  const open = /^postgres(ql)?:\/\//.test(url)
    ? openPostgresSource
    : /^(mysql|mariadb):\/\//.test(url)
      ? openMysqlSource
      : undefined;
  if (open === undefined || URL.parse(url) === null)
    throw new Error(
      'The source is named sqlite:PATH, postgres://USER:PASSWORD@HOST/NAME or mysql://USER:PASSWORD@HOST/NAME.',
    );
  // Not with the URL, whose host would be a part of the password.
  if (findUnencodedPassword(url) !== undefined)
    throw new Error('Encode the password in the address of the source: write %23, %2F or %3F for #, / or ? in it.');
  try {
    return await open(url);
  } catch (error) {
    throw new Error(`${describeUrl(url)} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The URL without its password and query. */
export function describeUrl(url: string): string {
  const parsed = URL.parse(url);
  return url.startsWith('sqlite:') || parsed === null ? url : `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}

const load = createRequire(import.meta.url);

/** Values of `tls` in a URL, as in the SQL_DSN of both programs. */
const MYSQL_TLS: ReadonlyMap<string, mysql.ConnectionOptions> = new Map([
  ['true', { ssl: {} }],
  ['skip-verify', { ssl: { rejectUnauthorized: false } }],
  ['preferred', {}],
  ['false', {}],
]);

/** Connects, with TLS if the URL or the server asks for it, as clouds such as TiDB's and Azure do. */
async function connectToMysql(
  url: string,
  tls = new URL(url).searchParams.get('tls') ?? 'preferred',
): Promise<mysql.Connection> {
  const encryption = MYSQL_TLS.get(tls);
  if (encryption === undefined) throw new Error(`tls must be one of ${[...MYSQL_TLS.keys()].join(', ')}`);
  // Loaded on first use, because a service never needs the driver.
  const { createConnection } = load('mysql2/promise') as typeof mysql;
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const socketPath = searchParams.get('socket');
  return createConnection({
    ...(socketPath === null ? { host: hostname, port: Number(port || '3306') } : { socketPath }),
    ...encryption,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    charset: 'utf8mb4',
    connectTimeout: 10_000,
    // Returns values as the server writes them, without rounding numbers or guessing time zones.
    typeCast: (field) => field.string('utf8'),
  }).catch((error: Error) => {
    if (tls !== 'preferred' || !/insecure transport/i.test(error.message)) throw error;
    return connectToMysql(url, 'true');
  });
}

/** Opens MySQL, MariaDB or TiDB. @throws Error of the server or the connection */
async function openMysqlSource(url: string): Promise<SourceDatabase> {
  const connection = await connectToMysql(url);
  connection.on('error', () => {});
  await connection.query('set session transaction isolation level repeatable read');
  const begin = 'start transaction with consistent snapshot, read only';
  await connection.query(begin).catch(async (error: NodeJS.ErrnoException) => {
    // TiDB knows no more than one characteristic.
    if (error.code !== 'ER_PARSE_ERROR') throw error;
    await connection.query('start transaction with consistent snapshot');
  });
  const run = async (text: string, parameters: readonly (string | bigint)[]): Promise<SourceRow[]> => {
    const [rows] = await connection.query(text, parameters.map(String));
    return rows as SourceRow[];
  };
  return openSourceDatabase({
    engine: 'mysql',
    quote: (name) => `\`${name}\``,
    columns: async () =>
      (
        await run(
          `select table_name as t, column_name as c from information_schema.columns
           where table_schema = database() order by table_name, ordinal_position`,
          [],
        )
      ).map(({ t, c }) => [t ?? '', c ?? ''] as const),
    run,
    close: () => connection.end(),
  });
}

/** Type ids of PostgreSQL's catalogue (pg_type.dat). */
const BOOLEAN = 16;

/** @throws Error of the server or the connection */
async function openPostgresSource(url: string): Promise<SourceDatabase> {
  const { Client } = loadPg();
  const client = new Client({
    ...new PostgresHosts(url).clientConfig(),
    application_name: 'reelgate import',
    connectionTimeoutMillis: 10_000,
    types: {
      // Returns values as PostgreSQL writes them.
      getTypeParser: ((id: number) => (text: string | Buffer) => toText(id, String(text))) as never,
    },
  });
  client.on('error', () => {});
  await client.connect();
  await client.query('set statement_timeout = 0; begin isolation level repeatable read read only');
  const run = async (text: string, parameters: readonly (string | bigint)[]): Promise<SourceRow[]> => {
    let place = 0;
    const numbered = text.replaceAll('?', () => `$${++place}`);
    return (await client.query<SourceRow>(numbered, parameters.map(String))).rows;
  };
  return openSourceDatabase({
    engine: 'postgres',
    quote: (name) => `"${name}"`,
    columns: async () =>
      (
        await run(
          `select table_name as t, column_name as c from information_schema.columns
           where table_schema = current_schema() order by table_name, ordinal_position`,
          [],
        )
      ).map(({ t, c }) => [t ?? '', c ?? ''] as const),
    run,
    close: () => client.end(),
  });
}

const toText = (type: number, text: string): string => (type === BOOLEAN ? (text === 't' ? '1' : '0') : text);

/** @throws Error if the file does not exist or is not a database */
export async function openSqliteSource(path: string): Promise<SourceDatabase> {
  if (!existsSync(path)) throw new Error(`There is no database at ${path}.`);
  const database = new DatabaseSync(path, { readOnly: true, timeout: 10_000 });
  const run = (text: string, parameters: readonly (string | bigint)[]): SourceRow[] => {
    const statement = database.prepare(text);
    statement.setReadBigInts(true);
    return statement.all(...parameters).map(toSourceRow);
  };
  // All reads of one transaction see the state of the first read.
  database.exec('begin');
  return openSourceDatabase({
    engine: 'sqlite',
    quote: (name) => `"${name}"`,
    columns: async () =>
      run(
        `select m.name as t, c.name as c from sqlite_master m, pragma_table_info(m.name) c
         where m.type = 'table' and m.name not like 'sqlite%' order by m.name, c.cid`,
        [],
      ).map(({ t, c }) => [t ?? '', c ?? ''] as const),
    run: async (text, parameters) => run(text, parameters),
    close: async () => database.close(),
  });
}

const toSourceRow = (row: Record<string, SQLOutputValue>): SourceRow =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, toSqliteText(value)]));

function toSqliteText(value: SQLOutputValue): string | null {
  if (value === null) return null;
  return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : String(value);
}
