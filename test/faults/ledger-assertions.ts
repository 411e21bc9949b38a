import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { Database } from '../../src/server/platform/db/database.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import type { Tables } from '../../src/server/tables.ts';

/** Asserts the invariants of money and tasks that hold after any fault, using only the database. */
export async function assertLedgerConsistent(database: Database<Tables>): Promise<void> {
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
  // A single statement for tasks, entries and reservations sees one moment, whatever runs meanwhile.
  const rows = await db
    .selectFrom('tasks')
    .leftJoin('ledger', 'ledger.ref', 'tasks.id')
    .leftJoin('reservations', 'reservations.ref', 'tasks.id')
    .select(['tasks.id', 'tasks.status', 'ledger.kind', 'ledger.plan_amount', 'reservations.ref as reservation'])
    .execute();
  const tasks = Map.groupBy(rows, ({ id }) => id);
  for (const [id, entries] of tasks) {
    const status = entries[0]?.status ?? '';
    const where = `task ${id} in state ${status}`;
    const kinds = entries.map(({ kind }) => kind ?? 'none').filter((kind) => kind !== 'expire');
    assert.deepEqual(kinds.sort(), ENTRIES[status] ?? ['reserve'], where);
    assertExpiredIsReturned(entries, where);
    assert.equal(
      entries[0]?.reservation != null,
      ENTRIES[status] === undefined,
      `${where}: a reservation is open until the end`,
    );
  }
  const strays = await db
    .selectFrom('reservations')
    .leftJoin('tasks', 'tasks.id', 'reservations.ref')
    .where('tasks.id', 'is', null)
    .select('reservations.ref')
    .execute();
  assert.deepEqual(strays, [], 'reservations are open for tasks alone');
}

interface PlanEntry {
  readonly kind: string | null;
  readonly plan_amount: number | null;
}

/**
 * Asserts that plan quota returned after its period is removed by exactly one more entry, and no more than was
 * returned.
 */
function assertExpiredIsReturned(entries: readonly PlanEntry[], where: string): void {
  const expired = entries.filter(({ kind }) => kind === 'expire').map((entry) => -(entry.plan_amount ?? 0));
  if (expired.length === 0) return;
  const returned = entries.filter(({ kind }) => kind === 'refund' || kind === 'settle');
  const most = returned.reduce((sum, { plan_amount }) => sum + (plan_amount ?? 0), 0);
  assert.equal(expired.length, 1, `${where}: expired once`);
  assert.ok((expired[0] ?? 0) > 0 && (expired[0] ?? 0) <= most, `${where}: ${expired[0]} expired of ${most}`);
}

/** The ledger entries of a task that has ended; an unfinished one has only its reservation. */
const ENTRIES: Readonly<Record<string, readonly string[]>> = {
  SUCCESS: ['reserve', 'settle'],
  FAILURE: ['refund', 'reserve'],
};

/** Opens the database of a running service a second time, for reading. */
export const openReadOnly = (url: string): Database<Tables> => openDatabase<Tables>(url);
