/** CPU that the request log costs a model call: the row and its insert, beside a settlement without it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toCallDetail, toStoredTerms } from '../src/server/chat/call-detail.ts';
import { CHAT } from '../src/server/chat/dialects.ts';
import { migrations } from '../src/server/migrations.ts';
import { migrate } from '../src/server/platform/db/migrate.ts';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import type { CloseListener } from '../src/server/quota/ledger.ts';
import { LedgerService } from '../src/server/quota/service.ts';
import { LedgerStore } from '../src/server/quota/store.ts';
import { toRequestRow } from '../src/server/requests/request-row.ts';
import { RequestStore } from '../src/server/requests/store.ts';
import type { Tables } from '../src/server/tables.ts';

const CALLS = 64_000;
const BATCH = 64;
const PRICE = { input_per_million: 1_000_000, output_per_million: 4_000_000, cached_input_per_million: 100_000 };
const ORIGIN = { model: { target: 'gpt-x', kind: 'chat' as const }, client: 'OpenAI/JS 7.57.0', startedAt: Date.now() };
const USAGE = { promptTokens: 1_000, completionTokens: 200, reasoningTokens: 0, parts: { cached_input: 800 } };

/** @returns microseconds of CPU a settled call */
async function measure(url: string, onClosed: CloseListener | undefined, withDetail: boolean): Promise<number> {
  const database = openDatabase<Tables>(url);
  await migrate(database, migrations);
  const quota = new LedgerService({ store: new LedgerStore(database), clock: { now: () => Date.now() }, onClosed });
  const owner = Math.floor(Math.random() * 1e9);
  await database.transaction((trx) => quota.openWallet(trx, owner, 1_000_000_000));
  let microseconds = 0;
  for (let done = 0; done < CALLS; done += BATCH) {
    const refs = Array.from({ length: BATCH }, (_, index) => `req_${owner}_${(done + index).toString(36)}`);
    await database.transaction((trx) =>
      quota.reserveAll(
        trx,
        refs.map((ref) => ({ ref, userId: owner, tokenId: 1, model: 'gpt-x', amount: 100 })),
      ),
    );
    const before = process.cpuUsage();
    await database.transaction((trx) =>
      quota.settleAll(
        trx,
        refs.map((ref) => ({ ref, cost: 50, usage: USAGE, detail: withDetail ? detailOf() : undefined })),
      ),
    );
    const { user, system } = process.cpuUsage(before);
    microseconds += user + system;
  }
  await database.close();
  return microseconds / CALLS;
}

const detailOf = () => ({
  ...toCallDetail({ dialect: CHAT, stream: true }, { ...ORIGIN, begunAt: performance.now() }, END),
  cachedTokens: 800,
  ...toStoredTerms(PRICE, USAGE, 0, 0, 1),
});
const END = { status: 'ok', channelId: 3, firstTokenMs: 120 } as const;

const directory = mkdtempSync(join(tmpdir(), 'rg-bench-'));
const rounds: { without: number; with: number }[] = [];
for (let round = 0; round < 3; round++) {
  const fresh = (name: string) => `sqlite:${join(directory, `${name}${round}.db`)}`;
  const without = await measure(fresh('without'), undefined, false);
  let store: RequestStore | undefined;
  const onClosed: CloseListener = (trx, closed) => {
    store ??= new RequestStore({ kysely: trx } as never);
    return store.insert(
      trx,
      closed.map((each) => toRequestRow(each, Date.now())),
    );
  };
  rounds.push({ without, with: await measure(fresh('with'), onClosed, true) });
}
rmSync(directory, { recursive: true });
for (const round of rounds)
  console.log(
    `settlement ${round.without.toFixed(1)} µs, with the request log ${round.with.toFixed(1)} µs: ${(round.with - round.without).toFixed(1)} µs a call`,
  );
