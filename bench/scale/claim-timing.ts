import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { systemClock } from '../../src/server/platform/clock.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { LedgerAuditService, LedgerCheckpointStore } from '../../src/server/quota/ledger-audit.ts';
import { LedgerCompaction, LedgerCompactionStore } from '../../src/server/quota/ledger-compaction.ts';
import type { Tables } from '../../src/server/tables.ts';
import { PollStore } from '../../src/server/video/poll-scheduler.ts';
import { quantile } from '../support/quantile.ts';
import { reportFigure } from '../support/report-figure.ts';

const TRIES = 40;

/** Times claims of due tasks among many that are not due: with none due, which is the usual case, and with some. */
export async function timeClaims(database: Database<Tables>): Promise<void> {
  const store = new PollStore(database);
  const claim = async (now: number): Promise<number> => {
    const startedAt = performance.now();
    await store.claimDue(now, 1_000, 500);
    return performance.now() - startedAt;
  };
  const idle: number[] = [];
  for (let tries = 0; tries < TRIES; tries++) idle.push(await claim(0));
  const busy: number[] = [];
  for (let tries = 0; tries < TRIES; tries++) {
    const due = sql`(select seq from tasks where next_poll_at is not null order by next_poll_at desc limit 50)`;
    await sql`update tasks set next_poll_at = ${1_000 + tries} where seq in ${due}`.execute(database.kysely);
    busy.push(await claim(1_000 + tries));
  }
  report(database, 'search for due work, none due, median', quantile(idle, 0.5), 5, 'ms');
  report(database, 'due work found and claimed, 50 videos, median', quantile(busy, 0.5), 5, 'ms');
}

/** Waits for the full audit that the service runs after its start, and measures its effect on a caller. */
export async function timeFullAudit(database: Database<Tables>, ask: () => Promise<unknown>): Promise<void> {
  const latencies: number[] = [];
  for (;;) {
    const startedAt = performance.now();
    await ask();
    latencies.push(performance.now() - startedAt);
    await pause(20);
    const full = await database.kysely
      .selectFrom('ledger_audits')
      .selectAll()
      .where('kind', '=', 'full')
      .executeTakeFirst();
    if (full === undefined) continue;
    if (full.findings !== '[]') throw new Error(`the ledger is wrong: ${full.findings}`);
    report(database, 'full audit of the ledger', full.duration_ms / 1_000, undefined, 's');
    report(database, 'query beside it, median', quantile(latencies, 0.5), undefined, 'ms');
    report(database, 'query beside it, p99', quantile(latencies, 0.99), undefined, 'ms');
    return;
  }
}

/**
 * Times the incremental audit. The service runs one every five minutes too; if that has just happened, this one has
 * nothing to do.
 */
export async function timeIncrementalAudit(
  database: Database<Tables>,
  makeEntries: () => Promise<unknown>,
): Promise<void> {
  const audit = new LedgerAuditService({
    store: new LedgerCheckpointStore(database),
    compaction: new LedgerCompaction({
      store: new LedgerCompactionStore(database),
      clock: systemClock,
      retentionDays: () => 0,
    }),
    events: { write: async () => {} },
    clock: systemClock,
    log: openLog('silent'),
  });
  await audit.run('incremental');
  await makeEntries();
  const begunAt = performance.now();
  if ((await audit.run('incremental'))?.ok === false) throw new Error('the ledger is wrong');
  report(database, 'incremental audit of the ledger', performance.now() - begunAt, 1_000, 'ms');
}

function report(
  database: Database<Tables>,
  subject: string,
  measured: number,
  asked: number | undefined,
  unit: string,
) {
  console.log(`${subject}: ${measured.toFixed(1)} ${unit}`);
  reportFigure({ subject: `${subject}, ${database.dialect}`, unit, measured, ...(asked !== undefined && { asked }) });
}
