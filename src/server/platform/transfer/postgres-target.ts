import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { loadPg } from '../db/postgres.ts';
import type { CellValue } from './sqlite-source.ts';

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
    const client = new PgClient({
      connectionString: url,
      application_name: 'reelgate copy',
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
    });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0');
    } catch (error) {
      await client.end().catch(() => {});
      throw new Error(`PostgreSQL cannot be reached: ${error instanceof Error ? error.message : String(error)}`);
    }
    return new PostgresTarget(client);
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
export const toCopyLine = (row: readonly CellValue[]): string => row.map(toCopyField).join('\t');

/**
 * A checksum over rows that does not depend on their order: the sum of the first 64 bits of each line's SHA-1. It
 * distinguishes a copy from its original, but does not protect against forged rows.
 */
export class RowDigest {
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
