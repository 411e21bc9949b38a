import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type AliasedExpression,
  type ColumnDefinitionBuilder,
  type Compilable,
  type CompiledQuery,
  type DeleteResult,
  type Expression,
  type InsertResult,
  type Kysely,
  type OnConflictBuilder,
  type OnConflictUpdateBuilder,
  type OrderByItemBuilder,
  PostgresAdapter,
  type QueryResult,
  type RawBuilder,
  type SelectQueryBuilder,
  type SelectQueryNode,
  type SqlBool,
  SqliteQueryCompiler,
  sql,
  type Transaction,
  type UpdateResult,
} from 'kysely';
import { defined } from '../../../contract/objects.ts';
import { type LongListPage, type LongPage, MAX_COUNTED } from '../../../contract/responses.ts';

/** The two engines. Differences that matter to tables and queries are handled only in this file. */
export type DialectName = 'sqlite' | 'postgres';

/** Properties of an engine that migrations need. */
export interface Dialect {
  readonly name: DialectName;
  /** Milliseconds, money, quota, counters: a signed 64-bit integer, returned as a JavaScript number. */
  readonly int64: 'integer' | 'bigint';
  /** 0 or 1. */
  readonly bool: 'integer';
  /**
   * Text of any length, compared and sorted by bytes on both engines. PostgreSQL would otherwise sort by the server's
   * locale, and a page cursor over text would differ between the engines. Also holds JSON.
   */
  readonly text: Expression<string>;
  readonly blob: 'blob' | 'bytea';
  /** Makes an `int64` column the primary key, with automatically increasing values. */
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

/** The properties of an engine. */
export function dialectFor(name: DialectName): Dialect {
  return DIALECTS[name];
}

/** The engine behind a database or a transaction. */
const dialectOf = <T>(executor: Kysely<T>): DialectName =>
  executor.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite';

/**
 * Whether other transactions may write while this one is open, so that data it has read may have changed: always on
 * PostgreSQL, never on SQLite, which has one writer at a time. Row locks need no such check: `forUpdate()` and
 * `skipLocked()` work on both engines, and are omitted on SQLite.
 */
export const hasConcurrentWriters = <T>(executor: Kysely<T>): boolean => dialectOf(executor) === 'postgres';

/** The texts of a JSON array as rows of one column, for `in`: a list of any length in one parameter. */
export const jsonTexts = <T>(executor: Kysely<T>, array: string): RawBuilder<string> =>
  dialectOf(executor) === 'sqlite'
    ? sql<string>`(select value from json_each(${array}))`
    : sql<string>`(select json_array_elements_text(${array}::json))`;

/** The objects of a JSON array as rows of int64 columns, for `from`: a list of any length in one parameter. */
export function jsonRows<T, A extends string, C extends string>(
  executor: Kysely<T>,
  array: string,
  alias: A,
  columns: readonly C[],
): AliasedExpression<{ [K in C]: number }, A> {
  if (dialectOf(executor) === 'sqlite') {
    const values = columns.map((column) => sql`value ->> ${sql.lit(column)} as ${sql.ref(column)}`);
    return sql<{ [K in C]: number }>`(select ${sql.join(values)} from json_each(${array}))`.as(alias);
  }
  const types = columns.map((column) => sql`${sql.ref(column)} bigint`);
  return sql<{ [K in C]: number }>`json_to_recordset(${array}::json)`.as<A>(sql`${sql.ref(alias)}(${sql.join(types)})`);
}

/** Lets every statement of a transaction see the same state; must be called before its first statement. */
export async function readOneState<T>(trx: Transaction<T>): Promise<void> {
  if (dialectOf(trx) === 'postgres') await sql`set transaction isolation level repeatable read`.execute(trx);
}

/**
 * Names a query of rows to lock whose result another part of the statement uses, so that it runs once. PostgreSQL may
 * run a subquery again for each row it compares, if it expects few, and each run locks rows beyond the limit.
 */
export const evaluatedOnce =
  <N extends string>(name: N) =>
  <C extends { materialized(): C }>(define: (name: N) => C): C =>
    define(name).materialized();

/** Omits `for update`, `for share` and the like, which SQLite does not know and a single writer does not need. */
export class LocklessSqliteCompiler extends SqliteQueryCompiler {
  protected override visitSelectQuery(node: SelectQueryNode): void {
    const { endModifiers, ...rest } = node;
    super.visitSelectQuery(endModifiers === undefined ? node : rest);
  }
}

/**
 * SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE and SQLITE_CONSTRAINT_ROWID (https://sqlite.org/rescode.html).
 */
const SQLITE_UNIQUE = new Set([1555, 2067, 2579]);
/** PostgreSQL, appendix A: unique_violation. */
const POSTGRES_UNIQUE = '23505';

/**
 * True when a write was refused because a row with the same primary or unique key exists. This fails the transaction,
 * so inside one prefer `on conflict do nothing` and check the row count.
 */
export function isUniqueViolation(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('errcode' in error) return SQLITE_UNIQUE.has(Number(error.errcode));
  return 'code' in error && error.code === POSTGRES_UNIQUE;
}

/**
 * Whether a conditional write changed exactly one row: the outcome of a compare-and-set, of which one of several
 * concurrent attempts succeeds.
 */
export function wasChanged(result: UpdateResult | DeleteResult | InsertResult | undefined): boolean {
  if (result === undefined) return false;
  if ('numUpdatedRows' in result) return result.numUpdatedRows === 1n;
  return ('numDeletedRows' in result ? result.numDeletedRows : result.numInsertedOrUpdatedRows) === 1n;
}

/** Sort direction of a list: rows without the value come last in both directions, like with `sortRowsBy`. */
export const nullsLast =
  (descending: boolean) =>
  (column: OrderByItemBuilder): OrderByItemBuilder =>
    (descending ? column.desc() : column.asc()).nullsLast();

/**
 * Condition that a `text` column contains these words literally, ignoring the case of A to Z. Both engines fold only
 * those letters in a column compared by bytes, so the words are folded no further: `É` matches only `É`.
 * @param column a name from our own code, never from a request
 */
export const containsText = (column: string, words: string) =>
  sql<SqlBool>`lower(${sql.ref(column)}) like ${`%${foldAscii(words).replace(/[\\%_]/g, '\\$&')}%`} escape '\\'`;

const foldAscii = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** A table of immutable rows that record the time of their insertion. */
export interface TimedRows {
  readonly table: string;
  /** Column whose values increase with each row. */
  readonly key: string;
  /** Column in Unix milliseconds. */
  readonly time: string;
}

/** Unix milliseconds; `to` is exclusive. */
export interface Period {
  readonly from?: number;
  readonly to?: number;
}

/** Rows between two keys; `before` is exclusive. */
export interface KeyRange {
  readonly first?: number;
  readonly before?: number;
}

/** The first key, and the key after the last one. */
export type KeyBounds = readonly [first: number, end: number];

/**
 * Converts a period to a key range on SQLite, where keys increase with time because there is one writer. An index on
 * the time would cost every insert more than the 25 look-ups in ten million rows cost a list. Rows written while the
 * machine's clock was being set back may be missing. On PostgreSQL, where writers overtake each other, the table has an
 * index, and the range is empty.
 */
export async function toKeyRange<T>(kysely: Kysely<T>, rows: TimedRows, { from, to }: Period): Promise<KeyRange> {
  if (hasConcurrentWriters(kysely) || (from === undefined && to === undefined)) return {};
  const [key, table] = [sql.ref(rows.key), sql.table(rows.table)];
  const newest = await sql<{ key: number }>`select ${key} as key from ${table} order by ${key} desc limit 1`.execute(
    kysely,
  );
  const bounds = [1, (newest.rows[0]?.key ?? 0) + 1] as const;
  const keyOf = async (at: number | undefined): Promise<number | undefined> =>
    at === undefined ? undefined : firstKeySince(kysely, rows, at, bounds);
  return defined({ first: await keyOf(from), before: await keyOf(to) });
}

/**
 * The lowest key from which on all rows have this time or a later one, by bisection.
 * @param bounds between which keys increase with time; the end when all rows are older
 */
export async function firstKeySince<T>(
  kysely: Kysely<T>,
  { table, key, time }: TimedRows,
  at: number,
  [first, end]: KeyBounds,
): Promise<number> {
  const [rows, keyColumn, timeColumn] = [sql.table(table), sql.ref(key), sql.ref(time)];
  let [low, high] = [first, end];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const query = sql<{ key: number; time: number }>`
      select ${keyColumn} as key, ${timeColumn} as time from ${rows} where ${keyColumn} >= ${middle} order by ${keyColumn} limit 1`;
    const row = (await query.execute(kysely)).rows[0];
    if (row === undefined || row.time >= at) high = middle;
    else low = row.key + 1;
  }
  return low;
}

