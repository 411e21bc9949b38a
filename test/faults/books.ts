import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/server/platform/db/database.ts';
import type { Tables } from '../../src/server/tables.ts';

/** What must hold of money and tasks after any fault, looked at from outside (the database alone). */
export async function assertBooks(database: Database<Tables>): Promise<void> {
  const db = database.kysely;
  const sums = await db
    .selectFrom('wallets')
    .leftJoin('ledger', 'ledger.user_id', 'wallets.user_id')
    .select([
      'wallets.user_id',
      'wallets.balance',
      'wallets.used',
      sql<number>`coalesce(sum(ledger.amount), 0)`.as('total'),
      sql<number>`coalesce(sum(ledger.charged), 0)`.as('charged'),
    ])
    .groupBy(['wallets.user_id', 'wallets.balance', 'wallets.used'])
    .execute();
  for (const { user_id, balance, total, used, charged } of sums) {
    assert.equal(Number(total), balance, `account ${user_id}: the entries add up to the balance`);
    assert.equal(Number(charged), used, `account ${user_id}: what was settled is what was used`);
    assert.ok(balance >= 0, `account ${user_id}: the balance is not below zero`);
  }
  const tasks = await db.selectFrom('tasks').select(['id', 'status', 'price']).execute();
  const kinds = new Map<string, string[]>();
  for (const { ref, kind } of await db.selectFrom('ledger').select(['ref', 'kind']).execute())
    kinds.set(ref, [...(kinds.get(ref) ?? []), kind]);
  const EXPECTED: Readonly<Record<string, readonly string[]>> = {
    SUCCESS: ['reserve', 'settle'],
    FAILURE: ['refund', 'reserve'],
  };
  for (const { id, status } of tasks) {
    assert.deepEqual(
      [...(kinds.get(id) ?? [])].sort(),
      EXPECTED[status] ?? ['reserve'],
      `task ${id} in state ${status}`,
    );
  }
  const open = await db.selectFrom('holds').select('ref').execute();
  const unfinished = tasks.filter(({ status }) => EXPECTED[status] === undefined).map(({ id }) => id);
  assert.deepEqual(open.map(({ ref }) => ref).sort(), unfinished.sort(), 'holds are open for unfinished tasks alone');
}

/** Opens the database of a service beside it, for looking. */
export const lookInto = (url: string): Database<Tables> => openDatabase<Tables>(url);
