import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { Database } from '../../src/server/platform/db/database.ts';
import type { Tables } from '../../src/server/tables.ts';

/**
 * Asserts, from the database alone, the invariants of allowances and subscriptions that hold after any operation, for
 * `userId` or for all accounts. Usage is deleted after 400 days, ledger entries are not.
 */
export async function assertAllowancesConsistent(database: Database<Tables>, userId?: number): Promise<void> {
  const whose = userId === undefined ? sql`1 = 1` : sql`w.user_id = ${userId}`;
  const { rows: apart } = await sql<{ user_id: number; used: number; taken: number }>`
    select w.user_id, cast(coalesce(u.total, 0) as bigint) as used, cast(coalesce(l.total, 0) as bigint) as taken
    from wallets w
    left join (select user_id, sum(used) as total from allowance_usage where kind <> 'week' group by user_id) u
      on u.user_id = w.user_id
    left join (select user_id, sum(-plan_amount) as total from ledger group by user_id) l on l.user_id = w.user_id
    where ${whose} and coalesce(u.total, 0) <> coalesce(l.total, 0)`.execute(database.kysely);
  assert.deepEqual(apart, [], 'the use of allowances equals what the ledger entries took from them');
  const { rows: many } = await sql<{ user_id: number }>`
    select user_id from subscriptions where state = 'active' group by user_id having count(*) > 1`.execute(
    database.kysely,
  );
  assert.deepEqual(many, [], 'at most one subscription is active');
}
