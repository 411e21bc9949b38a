/**
 * CPU cost of the request log for a model call: a settlement with the row and its insert, compared with one without.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toCallDetail, toStoredTerms } from '../src/server/chat/charge.ts';
import { CHAT_DIALECT } from '../src/server/chat/dialects.ts';
import { migrate } from '../src/server/platform/db/migrate.ts';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import { type CloseListener, LedgerStore } from '../src/server/quota/ledger.ts';
import { LedgerService } from '../src/server/quota/ledger-service.ts';
import { callToRequestRow, RequestStore } from '../src/server/request-log/request-log.ts';
import { migrations, type Tables } from '../src/server/tables.ts';
import { median } from './support/quantile.ts';
import { reportFigure } from './support/report-figure.ts';

const CALLS = 128_000;
const BATCH = 64;
const WARM_UP = 16_000;
const PRICE = { input_per_million: 1_000_000, output_per_million: 4_000_000, cached_input_per_million: 100_000 };
const ORIGIN = { model: { target: 'gpt-x', kind: 'chat' as const }, client: 'OpenAI/JS 7.57.0' };
const USAGE = { promptTokens: 1_000, completionTokens: 200, reasoningTokens: 0, parts: { cached_input: 800 } };

/** A database whose settlements are measured, with a wallet to reserve from. */
async function open(url: string, onClosed: CloseListener | undefined) {
  const database = openDatabase<Tables>(url);
  await migrate(database, migrations);
  const quota = new LedgerService({ store: new LedgerStore(database), clock: { now: () => Date.now() }, onClosed });
  const owner = Math.floor(Math.random() * 1e9);
  await database.transaction((trx) => quota.openWallet(trx, owner, 1_000_000_000));
  let done = 0;
  return {
    close: () => database.close(),
    /** @returns microseconds of CPU per call of one batch */
    async settle(detail: (() => ReturnType<typeof detailOf>) | undefined): Promise<number> {
      const refs = Array.from({ length: BATCH }, (_, index) => `req_${owner}_${(done + index).toString(36)}`);
      done += BATCH;
      await database.transaction((trx) =>
        quota.charge(trx, {
          reservations: refs.map((ref) => ({ ref, userId: owner, tokenId: 1, model: 'gpt-x', amount: 100 })),
        }),
      );
      const before = process.cpuUsage();
      await database.transaction((trx) =>
        quota.charge(trx, { settlements: refs.map((ref) => ({ ref, cost: 50, usage: USAGE, detail: detail?.() })) }),
      );
      const { user, system } = process.cpuUsage(before);
      return (user + system) / BATCH;
    },
  };
}

const detailOf = () => ({
  ...toCallDetail({ dialect: CHAT_DIALECT, stream: true }, { ...ORIGIN, begunAt: performance.now() }, END),
  cachedTokens: 800,
  ...toStoredTerms(PRICE, USAGE, 0, 0, 1),
});
const END = { status: 'ok', channelId: 3, firstTokenMs: 120 } as const;

const directory = mkdtempSync(join(tmpdir(), 'rg-bench-'));
const rowsOf = new RequestStore(undefined as never);
const addClosed: CloseListener = (trx, closed, now) =>
  rowsOf.insert(
    trx,
    closed.map((each) => callToRequestRow(each, now)),
  );
const plain = await open(`sqlite:${join(directory, 'without.db')}`, undefined);
const logged = await open(`sqlite:${join(directory, 'with.db')}`, addClosed);
const [without, withLog]: [number[], number[]] = [[], []];
// Alternates batches, so that other load on the machine affects both alike.
for (let done = 0; done < CALLS; done += BATCH) {
  const isWarm = done >= WARM_UP;
  const one = await plain.settle(undefined);
  const other = await logged.settle(detailOf);
  if (isWarm) {
    without.push(one);
    withLog.push(other);
  }
}
await plain.close();
await logged.close();
rmSync(directory, { recursive: true });
const differences = withLog.map((value, index) => value - (without[index] ?? 0));
reportFigure({ subject: 'request log of a model call, CPU', unit: 'µs', measured: median(differences) });
console.log(
  `settlement ${median(without).toFixed(1)} µs, with the request log ${median(withLog).toFixed(1)} µs: ` +
    `${median(differences).toFixed(1)} µs of CPU a call (medians of ${differences.length} pairs of batches of ${BATCH})`,
);
