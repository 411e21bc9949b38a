import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { Client } from 'pg';
import type { DialectName } from '../../src/server/platform/db/sql.ts';
import { findPostgres } from '../start-postgres.ts';

/** Databases with data as the last two releases leave them, in a folder per release. */
export const FIXTURES = join(import.meta.dirname, 'releases');
/** Encrypts the rows of a fixture, as in all tests. */
export const FIXTURE_MASTER_KEY = Buffer.alloc(32, 7).toString('base64');
/** First line of a dump: an API key of its administrator. */
const KEY_LINE = /^-- key: (\S+)$/m;

/** A restored database of a release. */
export interface ReleaseFixture {
  readonly version: string;
  /** An API key that exists in the database. */
  readonly key: string;
}

/** Versions whose databases are stored, ending with the last release. */
export const keptReleases = (): string[] =>
  globSync('*', { cwd: FIXTURES })
    .map((path) => basename(path))
    .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }));

const CHANGELOG = join(import.meta.dirname, '../../CHANGELOG.md');

/** The migrations of a released version never change again; later versions add new ones. */
export const isReleased = (version: string): boolean =>
  existsSync(CHANGELOG) && readFileSync(CHANGELOG, 'utf8').includes(`## ${version} (`);

function lastRelease(): string {
  const version = keptReleases().at(-1);
  if (version === undefined) throw new Error(`${FIXTURES} is empty: run "node scripts/save-release-databases.ts"`);
  return version;
}

/** Restores a release's stored database into an empty one; default: the last release's. */
export async function loadFixture(url: string, version = lastRelease()): Promise<ReleaseFixture> {
  const dialect: DialectName = url.startsWith('sqlite:') ? 'sqlite' : 'postgres';
  const text = readFileSync(join(FIXTURES, version, `${dialect}.sql`), 'utf8');
  if (dialect === 'sqlite') {
    const database = new DatabaseSync(url.slice('sqlite:'.length));
    database.exec(`pragma journal_mode = wal; begin; ${text} commit;`);
    database.close();
  } else {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      await client.query(text);
    } finally {
      await client.end();
    }
  }
  return { version, key: KEY_LINE.exec(text)?.[1] ?? '' };
}

/** @returns the SQL that recreates the database */
export const dumpDatabase = (url: string, key: string): string =>
  `-- key: ${key}\n${url.startsWith('sqlite:') ? dumpSqlite(url.slice('sqlite:'.length)) : dumpPostgres(url)}`;

function dumpSqlite(path: string): string {
  const database = new DatabaseSync(path);
  try {
    const lines: string[] = [];
    const schema = database
      .prepare(
        `select type, name, sql from sqlite_schema where sql is not null and name not like 'sqlite_%' order by rowid`,
      )
      .all() as { type: string; name: string; sql: string }[];
    for (const { sql } of schema.filter(({ type }) => type === 'table')) lines.push(`${sql};`);
    for (const { name } of schema.filter(({ type }) => type === 'table')) {
      const rows = database.prepare(`select * from "${name}" order by 1`);
      rows.setReadBigInts(true);
      for (const row of rows.all())
        lines.push(`insert into "${name}" values (${Object.values(row).map(toSqliteLiteral).join(', ')});`);
    }
    // Restores each table's next number; the sequence rows exist by now.
    for (const { name, seq } of database.prepare('select name, seq from sqlite_sequence').all())
      lines.push(`update sqlite_sequence set seq = ${seq} where name = '${name}';`);
    for (const { sql } of schema.filter(({ type }) => type !== 'table')) lines.push(`${sql};`);
    return `${lines.join('\n')}\n`;
  } finally {
    database.close();
  }
}

function toSqliteLiteral(value: SQLOutputValue): string {
  if (value === null) return 'null';
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString('hex')}'`;
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
}

function dumpPostgres(url: string): string {
  const folder = findPostgres() ?? '';
  const program = existsSync(join(folder, 'pg_dump')) ? join(folder, 'pg_dump') : 'pg_dump';
  const text = execFileSync(program, ['--inserts', '--no-owner', '--no-privileges', url], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  // Removes comments, psql commands, and settings that would last as long as the connection.
  return text
    .replace(/^--\n-- .*\n--$/gm, '')
    .replace(/^(?:\\(?:un)?restrict|SET |SELECT pg_catalog\.set_config\('search_path').*$/gm, '')
    .replace(/;\n{2,}/g, ';\n')
    .trimStart();
}
