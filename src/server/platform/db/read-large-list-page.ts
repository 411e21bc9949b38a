import { type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import { type LongListPage, type LongPage, MAX_COUNTED } from '../../../contract/large-list-pagination.ts';

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
