import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from '../db/database.ts';

/** Each database records its own migrations. */
const MIGRATIONS_TABLE = 'schema_migrations';

/** A value of a row; whole numbers are read as bigint, so that none is rounded. */
export type CellValue = null | bigint | number | string | Uint8Array;

/** A table to copy. */
export interface SourceTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rowCount: number;
  /** Highest number the table has ever assigned to a row; undefined when it does not number its rows. */
  readonly sequence: bigint | undefined;
}

/**
 * The path in a `sqlite:` URL.
 * @throws Error for any other URL, or when the file does not exist
 */
export function sqlitePathOf(url: string): string {
  if (!url.startsWith('sqlite:')) throw new Error(`"${url}" is not the URL of a SQLite database (sqlite:PATH).`);
  const path = url.slice('sqlite:'.length);
  if (!existsSync(path)) throw new Error(`There is no database at ${path}.`);
  return path;
}

/** Another process has the database open. */
export class DatabaseInUseError extends Error {
  constructor(path: string) {
    super(`${path} is in use by another process. Stop the service, and whatever else has it open, first.`);
    this.name = 'DatabaseInUseError';
  }
}

/** @throws DatabaseInUseError; a file that is not a sound database counts as unused */
export function assertNotInUse(path: string): void {
  try {
    new SqliteSource(path).close();
  } catch (error) {
    if (error instanceof DatabaseInUseError) throw error;
  }
}

/**
 * A SQLite database of this service, read-only and held exclusively for as long as this object lives. In exclusive
 * locking mode SQLite acquires the lock at the first read and keeps it, which fails while any other process has the
 * file open, idle or not (https://sqlite.org/pragma.html#pragma_locking_mode).
 */
export class SqliteSource {
  readonly #database: DatabaseSync;
  readonly #path: string;

  /** @throws Error when another process has the database open */
  constructor(path: string) {
    this.#path = path;
    this.#database = new DatabaseSync(path, { timeout: 0 });
    this.#database.exec('pragma locking_mode = exclusive; pragma query_only = on; pragma temp_store = memory;');
    try {
      this.#database.prepare('select count(*) from sqlite_master').get();
    } catch (error) {
      this.#database.close();
      if (isBusy(error)) throw new DatabaseInUseError(path);
      throw error;
    }
  }

  /** Ids of the applied migrations; empty for a database of another application. */
  appliedMigrations(): ReadonlySet<string> {
    if (!this.#all<{ name: string }>(`select name from sqlite_master where name = '${MIGRATIONS_TABLE}'`).length)
      return new Set();
    return new Set(this.#all<{ id: string }>(`select id from ${MIGRATIONS_TABLE}`).map(({ id }) => id));
  }

  /** The value of an entry in `meta`. */
  meta(name: string): string | undefined {
    const row = this.#database.prepare('select value from meta where name = ?').get(name);
    return row === undefined ? undefined : String(row.value);
  }

  /** Tables in the order of their creation, so that a table follows the tables it refers to. */
  tables(): SourceTable[] {
    const sequences = new Map(
      this.#all<{ name: string; seq: bigint }>('select name, seq from sqlite_sequence').map(({ name, seq }) => [
        name,
        seq,
      ]),
    );
    return this.#all<{ name: string; sql: string }>(
      `select name, sql from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\' order by rowid`,
    )
      .filter(({ name }) => name !== MIGRATIONS_TABLE)
      .map(({ name, sql }) => ({
        name,
        columns: this.#all<{ name: string }>(`pragma table_info(${quote(name)})`).map((column) => column.name),
        rowCount: Number(this.#all<{ count: bigint }>(`select count(*) as count from ${quote(name)}`)[0]?.count ?? 0),
        sequence: /\bautoincrement\b/i.test(sql) ? (sequences.get(name) ?? 0n) : undefined,
      }));
  }

  /** The minimum of a numeric column; undefined for an empty table. */
  least(table: string, column: string): number | undefined {
    const [row] = this.#all<{ least: bigint | null }>(`select min(${quote(column)}) as least from ${quote(table)}`);
    return row?.least == null ? undefined : Number(row.least);
  }

  /** All rows, one at a time, in no particular order. */
  *rows({ name, columns }: SourceTable): Generator<readonly CellValue[]> {
    const statement = this.#database.prepare(`select ${columns.map(quote).join(', ')} from ${quote(name)}`);
    statement.setReadBigInts(true);
    statement.setReturnArrays(true);
    for (const row of statement.iterate()) yield row as unknown as readonly CellValue[];
  }

  get path(): string {
    return this.#path;
  }

  close(): void {
    this.#database.close();
  }

  #all<R>(sql: string): R[] {
    const statement = this.#database.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all() as R[];
  }
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
