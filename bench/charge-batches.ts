import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChargeBatcher } from '../src/server/chat/charge.ts';
import { SettlementJournal } from '../src/server/chat/settlement-journal.ts';
import { systemClock } from '../src/server/platform/clock.ts';
import { migrate } from '../src/server/platform/db/migrate.ts';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import { openLog } from '../src/server/platform/log.ts';
import { LedgerStore } from '../src/server/quota/ledger.ts';
import { LedgerService } from '../src/server/quota/ledger-service.ts';
import { SpendLimitStore } from '../src/server/quota/spend-limits.ts';
import { callToRequestRow, RequestStore } from '../src/server/request-log/request-log.ts';
import { migrations, type Tables } from '../src/server/tables.ts';
import { quantile } from './support/quantile.ts';
import { reportFigure } from './support/report-figure.ts';

/**
 * Time that the money of a model call takes on SQLite by the number of calls that reserve at once: reservation,
 * settlement, usage, request log and journal, without HTTP. Times are low quantiles of many short windows, which other
 * processes hardly disturb. `TMPDIR` selects the disk: `TMPDIR=/dev/shm node bench/charge-batches.ts`.
 */
const CALLS = 12_000;
const LONE_CALLS = 2_000;
const UNDISTURBED = 0.05;
const PAYER = { userId: 1, tokenId: 2, actorId: undefined };
const DETAIL = {
  kind: 'chat',
  servedModel: 'bench-chat',
  channelId: 1,
  status: 'ok',
  errorCode: '',
  cachedTokens: 0,
  seconds: 0,
  durationMs: 12,
  firstTokenMs: null,
  stream: false,
  client: '',
  price: '{"input_per_million":1000000,"output_per_million":4000000}',
  facts: '{}',
} as const;

const folder = mkdtempSync(join(tmpdir(), 'reelgate-bench-'));
const log = openLog('warn');
const database = openDatabase<Tables>(`sqlite:${folder}/bench.db`, { log });
const journal = new SettlementJournal(join(folder, 'journal'), Buffer.alloc(32, 7), log);

async function openBatcher(): Promise<ChargeBatcher> {
  await migrate(database, migrations);
  const requests = new RequestStore(database);
  const quota = new LedgerService({
    store: new LedgerStore(database),
    clock: systemClock,
    spending: { store: new SpendLimitStore(database), timeZone: () => 'UTC' },
    onClosed: (trx, closed, now) =>
      requests.insert(
        trx,
        closed.map((each) => callToRequestRow(each, now)),
      ),
  });
  await database.transaction((trx) => quota.openWallet(trx, PAYER.userId, 1_000_000_000_000));
  return new ChargeBatcher({ database, quota, log, journal });
}

let count = 0;

/** Resolves once the quota is reserved; the settlement follows with those of other calls. */
async function charge(batcher: ChargeBatcher): Promise<void> {
  const ref = `req_abcdefghijkl${count++}`;
  await new Promise<void>((resolve, reject) => {
    batcher.reserve({ ...PAYER, ref, model: 'bench-chat', amount: 17_000 }, resolve).then(resolve, reject);
  });
  batcher.settle(PAYER, ref, 320, { promptTokens: 32, completionTokens: 72 }, DETAIL);
}

/** Microseconds for each call of a window. */
async function measure(batcher: ChargeBatcher, atOnce: number, calls: number): Promise<number[]> {
  const windows: number[] = [];
  for (let done = 0; done < calls; done += atOnce) {
    const begunAt = performance.now();
    await Promise.all(Array.from({ length: atOnce }, () => charge(batcher)));
    windows.push(((performance.now() - begunAt) * 1_000) / atOnce);
  }
  await batcher.idle();
  return windows;
}

try {
  const batcher = await openBatcher();
  await measure(batcher, 16, CALLS);
  for (const atOnce of [1, 4, 16, 64]) {
    const windows = await measure(batcher, atOnce, atOnce === 1 ? LONE_CALLS : CALLS);
    const measured = quantile(windows, UNDISTURBED);
    process.stdout.write(`${atOnce} at once: ${measured.toFixed(1)} µs for each call\n`);
    reportFigure({ subject: `money of a model call on SQLite, ${atOnce} at once`, unit: 'µs', measured });
  }
} finally {
  journal.stop();
  await database.close();
  rmSync(folder, { recursive: true, force: true });
}