/**
 * One page of the matching rows, highest key first unless the page asks for the oldest. With `after`, any page costs
 * the same. A page by number skips over keys alone, which an index contains, and reads only the rows of the page.
 * @param matching filtered, without columns
 * @param key a unique number that increases with time, named by our own code
 * @param select adds the columns, including `key`
 */
export async function readLargeListPage<
  DB,
  TB extends keyof DB,
  Row extends { readonly [K in Key]: number },
  Key extends string,
>(
  db: Kysely<DB>,
  matching: SelectQueryBuilder<DB, TB, object>,
  key: Key,
  { pageSize, offset, after, oldestFirst = false }: LongPage,
  select: (query: SelectQueryBuilder<DB, TB, object>) => SelectQueryBuilder<DB, TB, Row>,
): Promise<LongListPage<Row>> {
  const column = sql.ref<number>(key);
  const ordered = <O>(query: SelectQueryBuilder<DB, TB, O>) => query.orderBy(column, oldestFirst ? 'asc' : 'desc');
  const beyond = sql.raw(oldestFirst ? '>' : '<');
  let page = matching;
  if (after !== undefined) page = page.where(sql<boolean>`${column} ${beyond} ${after}`);
  else if (offset > 0) {
    const first = ordered(matching.select(column.as('key')))
      .limit(1)
      .offset(offset);
    page = page.where(sql<boolean>`${column} ${beyond}= (${first})`);
  }
  const counted = matching.select(sql<number>`1`.as('one')).limit(MAX_COUNTED + 1);
  const [rows, total] = await Promise.all([
    ordered(select(page))
      .limit(pageSize + 1)
      .execute() as Promise<Row[]>,
    sql<{ count: number }>`select count(*) as count from (${counted}) counted`.execute(db),
  ]);
  const count = Number(total.rows[0]?.count ?? 0);
  const shown = rows.slice(0, pageSize);
  return {
    rows: shown,
    total: Math.min(count, MAX_COUNTED),
    totalIsMinimum: count > MAX_COUNTED,
    next: rows.length > pageSize ? shown.at(-1)?.[key] : undefined,
  };
}

