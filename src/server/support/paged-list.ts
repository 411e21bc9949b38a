import { type SelectQueryBuilder, sql } from 'kysely';
import type { Page, Sort } from '../../contract/responses.ts';
import type { Executor, Tables } from '../tables.ts';

/** Matches beyond this are neither counted nor listed, so that no page scans all rows; a narrower filter finds them. */
const MAX_LISTED = 10_000;

interface MatchOrder {
  readonly column: string;
  readonly descending: boolean;
}
const NEWEST_FIRST: MatchOrder = { column: 'id', descending: true };

/** @param columns the column for each sort key of the query */
export const toMatchOrder = <Key extends string>(
  columns: Readonly<Record<Key, string>>,
  sort: Sort<Key> | undefined,
): MatchOrder | undefined => sort && { column: columns[sort.key], descending: sort.descending };

/** One page of the newest matching rows. Rows with the same sort value are ordered newest (highest id) first. */
export async function listMatching<T extends 'tickets' | 'beta_applications', Row>(
  db: Executor,
  matching: SelectQueryBuilder<Tables, T, object>,
  { pageSize, offset }: Page,
  { column, descending }: MatchOrder = NEWEST_FIRST,
): Promise<{ rows: Row[]; total: number }> {
  const counted = matching.select(sql<number>`1`.as('one')).limit(MAX_LISTED).as('counted');
  const { count } = await db
    .selectFrom(counted)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  const total = Number(count);
  if (offset >= total) return { rows: [], total };
  const newest = matching.selectAll().orderBy(sql`id`, 'desc');
  const limit = Math.min(pageSize, total - offset);
  if (column === 'id' && descending)
    return { rows: (await newest.limit(limit).offset(offset).execute()) as Row[], total };
  const rows = db
    .selectFrom(newest.limit(MAX_LISTED).as('newest'))
    .selectAll()
    .orderBy(sql.ref(column), descending ? 'desc' : 'asc')
    .orderBy(sql`id`, 'desc')
    .limit(limit)
    .offset(offset);
  return { rows: (await rows.execute()) as Row[], total };
}
