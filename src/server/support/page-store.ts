import type { Kysely, SelectQueryBuilder } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../contract/schemas.ts';
import type { Tables } from '../tables.ts';

/** Matches beyond this are neither counted nor reached: a narrower filter finds them, and no page costs a walk over all rows. */
export const MOST_LISTED = 10_000;

/** One page of matching rows by id, newest first. */
export async function pageOf<T extends 'tickets' | 'beta_applications', Row>(
  db: Kysely<Tables>,
  matching: SelectQueryBuilder<Tables, T, object>,
  { pageSize, offset }: Page,
): Promise<{ rows: Row[]; total: number }> {
  const counted = matching.select(sql<number>`1`.as('one')).limit(MOST_LISTED).as('counted');
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