/** Rows that are deleted after a retention period. */
export interface OldRows extends TimedRows {
  /** Keys increase with time, so the oldest rows are found without an index on the time. */
  readonly keysAscendWithTime?: true;
  /** An additional condition. */
  readonly only?: RawBuilder<boolean>;
}

/**
 * Deletes up to `limit` rows older than a time, oldest first, in one short statement that blocks others only briefly.
 * Fewer than `limit` deleted rows mean that none remain.
 * @param before Unix milliseconds
 * @returns the number of deleted rows
 */
export async function deleteOldRows<T>(
  db: Kysely<T>,
  { table, key, time, keysAscendWithTime, only }: OldRows,
  before: number,
  limit: number,
): Promise<number> {
  const [rows, keyColumn, timeColumn] = [sql.table(table), sql.ref(key), sql.ref(time)];
  const old =
    keysAscendWithTime === true
      ? sql`select ${keyColumn} from (select ${keyColumn}, ${timeColumn} from ${rows} order by ${keyColumn} limit ${limit}) oldest
          where ${timeColumn} < ${before}`
      : sql`select ${keyColumn} from ${rows} where ${timeColumn} < ${before}${only === undefined ? sql`` : sql` and ${only}`}
          order by ${timeColumn} limit ${limit}`;
  const { numAffectedRows } = await sql`delete from ${rows} where ${keyColumn} in (${old})`.execute(db);
  return Number(numAffectedRows ?? 0);
}

const POLL_MS = 50;

/**
 * Resolves when every transaction that is writing now has ended, so that no row with a key below the currently visible
 * ones can still appear. Immediately on SQLite, which has one writer.
 * @returns false when one of them lasts longer than `timeoutMs`
 */
