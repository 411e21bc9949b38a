import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { loadPg, PostgresHosts } from '../db/postgres.ts';
import type { CellValue, SourceTable, SqliteSource } from './sqlite-backup.ts';

/** A PostgreSQL database for bulk writes: one connection, no statement timeout. */
export class PostgresTarget {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  /** @throws Error naming the unreachable server and the reason */
  static async open(url: string): Promise<PostgresTarget> {
    if (!/^postgres(ql)?:/.test(url))
      throw new Error(`"${url}" is not the URL of a PostgreSQL database (postgres://…).`);
    const { Client: PgClient } = loadPg();
    const hosts = new PostgresHosts(url);
    for (let tries = 1; ; tries++) {
      const client = new PgClient({
        ...hosts.clientConfig(),
        application_name: 'reelgate copy',
        connectionTimeoutMillis: 10_000,
      });
      client.on('error', () => {});
      try {
        await client.connect();
        await hosts.check(client);
        await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0');
        return new PostgresTarget(client);
      } catch (error) {
        await client.end().catch(() => {});
        if (tries === hosts.count)
          throw new Error(`PostgreSQL cannot be reached: ${error instanceof Error ? error.message : String(error)}`);
        hosts.moveOnFrom(hosts.current);
      }
    }
  }

  /** Tables of the current schema with their columns; partitions count as part of their table. */
  async columns(): Promise<ReadonlyMap<string, readonly string[]>> {
    const { rows } = await this.#client.query<{ table_name: string; column_name: string }>(`
      select c.table_name, c.column_name from information_schema.columns c
      join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name
      where c.table_schema = current_schema() and t.table_type = 'BASE TABLE' and not exists (
        select 1 from pg_class where oid = to_regclass(quote_ident(c.table_name)) and relispartition)
      order by c.table_name, c.ordinal_position`);
    const tables = Map.groupBy(rows, (row) => row.table_name);
    return new Map([...tables].map(([name, columns]) => [name, columns.map((column) => column.column_name)]));
  }

  async hasRows(table: string): Promise<boolean> {
    const { rows } = await this.#client.query(`select 1 from ${quote(table)} limit 1`);
    return rows.length > 0;
  }

  async count(table: string): Promise<number> {
    const { rows } = await this.#client.query<{ count: string }>(`select count(*) as count from ${quote(table)}`);
    return Number(rows[0]?.count ?? 0);
  }

  /** Runs the work in a transaction, all or nothing. */
  async transaction(work: () => Promise<void>): Promise<void> {
    await this.#client.query('begin');
    try {
      await work();
      await this.#client.query('commit');
    } catch (error) {
      await this.#client.query('rollback').catch(() => {});
      throw error;
    }
  }

  async empty(table: string): Promise<void> {
    await this.#client.query(`delete from ${quote(table)}`);
  }

  /**
   * Adds rows, given as pieces of COPY's text format; a piece is requested only after the server has accepted the
   * previous one.
   */
  async copyIn(table: string, columns: readonly string[], pieces: Iterable<string>): Promise<void> {
    const stream = this.#client.query(copyFrom(`copy ${quote(table)} (${columns.map(quote).join(', ')}) from stdin`));
    await pipeline(Readable.from(pieces, { objectMode: true, highWaterMark: 1 }), stream);
  }

  /** Numbers the next row of the table above `last`. */
  async setSequence(table: string, last: bigint): Promise<void> {
    await this.#client.query(
      `select setval(pg_get_serial_sequence($1, attname), greatest($2::bigint, 1), $2::bigint > 0)
       from pg_attribute where attrelid = $1::regclass and attidentity <> ''`,
      [quote(table), String(last)],
    );
  }

  async analyze(): Promise<void> {
    await this.#client.query('analyze');
  }

  /** A checksum over all rows of a table, comparable with the `RowDigest` of the source's rows. */
  async digest(table: string, columns: readonly string[], normalize: (line: string) => string): Promise<RowDigest> {
    const digest = new RowDigest();
    const stream = this.#client.query(
      copyTo(`copy (select ${columns.map(quote).join(', ')} from ${quote(table)}) to stdout`),
    );
    let rest = '';
    for await (const chunk of stream.setEncoding('utf8') as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) digest.add(normalize(line));
    }
    return digest;
  }

  /** Columns of type double precision, whose text may differ between PostgreSQL and JavaScript. */
  async doubleColumns(table: string): Promise<ReadonlySet<string>> {
    const { rows } = await this.#client.query<{ column_name: string }>(
      `select column_name from information_schema.columns
       where table_schema = current_schema() and table_name = $1 and data_type = 'double precision'`,
      [table],
    );
    return new Set(rows.map((row) => row.column_name));
  }

  close(): Promise<void> {
    return this.#client.end();
  }
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Characters that COPY's text format must escape (PostgreSQL manual, "COPY", "Text Format"). */
const SPECIAL = /[\\\t\n\r]/g;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/**
 * One value in the text format of PostgreSQL's COPY.
 * @throws Error for text with U+0000, which PostgreSQL cannot store
 */
function toCopyField(value: CellValue): string {
  if (value === null) return '\\N';
  if (typeof value === 'bigint' || typeof value === 'number') return String(value);
  if (typeof value !== 'string') return `\\\\x${Buffer.from(value).toString('hex')}`;
  if (value.includes('\0')) throw new Error('it has a character U+0000, which PostgreSQL cannot store');
  return value.replace(SPECIAL, (character) => ESCAPES[character] ?? character);
}

/** One row in the text format of COPY, without the line end. */
const toCopyLine = (row: readonly CellValue[]): string => row.map(toCopyField).join('\t');

/**
 * A checksum over rows that does not depend on their order: the sum of the first 64 bits of each line's SHA-1. It
 * distinguishes a copy from its original, but does not protect against forged rows.
 */
class RowDigest {
  #sum = 0n;
  #rows = 0;

  add(line: string): void {
    this.#sum = (this.#sum + hash('sha1', line, 'buffer').readBigUInt64BE()) & 0xffff_ffff_ffff_ffffn;
    this.#rows += 1;
  }

  get rows(): number {
    return this.#rows;
  }

  toString(): string {
    return this.#sum.toString(16).padStart(16, '0');
  }
}

/** Characters sent to PostgreSQL at a time; together with pg's buffer, this is the memory a copy needs. */
const PIECE_LENGTH = 256 * 1024;
const PROGRESS_INTERVAL_MS = 250;

/** Progress of a copy. */
export interface CopyProgress {
  readonly table: string;
  readonly rows: number;
  readonly totalRows: number;
  /** Total of all tables so far. */
  readonly characters: number;
}

/** Result for one table. */
export interface CopiedTable {
  readonly table: string;
  readonly rows: number;
}

interface CopyOptions {
  /** Whether to compare each copied row with its original. */
  readonly verify: boolean;
  readonly onProgress: (progress: CopyProgress) => void;
}

/** Tables that contain rows as soon as they are migrated; these are replaced by the source's. */
export const SEEDED_TABLES: readonly string[] = [
  'device_clients',
  'device_client_secrets',
  'catalog_version',
  'plans',
  'schema_migrations',
];

/** @throws Error when the target has a foreign table, or a row that a fresh schema does not have */
export async function assertEmptyTarget(target: PostgresTarget): Promise<void> {
  const tables = await target.columns();
  if (tables.size === 0) return;
  const unused = 'Make a new database for the copy (createdb), or drop this one if nobody needs it.';
  if (!tables.has('schema_migrations'))
    throw new Error(`The target is not empty: it has a table ${[...tables.keys()][0]}. ${unused}`);
  for (const table of tables.keys())
    if (!SEEDED_TABLES.includes(table) && (await target.hasRows(table)))
      throw new Error(`The target is not empty: its table ${table} has rows. ${unused}`);
}

/**
 * Copies every table of a SQLite database into a PostgreSQL database with the same schema, all or nothing, and compares
 * the row counts.
 * @throws Error when the schemas differ, a value cannot be stored, or the copy differs from the source
 */
export async function copyTables(
  source: SqliteSource,
  target: PostgresTarget,
  { verify, onProgress }: CopyOptions,
): Promise<CopiedTable[]> {
  const tables = source.tables();
  assertSameSchema(tables, await target.columns());
  const digests = new Map<string, RowDigest>();
  await target.transaction(async () => {
    const progress = new ProgressReporter(onProgress);
    for (const table of tables) {
      const doubles = verify ? await target.doubleColumns(table.name) : new Set<string>();
      const normalize = lineNormalizer(table.columns, doubles);
      const digest = new RowDigest();
      await target.empty(table.name);
      await target.copyIn(
        table.name,
        table.columns,
        piecesOf(source, table, progress, (line) => {
          if (verify) digest.add(normalize(line));
        }),
      );
      if (table.sequence !== undefined) await target.setSequence(table.name, table.sequence);
      digests.set(table.name, digest);
    }
  });
  await target.analyze();
  const copied: CopiedTable[] = [];
  for (const { name, columns, rowCount } of tables) {
    const rows = await target.count(name);
    if (rows !== rowCount) throw new Error(`The table ${name} has ${rowCount} rows and its copy ${rows}.`);
    if (verify) {
      const normalize = lineNormalizer(columns, await target.doubleColumns(name));
      const copy = await target.digest(name, columns, normalize);
      if (String(copy) !== String(digests.get(name)))
        throw new Error(`The rows of the table ${name} differ from those of its copy.`);
    }
    copied.push({ table: name, rows });
  }
  return copied;
}

/** Checks that both have the same tables with the same columns; their order may differ. */
function assertSameSchema(tables: readonly SourceTable[], target: ReadonlyMap<string, readonly string[]>): void {
  const ours = new Set(tables.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column}`)));
  const theirs = new Set(
    [...target]
      .filter(([name]) => name !== 'schema_migrations')
      .flatMap(([name, columns]) => columns.map((column) => `${name}.${column}`)),
  );
  const missing = [...ours].filter((column) => !theirs.has(column));
  const added = [...theirs].filter((column) => !ours.has(column));
  if (missing.length > 0) throw new Error(`The target has no column ${missing.join(', ')}; nothing was copied.`);
  if (added.length > 0) throw new Error(`The source has no column ${added.join(', ')}; nothing was copied.`);
}

