import {
  type ColumnDefinitionBuilder,
  type Expression,
  type Kysely,
  PostgresAdapter,
  type RawBuilder,
  type SelectQueryNode,
  SqliteQueryCompiler,
  sql,
  type Transaction,
} from 'kysely';

/** The two engines. Their differences that matter to tables and queries are in this file only. */
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

/** The engine behind a database or a transaction. */
export const dialectOf = <T>(executor: Kysely<T>): DialectName =>
  executor.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite';

/**
 * Whether other transactions may write while this one is open, so that what it has read may have changed: always on
 * PostgreSQL, never on SQLite, which has one writer at a time.
 *
 * Row locks need no such question: `forUpdate()` and `skipLocked()` are written for both engines, and left out on SQLite.
 */
export const hasConcurrentWriters = <T>(executor: Kysely<T>): boolean => dialectOf(executor) === 'postgres';

/** The texts of a JSON array as rows of one column, for `in`: a list of any length in one parameter. */
export const jsonTexts = <T>(executor: Kysely<T>, array: string): RawBuilder<string> =>
  dialectOf(executor) === 'sqlite'
    ? sql<string>`(select value from json_each(${array}))`
    : sql<string>`(select json_array_elements_text(${array}::json))`;

/** Lets every statement of a transaction see the same state; to be called before its first one. */
export async function readOneState<T>(trx: Transaction<T>): Promise<void> {
  if (dialectOf(trx) === 'postgres') await sql`set transaction isolation level repeatable read`.execute(trx);
}

/** `for update`, `for share` and the like mean nothing where there is one writer at a time, and SQLite does not know them. */
export class LocklessSqliteCompiler extends SqliteQueryCompiler {
  protected override visitSelectQuery(node: SelectQueryNode): void {
    const { endModifiers, ...rest } = node;
    super.visitSelectQuery(endModifiers === undefined ? node : rest);
  }
}

/** SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE and SQLITE_CONSTRAINT_ROWID (https://sqlite.org/rescode.html). */
const SQLITE_UNIQUE = new Set([1555, 2067, 2579]);
/** PostgreSQL, appendix A: unique_violation. */
const POSTGRES_UNIQUE = '23505';

/**
 * True when a write was refused because a row with the same primary or unique key exists. The transaction has failed by
 * then, so inside one prefer `on conflict do nothing` and check the row count.
 */
export function isUniqueViolation(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('errcode' in error) return SQLITE_UNIQUE.has(Number(error.errcode));
  return 'code' in error && error.code === POSTGRES_UNIQUE;
}