export async function waitForOlderTransactions<T>(kysely: Kysely<T>, timeoutMs: number): Promise<boolean> {
  if (!hasConcurrentWriters(kysely)) return true;
  const { rows } = await sql<{ next: string }>`select pg_snapshot_xmax(pg_current_snapshot())::text as next`.execute(
    kysely,
  );
  const next = rows[0]?.next ?? '0';
  for (const deadline = performance.now() + timeoutMs; ; await pause(POLL_MS)) {
    const state = await sql<{ ended: number }>`
      select pg_snapshot_xmin(pg_current_snapshot()) >= ${next}::text::xid8 as ended`.execute(kysely);
    if (state.rows[0]?.ended === 1) return true;
    if (performance.now() >= deadline) return false;
  }
}

/** Types of a parameter. An `in (…)` list of varying length needs a query built per length. */
export type ParameterValue = string | number | null | Uint8Array;

/** A query whose SQL never varies, so that a server may keep its plan under a name. */
export interface NamedQuery<O = unknown> extends CompiledQuery<O> {
  readonly statement?: string;
  /**
   * Parameters are stored unchanged and are used in no arithmetic: the types of their columns turn whole numbers into
   * integers.
   */
  readonly storesOnly?: true;
}

const named = <O>(query: CompiledQuery<O>): NamedQuery<O> => ({
  ...query,
  statement: `rg_${createHash('sha256').update(query.sql).digest('base64url').slice(0, 24)}`,
});

/** Placeholder for the parameter `name`, allowed only where a value is compared, inserted or assigned. */
export type Parameters<P> = <K extends keyof P & string>(name: K) => P[K];

/** A query compiled once. `T`: tables, `P`: parameters by name, `O`: a row of the result. */
export interface PreparedQuery<T, P, O> {
  all(executor: Kysely<T>, parameters: P): Promise<O[]>;
  /** The first row, or undefined if there is none. */
  first(executor: Kysely<T>, parameters: P): Promise<O | undefined>;
  /** The number of rows a write changed: the outcome of a conditional write. */
  changes(executor: Kysely<T>, parameters: P): Promise<number>;
}

/**
 * Builds a query once instead of on each call, which saves Kysely's 10–20 µs. For hot paths.
 * ```ts
 * const findToken = prepareQuery<Tables, { hash: string }>()((db, p) =>
 *   db.selectFrom('tokens').selectAll().where('hash', '=', p('hash')));
 * const token = await findToken.first(database.kysely, { hash });
 * ```
 * A parameter may be null when stored, but not when compared (`is null` is another query).
 */
export function prepareQuery<T, P extends { readonly [K in keyof P]: ParameterValue }>() {
  return <O>(build: (db: Kysely<T>, p: Parameters<P>) => Compilable<O>): PreparedQuery<T, P, O> => {
    const templates: Partial<Record<DialectName, Template<P>>> = {};
    const execute = (executor: Kysely<T>, parameters: P) => {
      const dialect = dialectOf(executor);
      templates[dialect] ??= toTemplate(named(build(executor, marker).compile()));
      return run<T, O>(executor, fill<P, O>(templates[dialect], parameters));
    };
    return {
      all: async (executor, parameters) => (await execute(executor, parameters)).rows,
      first: async (executor, parameters) => (await execute(executor, parameters)).rows[0],
      changes: async (executor, parameters) => Number((await execute(executor, parameters)).numAffectedRows ?? 0),
    };
  };
}

/** Maximum rows per statement. Each number of rows up to it is compiled once. */
const MAX_ROWS_PER_INSERT = 32;

/**
 * Like `prepareQuery`, for inserting many rows that share statements: a row then costs a third of a separate insert.
 * @param columns all columns that are written; every row has each of them
 * @param onConflict default: a row whose key exists fails the statement
 */
