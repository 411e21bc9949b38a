import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { DAY_MS } from '../../src/contract/time-units.ts';
import { wordsSentFor } from '../../src/sandbox/chat.ts';
import { ALL_SIMULATORS, type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { countTokens } from '../../src/server/chat/usage.ts';
import { LedgerStore } from '../../src/server/quota/ledger.ts';
import { LedgerService, refundAbandonedReservations } from '../../src/server/quota/ledger-service.ts';
import { AdminClient } from '../admin-client.ts';
import { assertLedgerConsistent, openReadOnly } from '../faults/ledger-assertions.ts';
import { startCrashingServer } from '../faults/start-crashing-server.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { chatBody, contentOf, PRICE } from './chat-fixture.ts';

const CALLS = 12;
/** Kills per kind of call; `npm run hammer` runs more. */
const ROUNDS = Number(process.env.CHAT_KILL_ROUNDS ?? '1');
let lastTag = 700_000;

/** Streams in one caller dialect by a model whose upstream speaks the vendor's dialect. */
interface Kind {
  readonly name: string;
  readonly path: string;
  readonly model: string;
  readonly vendor: 'openai' | 'anthropic' | 'gemini';
  readonly body: (text: string) => object;
  /** Matches an event that delivers one word to the caller. */
  readonly word: RegExp;
}

const CHAT: Kind = {
  name: 'chat completions',
  path: '/v1/chat/completions',
  model: 'sandbox-chat',
  vendor: 'openai',
  body: (text) => chatBody(text),
  word: /"content":" ?\w/,
};
const RESPONSES = {
  path: '/v1/responses',
  body: (text: string) => ({ input: text }),
  word: /"type":"response\.output_text\.delta"/,
};
const KINDS: readonly Kind[] = [
  CHAT,
  { ...RESPONSES, name: 'Responses over Anthropic', model: 'sandbox-claude', vendor: 'anthropic' },
  { ...RESPONSES, name: 'Responses over Google', model: 'sandbox-gemini', vendor: 'gemini' },
];

const textOf = (tag: number): string => `[chunks=400] [delay=10] [tag=${tag}]`;

function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'reelgate-journal-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

forEachDatabase((name, _open, freshUrl) => {
  let sandbox: Sandbox;
  before(async () => {
    sandbox = await startSandbox({ simulators: ALL_SIMULATORS });
  });
  after(() => sandbox.stop());

  /** Starts a service in its own process and opens streams on it. */
  async function underWay(journal: string, { path, model, vendor, body }: Kind = CHAT) {
    const url = await freshUrl();
    const service = await startCrashingServer(url, { JOURNAL_DIR: journal });
    const operator = await new AdminClient(service.baseUrl).signIn();
    await operator.requestData('POST', '/api/admin/models', { id: model, vendor, kind: 'chat', price: PRICE });
    await operator.addChannel({
      vendor,
      base_url: sandbox.url(vendor),
      credentials: sandbox.credentials(vendor),
      models: [model],
    });
    await operator.grantQuota(10_000_000);
    const key = await operator.makeToken();
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const tags = Array.from({ length: CALLS }, () => ++lastTag);
    const answers = await Promise.all(
      tags.map((tag) =>
        fetch(`${service.baseUrl}${path}`, {
          method: 'POST',
          headers,
          body: JSON.stringify({ ...body(textOf(tag)), model, stream: true }),
        }),
      ),
    );
    const texts = answers.map((answer) => textUntilBroken(answer));
    await pause(200 + Math.random() * 300);
    return { url, service, texts, tags, refs: answers.map(({ headers }) => `req_${headers.get('x-request-id')}`) };
  }

  async function killAndRecover(t: TestContext, kind: Kind): Promise<void> {
    const journal = temporaryDirectory(t);
    const { url, service, texts, tags, refs } = await underWay(journal, kind);
    process.kill(service.pid, 'SIGKILL');
    await service.ended;
    const heard = (await Promise.all(texts)).map(
      (text) =>
        text
          .split('\n\n')
          .slice(0, -1)
          .filter((event) => kind.word.test(event)).length,
    );
    const again = await startCrashingServer(url, { JOURNAL_DIR: journal });
    const database = openReadOnly(url);
    try {
      const openRefs = () => database.kysely.selectFrom('reservations').select('ref').execute();
      for (let tries = 0; tries < 200 && (await openRefs()).length > 0; tries++) await pause(50);
      await assertLedgerConsistent(database);
      const ends = await database.kysely
        .selectFrom('ledger')
        .innerJoin('requests', 'requests.ref', 'ledger.ref')
        .select(['ledger.ref', 'charged', 'input_tokens', 'output_tokens'])
        .where('ledger.kind', '=', 'settle')
        .execute();
      assert.equal(ends.length, CALLS, 'each is settled once');
      for (const { ref, charged, input_tokens: prompt, output_tokens: words } of ends) {
        const index = refs.indexOf(ref);
        const tag = tags[index] ?? 0;
        const said = wordsSentFor(tag);
        assert.ok(
          (heard[index] ?? 0) <= words && words <= said,
          `heard ${heard[index]}, charged ${words}, said ${said}`,
        );
        assert.ok(words > 0);
        assert.equal(charged, (prompt * PRICE.input_per_million + words * PRICE.output_per_million) / 1e6);
        if (kind === CHAT) assert.equal(prompt, await countTokens(textOf(tag)));
        else assert.ok(prompt > 0);
      }
      const segments = () =>
        readdirSync(journal, { recursive: true }).filter((path) => String(path).includes(`~${service.pid}~`));
      // Deleted after the last settlement.
      for (let tries = 0; tries < 200 && segments().length > 0; tries++) await pause(50);
      assert.deepEqual(segments(), [], 'what is settled is not kept');
    } finally {
      await database.close();
      await again.stop();
    }
  }

  // Recovery reads the journal alike on both databases, so each kind of converted stream is killed on one of them
  // unless more rounds are requested.
  const elsewhere = ROUNDS > 1 ? undefined : name === 'sqlite' ? 'gemini' : 'anthropic';
  for (const kind of KINDS.filter(({ vendor }) => vendor !== elsewhere))
    test(`${name}: T81: after kill -9 the restarted service charges what ${kind.name} delivered: at least the received part, at most the sent part`, async (t) => {
      for (let round = 0; round < ROUNDS; round++) await killAndRecover(t, kind);
    });

  test(`${name}: kill -9 with a lost journal loses no money: open reservations are refunded once, when their calls can no longer end`, async (t) => {
    const journal = temporaryDirectory(t);
    const { url, service, texts } = await underWay(journal);
    process.kill(service.pid, 'SIGKILL');
    await service.ended;
    await Promise.all(texts);
    rmSync(journal, { recursive: true });
    const again = await startCrashingServer(url, { JOURNAL_DIR: journal });
    const database = openReadOnly(url);
    try {
      const holds = await database.kysely.selectFrom('reservations').select(['ref', 'amount']).execute();
      assert.equal(holds.length, CALLS, 'each reservation is there');
      const store = new LedgerStore(database);
      const inDays = { now: () => Date.now() + 3 * DAY_MS };
      const parts = { database, store, ledger: new LedgerService({ store, clock: inDays }), clock: inDays };
      const now = { ...parts, clock: { now: () => Date.now() } };
      const sweep = { prefix: 'req_', olderThanMs: 6_000_000 };
      assert.equal(await refundAbandonedReservations(now, sweep), 0, 'not while it may still be under way somewhere');
      const [one, other] = await Promise.all([
        refundAbandonedReservations(parts, sweep),
        refundAbandonedReservations(parts, sweep),
      ]);
      assert.equal(one + other, CALLS, 'given back once, whoever sweeps');
      await assertLedgerConsistent(database);
      const { balance } = await database.kysely.selectFrom('wallets').select('balance').executeTakeFirstOrThrow();
      assert.equal(balance, 10_000_000);
    } finally {
      await database.close();
      await again.stop();
    }
  });

  test(`${name}: an orderly stop ends streams after the grace period and charges the delivered part`, async (t) => {
    const { url, service, texts } = await underWay(temporaryDirectory(t));
    await service.stop();
    const words = (await Promise.all(texts)).map((text) => contentOf(text).split(' ').length);
    const database = openReadOnly(url);
    try {
      await assertLedgerConsistent(database);
      const ends = await database.kysely.selectFrom('ledger').select('charged').where('kind', '=', 'settle').execute();
      assert.equal(ends.length, CALLS);
      const least = Math.min(...words) * 4;
      for (const { charged } of ends) assert.ok(charged >= least && charged < 1_800, `${charged}, ${least}`);
    } finally {
      await database.close();
    }
  });
});

/** Reads the text that arrives until the connection breaks. */
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
