import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { CompiledQuery, QueryResult } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { NamedQuery } from './prepared-query.ts';
import type { TableChangeCounter } from './sqlite-table-change-counter.ts';

interface CachedStatement {
  readonly statement: StatementSync;
  /** Names of the columns it returns; empty for a statement that returns a row count. */
  columns: readonly string[];
  /** Watched tables that it may change. */
  readonly tables: readonly string[];
}

/** One connection with its prepared statements, kept by SQL text. Kysely alone would prepare each statement anew. */
export class SqliteStatements {
  readonly database: DatabaseSync;
  readonly #cache = new LRUCache<string, CachedStatement>({ max: 500 });

  readonly #changes: TableChangeCounter | undefined;

  constructor(path: string, changes?: TableChangeCounter) {
    this.#changes = changes;
    this.database = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: 5_000 });
  }

  execute<R>(query: CompiledQuery): QueryResult<R> {
    const cached = this.#prepare(query.sql);
    if (cached.tables.length > 0) this.#changes?.note(cached.tables);
    // A column of integers stores 5.0 as 5, and making a BigInt of each number takes a tenth of an insert.
    const values = (query as NamedQuery).storesOnly
      ? (query.parameters as readonly SQLInputValue[])
      : query.parameters.map(toSqliteValue);
    if (cached.columns.length === 0) {
      const { changes, lastInsertRowid } = cached.statement.run(...values);
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
    }
    const rows = cached.statement.all(...values);
    return { rows: rows.map((row) => toRow<R>(row, cached)), numAffectedRows: BigInt(rows.length) };
  }

  /** All statements are prepared again when they are next run. */
  forget(): void {
    this.#cache.clear();
  }

  close(): void {
    this.forget();
    this.database.close();
  }

  #prepare(sql: string): CachedStatement {
    const known = this.#cache.get(sql);
    if (known) return known;
    const statement = this.database.prepare(sql);
    statement.setReturnArrays(true);
    const cached = { statement, columns: columnNames(statement), tables: this.#changes?.namedIn(sql) ?? [] };
    this.#cache.set(sql, cached);
    return cached;
  }
}

function columnNames(statement: StatementSync): readonly string[] {
  return statement.columns().map((column) => column.name);
}

/**
 * Rows arrive as arrays and become plain objects here: node:sqlite builds its own objects slowly and without a prototype,
 * so they would not be deeply equal to PostgreSQL's rows.
 */
function toRow<R>(row: unknown, cached: CachedStatement): R {
  const values = row as readonly unknown[];
  if (values.length !== cached.columns.length) cached.columns = columnNames(cached.statement);
  const object: Record<string, unknown> = {};
  const { columns } = cached;
  for (let i = 0; i < values.length; i++) object[columns[i] ?? i] = values[i];
  return object as R;
}

/**
 * node:sqlite binds every JavaScript number as a float, so that `balance / ?` would divide as floats and a number in a
 * text column would read "5.0". Whole numbers are bound as integers instead, as PostgreSQL does.
 */
function toSqliteValue(value: unknown): SQLInputValue {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  return typeof value === 'boolean' ? BigInt(value) : (value as SQLInputValue);
}
