import { setTimeout as pause } from 'node:timers/promises';
import {
  type ColumnDefinitionBuilder,
  type DeleteResult,
  type Expression,
  type InsertResult,
  type Kysely,
  type OrderByItemBuilder,
  PostgresAdapter,
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

/**
 * Whether a conditional write changed exactly one row: the outcome of a compare-and-set, of which one of several concurrent
 * attempts succeeds.
 */
export function wasChanged(result: UpdateResult | DeleteResult | InsertResult | undefined): boolean {
  if (result === undefined) return false;
  if ('numUpdatedRows' in result) return result.numUpdatedRows === 1n;
  return ('numDeletedRows' in result ? result.numDeletedRows : result.numInsertedOrUpdatedRows) === 1n;
}

/** The direction of a list that can be sorted: rows without the value are last in both, as `sortRowsBy` has them. */
export const nullsLast =
  (descending: boolean) =>
  (column: OrderByItemBuilder): OrderByItemBuilder =>
    (descending ? column.desc() : column.asc()).nullsLast();

/**
 * Condition: a `text` column contains these words as they are written, whatever the case of A to Z. Both engines fold only
 * those letters in a column compared by bytes, so the words are folded no further: `É` finds `É`.
 *
 * @param column a name from our own code
 */
export const containsText = (column: string, words: string) =>
  sql<SqlBool>`lower(${sql.ref(column)}) like ${`%${foldAscii(words).replace(/[\\%_]/g, '\\$&')}%`} escape '\\'`;

const foldAscii = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** A table whose rows are written with the time of their writing and never changed. */
export interface TimedRows {
  readonly table: string;
  /** Numbers its rows upwards. */
  readonly key: string;
  /** Unix milliseconds. */
  readonly time: string;
}

/** Unix milliseconds; `to` is not included. */
export interface Period {
  readonly from?: number;
  readonly to?: number;
}

/** Rows between two keys; `before` is not included. */
export interface KeyRange {
  readonly first?: number;
  readonly before?: number;
}

/** The first key, and the one behind the last. */
export type KeyBounds = readonly [first: number, end: number];

/**
 * The rows of a period by their keys, which ascend with the time on SQLite, as it has one writer. There an index on the time would
 * cost each insert more than the 25 look-ups in ten million rows cost a list. Rows that were written while the clock of the
 * machine was being set back may be missing from a period. On PostgreSQL writers overtake each other: the table has an index, and the range
 * is empty.
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
 * The lowest key from which on all rows are of this time or later, by halving.
 *
 * @param bounds between which keys ascend with the time; the end where all rows are older
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
 * One page of the matching rows, those with the highest key first unless the page asks for the oldest. With `after` it costs the same at any depth. A page by
 * number skips keys alone, which an index has, and reads only the rows of the page.
 *
 * @param matching filtered, without columns
 * @param key a unique number that ascends with time, as our own code names it
 * @param select adds the columns, `key` among them
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

/** Rows that are deleted once they are old. */
export interface OldRows extends TimedRows {
  /** Keys ascend with time, so that the oldest rows are found without an index on the time. */
  readonly keysAscendWithTime?: true;
  /** A further condition. */
  readonly only?: RawBuilder<boolean>;
}

/**
 * Deletes at most `limit` of the rows from before a time, the oldest first: a short statement at a time, so that others wait
 * little. Fewer than `limit` deleted: there are no more.
 *
 * @param before Unix milliseconds
 * @returns how many
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
 * Resolves when every transaction that writes at this moment has ended, so that no row numbered below what can be seen now
 * can still appear. At once on SQLite, which has one writer.
 *
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