function* piecesOf(
  source: SqliteSource,
  table: SourceTable,
  progress: ProgressReporter,
  onLine: (line: string) => void,
): Generator<string> {
  let piece = '';
  let rows = 0;
  for (const row of source.rows(table)) {
    const line = toLine(table, row);
    onLine(line);
    piece += `${line}\n`;
    rows += 1;
    if (piece.length < PIECE_LENGTH) continue;
    progress.report(table, rows, piece.length);
    yield piece;
    piece = '';
  }
  progress.report(table, rows, piece.length);
  if (piece !== '') yield piece;
}

function toLine(table: SourceTable, row: readonly CellValue[]): string {
  try {
    return toCopyLine(row);
  } catch (error) {
    const at = `the row of ${table.name} that begins with ${String(row[0]).slice(0, 60)}`;
    throw new Error(`Cannot copy ${at}: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

/** Rewrites floating-point columns of a line in JavaScript's notation: PostgreSQL writes 1e-07 for 1e-7. */
function lineNormalizer(columns: readonly string[], doubles: ReadonlySet<string>): (line: string) => string {
  if (doubles.size === 0) return (line) => line;
  const places = columns.flatMap((column, index) => (doubles.has(column) ? [index] : []));
  return (line) => {
    const fields = line.split('\t');
    for (const place of places) if (fields[place] !== '\\N') fields[place] = String(Number(fields[place]));
    return fields.join('\t');
  };
}

class ProgressReporter {
  readonly #onProgress: (progress: CopyProgress) => void;
  #characters = 0;
  #last = 0;

  constructor(onProgress: (progress: CopyProgress) => void) {
    this.#onProgress = onProgress;
  }

  report({ name, rowCount }: SourceTable, rows: number, characters: number): void {
    this.#characters += characters;
    const now = performance.now();
    if (rows < rowCount && now - this.#last < PROGRESS_INTERVAL_MS) return;
    this.#last = now;
    this.#onProgress({ table: name, rows, totalRows: rowCount, characters: this.#characters });
  }
}
