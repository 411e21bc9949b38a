import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Sandbox, startSandbox } from '../../src/sandbox/kit.ts';
import { SIMULATORS } from '../../src/sandbox/simulators.ts';
import { refundAbandoned } from '../../src/server/quota/abandoned.ts';
import { makeQuota } from '../../src/server/quota/service.ts';
import { QuotaStore } from '../../src/server/quota/store.ts';
import { forEachDatabase } from '../databases.ts';
import { assertBooks, lookInto } from '../faults/books.ts';
import { startCrashing } from '../faults/crashing-service.ts';
import { Operator } from '../operator.ts';
import { PRICE, question, spokenIn } from './service.ts';

const CALLS = 12;

forEachDatabase((name, _open, freshUrl) => {
  let sandbox: Sandbox;
  before(async () => {
    sandbox = await startSandbox({ simulators: SIMULATORS });
  });
  after(() => sandbox.stop());

  /** A service in a process of its own, with streams under way. */
  async function underWay() {
    const url = await freshUrl();
    const service = await startCrashing(url, {});
    const operator = await new Operator(service.baseUrl).signIn();
    await operator.call('POST', '/api/admin/models', {
      id: 'sandbox-chat',
      vendor: 'openai',
      kind: 'chat',
      price: PRICE,
    });
    const credentials = sandbox.credentials('openai');
    await operator.addChannel({
      vendor: 'openai',
      base_url: sandbox.url('openai'),
      credentials,
      models: ['sandbox-chat'],
    });
    await operator.grant(10_000_000);
    const key = await operator.makeToken();
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify(question('[chunks=400] [delay=10]', { stream: true }));
    const answers = await Promise.all(
      Array.from({ length: CALLS }, () =>
        fetch(`${service.baseUrl}/v1/chat/completions`, { method: 'POST', headers, body }),
      ),
    );
    const texts = answers.map((answer) => textUntilBroken(answer));
    await pause(300);
    return { url, service, texts };
  }

  test(`${name}: kill -9 loses no money: what was under way is given back, once, when it can no longer end`, async () => {
    const { url, service, texts } = await underWay();
    process.kill(service.pid, 'SIGKILL');
    await service.ended;
    await Promise.all(texts);
    const again = await startCrashing(url, {});
    const database = lookInto(url);
    try {
      const holds = await database.kysely.selectFrom('holds').select(['ref', 'amount']).execute();
      assert.equal(holds.length, CALLS, 'each reservation is there');
      const store = new QuotaStore(database);
      const inDays = { now: () => Date.now() + 3 * 86_400_000 };
      const parts = { database, store, quota: makeQuota(store, inDays), clock: inDays };
      const now = { ...parts, clock: { now: () => Date.now() } };
      const sweep = { prefix: 'req_', olderThanMs: 6_000_000 };
      assert.equal(await refundAbandoned(now, sweep), 0, 'not while it may still be under way somewhere');
      const [one, other] = await Promise.all([refundAbandoned(parts, sweep), refundAbandoned(parts, sweep)]);
      assert.equal(one + other, CALLS, 'given back once, whoever sweeps');
      await assertBooks(database);
      const { balance } = await database.kysely.selectFrom('wallets').select('balance').executeTakeFirstOrThrow();
      assert.equal(balance, 10_000_000);
    } finally {
      await database.close();
      await again.stop();
    }
  });

  test(`${name}: an orderly stop ends streams after its grace and charges what came`, async () => {
    const { url, service, texts } = await underWay();
    await service.stop();
    const words = (await Promise.all(texts)).map((text) => spokenIn(text).split(' ').length);
    const database = lookInto(url);
    try {
      await assertBooks(database);
      const ends = await database.kysely.selectFrom('ledger').select('charged').where('kind', '=', 'settle').execute();
      assert.equal(ends.length, CALLS);
      const least = Math.min(...words) * 4;
      for (const { charged } of ends) assert.ok(charged >= least && charged < 1_800, `${charged}, ${least}`);
    } finally {
      await database.close();
    }
  });
});

/** What arrived until the connection broke. */
async function textUntilBroken(answer: Response): Promise<string> {
  let text = '';
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const read = await reader?.read();
      if (read === undefined || read.done) return text;
      text += read.value;
    }
  } catch {
    return text;
  }
}