export function prepareInsert<T, R extends { readonly [K in keyof R]: ParameterValue }>(
  table: keyof T & string,
  columns: readonly (keyof R & string)[],
  onConflict?: (
    conflict: OnConflictBuilder<Record<string, R>, string>,
  ) => OnConflictUpdateBuilder<Record<string, R>, string>,
): (executor: Kysely<T>, rows: readonly R[]) => Promise<void> {
  const templates = new Map<string, NamedQuery>();
  const compile = (executor: Kysely<T>, size: number): NamedQuery => {
    const row = Object.fromEntries(columns.map((column) => [column, marker(column)]));
    const values = Array<object>(size).fill(row);
    const insert = (executor as Kysely<unknown> as Kysely<Record<string, R>>).insertInto(table).values(values as never);
    return named((onConflict === undefined ? insert : insert.onConflict(onConflict)).compile());
  };
  return async (executor, rows) => {
    const dialect = dialectOf(executor);
    for (let start = 0; start < rows.length; start += MAX_ROWS_PER_INSERT) {
      const piece = rows.slice(start, start + MAX_ROWS_PER_INSERT);
      const key = `${dialect} ${piece.length}`;
      const compiled = templates.get(key) ?? compile(executor, piece.length);
      templates.set(key, compiled);
      const parameters: unknown[] = [];
      for (const row of piece) for (const column of columns) parameters.push(row[column]);
      const query = { ...compiled, parameters };
      await run(executor, onConflict === undefined ? { ...query, storesOnly: true } : query);
    }
  };
}

const run = <T, O>(executor: Kysely<T>, query: NamedQuery<O>): Promise<QueryResult<O>> =>
  directExecutorOf(executor)?.(query) ?? executor.executeQuery(query);

class ParameterMarker {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
  /** Arithmetic or concatenation during the build would use the placeholder instead of the value. */
  [Symbol.toPrimitive](): never {
    throw new TypeError(`the parameter "${this.name}" has no value yet: compute in SQL, or pass the result`);
  }
}

/** To Kysely a marker is just another value; the type is that of the value that replaces it. */
function marker(name: string): never {
  return new ParameterMarker(name) as never;
}

interface Template<P> {
  readonly compiled: NamedQuery;
  /** The value of each position in the SQL: a parameter to insert, or a constant. */
  readonly slots: readonly { readonly name?: keyof P; readonly constant?: unknown }[];
}

function toTemplate<P>(compiled: NamedQuery): Template<P> {
  const slots = compiled.parameters.map((value) =>
    value instanceof ParameterMarker ? { name: value.name as keyof P } : { constant: value },
  );
  return { compiled, slots };
}

function fill<P, O>({ compiled, slots }: Template<P>, values: P): NamedQuery<O> {
  const parameters = slots.map((slot) => (slot.name === undefined ? slot.constant : values[slot.name]));
  return { ...compiled, parameters } as NamedQuery<O>;
}

/** Runs a compiled query on the connection of an executor. */
type DirectExecutor = <R>(query: CompiledQuery<R>) => Promise<QueryResult<R>>;

const executors = new WeakMap<object, DirectExecutor>();

/**
 * Lets prepared queries of this executor go straight to its connection. Kysely itself passes every query through a
 * dozen promises to find the connection, which takes longer than the query itself on SQLite.
 */
export function setDirectExecutor<T>(executor: Kysely<T>, shortcut: DirectExecutor): void {
  executors.set(executor, shortcut);
}

const directExecutorOf = <T>(executor: Kysely<T>): DirectExecutor | undefined => executors.get(executor);

/**
 * Runs a transaction's work with a shortcut to its connection. The shortcut ends with the work: a late query must be
 * refused by Kysely, and must not run on a connection that has moved on to other work.
 */
export async function withDirectExecutor<T, R>(trx: Transaction<T>, work: () => Promise<R>): Promise<R> {
  const connection = await trx.getExecutor().provideConnection(async (own) => own);
  setDirectExecutor(trx, (query) => connection.executeQuery(query));
  try {
    return await work();
  } finally {
    executors.delete(trx);
  }
}

/** Values per statement, below the databases' limits: 32,766 on SQLite, 65,535 on PostgreSQL. */
const MAX_VALUES = 5_000;

/** Divides a list of any length into parts that fit into one statement. @param values that each item adds to it */
export function* statementParts<T>(items: readonly T[], values = 1): Generator<readonly T[]> {
  const count = Math.floor(MAX_VALUES / values);
  for (let start = 0; start < items.length; start += count) yield items.slice(start, start + count);
}
