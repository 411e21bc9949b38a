import { setTimeout as pause } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { hasConcurrentWriters } from './sql-dialect.ts';

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
