import { type SelectQueryBuilder, sql } from 'kysely';
import type { Page } from '../../contract/schemas.ts';
import type { Executor, Tables } from '../tables.ts';

/** Matches beyond this are neither counted nor listed, so that no page scans all rows; a narrower filter finds them. */
export const MAX_LISTED = 10_000;

/** One page of the matching rows, newest (highest id) first. */
export async function listNewestFirst<T extends 'tickets' | 'beta_applications', Row>(
  db: Executor,
  matching: SelectQueryBuilder<Tables, T, object>,
  { pageSize, offset }: Page,
): Promise<{ rows: Row[]; total: number }> {
  const counted = matching.select(sql<number>`1`.as('one')).limit(MAX_LISTED).as('counted');
  const { count } = await db
    .selectFrom(counted)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  const total = Number(count);
  if (offset >= total) return { rows: [], total };
  const rows = matching
    .selectAll()
    .orderBy(sql`id`, 'desc')
    .limit(Math.min(pageSize, total - offset))
    .offset(offset);
  return { rows: (await rows.execute()) as Row[], total };
}
