import { type ColumnDefinitionBuilder, type Expression, type SelectQueryBuilder, sql } from 'kysely';

/** The two engines. This file alone knows how they differ for somebody who writes tables or queries. */
export type DialectName = 'sqlite' | 'postgres';

/** What a migration needs to know about the engine it runs on. */
export interface Dialect {
  readonly name: DialectName;
  /** Milliseconds, money, quota, counters: a signed 64-bit integer, read back as a JavaScript number. */
  readonly int64: 'integer' | 'bigint';
  /** 0 or 1. */
  readonly bool: 'integer';
  /**
   * Text of any length, compared and sorted by bytes on both engines; PostgreSQL would otherwise sort by the locale of
   * the server, and a page cursor over text would differ between the two. JSON travels in it too.
   */
  readonly text: Expression<string>;
  readonly blob: 'blob' | 'bytea';
  /** Makes an `int64` column the primary key that numbers its rows itself, upwards. */
  autoIncrement(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder;
}

const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  sqlite: {
    name: 'sqlite',
    int64: 'integer',
    bool: 'integer',
    text: sql<string>`text`,
    blob: 'blob',
    autoIncrement: (column) => column.primaryKey().autoIncrement(),
  },
  postgres: {
    name: 'postgres',
    int64: 'bigint',
    bool: 'integer',
    text: sql<string>`text collate "C"`,
    blob: 'bytea',
    autoIncrement: (column) => column.primaryKey().generatedByDefaultAsIdentity(),
  },
};

export function dialectFor(name: DialectName): Dialect {
  return DIALECTS[name];
}

/**
 * For `$call` on the select that picks rows to claim: locks them and steps over rows others have locked. SQLite has one
 * writer at a time, so inside a transaction nothing needs locking there.
 */
export function forUpdateSkipLocked(dialect: DialectName) {
  return <DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O> =>
    dialect === 'postgres' ? query.forUpdate().skipLocked() : query;
}

/** SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE and SQLITE_CONSTRAINT_ROWID (https://sqlite.org/rescode.html). */
const SQLITE_UNIQUE = new Set([1555, 2067, 2579]);
/** PostgreSQL, appendix A: unique_violation. */
const POSTGRES_UNIQUE = '23505';

/**
 * True when a write was refused because a row with the same primary or unique key exists. A transaction is lost by then,
 * so inside one prefer `on conflict do nothing` and look at the row count.
 */
export function isUniqueViolation(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('errcode' in error) return SQLITE_UNIQUE.has(Number(error.errcode));
  return 'code' in error && error.code === POSTGRES_UNIQUE;
}
