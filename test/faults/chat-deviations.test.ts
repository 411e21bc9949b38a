import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { priceTokens } from '../../src/contract/pricing.ts';
import { SeededRandom } from '../../src/sandbox/deviations.ts';
import { ResponseConversion } from '../../src/server/chat/conversion/convert.ts';
import { AdminClient } from '../admin-client.ts';
import { PRICE } from '../chat/chat-fixture.ts';
import type { Deviation } from '../chat/deviations/deviation.ts';
import {
  assertContent,
  CORPUS,
  codecOf,
  NAMES,
  type Name,
  type Outcome,
  relayShape,
} from '../chat/deviations/relay-shape.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';
import { assertLedgerConsistent } from './ledger-assertions.ts';

/** Model calls; `npm run hammer` runs more, with another seed. */
const CALLS = Number(process.env.DEVIATING_CALLS ?? '500');
const SEED = Number(process.env.DEVIATION_SEED ?? '41');
/** A failing run prints its call numbers; this variable repeats a single call. */
const ONLY = process.env.DEVIATING_CALL;
const BATCH = 1_000;
const AT_ONCE = 24;
const MAX_REPORTED = 10;
/** Larger prompt counts are implausible for prompts of three words. */
const PLAUSIBLE_PROMPT = 4_000;

/** A model for each upstream dialect, behind its own channel. */
const UPSTREAMS: Readonly<
  Record<Name, { readonly vendor: string; readonly model: string; readonly options?: object }>
> = {
  chat: { vendor: 'openai', model: 'deviating-chat', options: { responses: false } },
  responses: { vendor: 'openai', model: 'deviating-responses', options: { responses: 'only' } },
  messages: { vendor: 'anthropic', model: 'deviating-claude' },
  gemini: { vendor: 'gemini', model: 'deviating-gemini' },
};

/** The smallest request of each dialect. */
const REQUESTS: Readonly<
  Record<Name, (model: string, text: string, stream: boolean) => readonly [path: string, body: object]>
> = {
  chat: (model, text, stream) => [
    '/v1/chat/completions',
    { model, stream, messages: [{ role: 'user', content: text }] },
  ],
  responses: (model, text, stream) => ['/v1/responses', { model, stream, input: text }],
  messages: (model, text, stream) => [
    '/v1/messages',
    { model, stream, max_tokens: 4_000, messages: [{ role: 'user', content: text }] },
  ],
  gemini: (model, text, stream) => [
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text }] }] },
  ],
};

interface PlannedCall {
  readonly prompt: string;
  readonly from: Name;
  readonly to: Name;
  readonly stream: boolean;
}

interface Reply {
  readonly status: number;
  readonly text: string;
  /** Reference of the call in the ledger. */
  readonly ref: string;
}

const random = new SeededRandom(SEED);
const plan = (n: number): PlannedCall => {
  const prompt = `call ${n}.`;
  return {
    prompt,
    from: random.pick(`${prompt} from`, NAMES),
    to: random.pick(`${prompt} to`, NAMES),
    stream: random.next(`${prompt} stream`) < 0.5,
  };
};

const ERROR_EVENT = /"error":\s*\{|"type":\s*"(?:error|response\.failed)"/;

/** Between equal dialects the bytes pass unchanged, so the response is normalized as leniently as clients read it. */
function toStrictForm({ from, to, stream }: PlannedCall, text: string): string {
  if (from !== to) return text;
  const context = { id: 'x', model: 'm', created: 1, wantsUsage: true, asked: {}, origins: new Map() };
  const conversion = new ResponseConversion(codecOf(from), codecOf(to), context);
  return stream ? conversion.push(Buffer.from(text)) + conversion.finish() : conversion.convert(Buffer.from(text));
}

/** Asserts that a caller received the content of a deviation and that the charge fits. */
function assertCall(call: PlannedCall, shape: Deviation, reply: Reply, charged: number | undefined): void {
  const { from, to, stream } = call;
  const outcome: Outcome = relayShape(shape, from, to, stream);
  const isPassed = from === to && (shape.events !== undefined) === stream;
  const fails = isPassed && outcome.fails === 'reason' ? undefined : outcome.fails;
  assert.ok(charged !== undefined, 'the call has an entry in the ledger that ends it');
  if (reply.status !== 200) {
    assert.ok(fails !== undefined, `status ${reply.status}`);
    assert.ok(reply.status >= 400 && reply.status !== 500, `status ${reply.status}`);
    assert.equal(charged, 0, 'an error is free');
    return;
  }
  if (fails !== undefined) {
    assert.ok(stream, `a whole response was delivered although the upstream failed (${fails})`);
    assert.match(reply.text, ERROR_EVENT, `a stream ended without an error (${fails})`);
    if (outcome.usage) assert.ok(charged <= priceOf(outcome), `charged ${charged}`);
    return;
  }
  const expected = { ...shape.expected, fails: undefined };
  if (outcome.fails === undefined) assertContent(toStrictForm(call, reply.text), expected, to, stream);
  if (outcome.usage === undefined) assert.ok(charged > 0, 'tokens are counted where the upstream reports none');
  else if (outcome.usage.completionTokens === 0 && shape.expected.text !== undefined)
    assert.ok(charged > priceOf(outcome), 'the text is counted where the upstream reports no output');
  else if (outcome.usage.promptTokens > PLAUSIBLE_PROMPT)
    assert.ok(charged > 0 && charged < priceOf(outcome), `${charged}`);
  else assert.equal(charged, priceOf(outcome), JSON.stringify(outcome.usage));
}

const priceOf = ({ usage }: Outcome): number => (usage === undefined ? 0 : priceTokens(PRICE, usage).quota);

describe(`model calls over deviating upstreams (seed ${SEED})`, () => {
  let service: SandboxService;
  let keys: readonly string[];
  const channels: number[] = [];

  before(async () => {
    service = await startSandboxService('sqlite::memory:', {
      sandbox: { deviations: { seed: SEED, share: 1, chat: CORPUS }, keepRequests: 2 * BATCH },
    });
    const { operator, sandbox, baseUrl } = service;
    for (const { vendor, model, options = {} } of Object.values(UPSTREAMS)) {
      await operator.requestData('POST', '/api/admin/models', { id: model, vendor, kind: 'chat', price: PRICE });
      channels.push(
        await operator.addChannel({
          vendor,
          base_url: sandbox.url(vendor),
          credentials: sandbox.credentials(vendor),
          models: [model],
          options: { private: true, ...options },
        }),
      );
    }
    // Failures of a single account would not count against a channel.
    keys = await Promise.all(
      ['one', 'two', 'three'].map(async (username) => {
        const login = { username, password: `${username}-password-1` };
        await operator.requestData('POST', '/api/admin/users', { ...login, quota: 1_000_000_000_000 });
        return (await new AdminClient(baseUrl).signIn(login)).makeToken();
      }),
    );
  });
  after(() => service?.stop());

  async function send(n: number): Promise<readonly [PlannedCall, Reply]> {
    const call = plan(n);
    const [path, body] = REQUESTS[call.to](UPSTREAMS[call.from].model, call.prompt, call.stream);
    const response = await fetch(`${service.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys[n % keys.length]}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    return [call, { status: response.status, text, ref: `req_${response.headers.get('x-request-id')}` }];
  }

  async function chargesOf(refs: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await service.app.database.kysely
      .selectFrom('ledger')
      .select(['ref', 'kind', 'charged'])
      .where('ref', 'in', refs)
      .where('kind', 'in', ['settle', 'refund'])
      .execute();
    return new Map(rows.map(({ ref, charged }) => [ref, charged]));
  }

  async function untilSettled(): Promise<void> {
    const { kysely } = service.app.database;
    for (let tries = 0; tries < 2_000; tries += 1) {
      if ((await kysely.selectFrom('reservations').select('ref').limit(1).execute()).length === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.fail('calls are still open');
  }

  it("delivers the upstreams' responses and charges each call once", { timeout: 60_000 + CALLS * 100 }, async () => {
    const startedAt = performance.now();
    const { control } = service.sandbox;
    const failures: string[] = [];
    const met = new Set<string>();
    const numbers = ONLY === undefined ? Array.from({ length: CALLS }, (_, n) => n) : [Number(ONLY)];
    for (let at = 0; at < numbers.length; at += BATCH) {
      const queue = numbers.slice(at, at + BATCH);
      const replies: (readonly [PlannedCall, Reply])[] = [];
      const worker = async () => {
        for (let n = queue.shift(); n !== undefined; n = queue.shift()) replies.push(await send(n));
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      await untilSettled();
      const sent = new Map(
        control.requests().map(({ body, deviation }) => [/call \d+\./.exec(body.toString())?.[0], deviation]),
      );
      control.clearRequests();
      const charges = await chargesOf(replies.map(([, { ref }]) => ref));
      for (const [call, reply] of replies) {
        const shape = CORPUS[call.from].find(({ name }) => name === sent.get(call.prompt));
        met.add(`${call.from} ${shape?.name}`);
        try {
          assert.ok(shape, `the upstream was never asked: ${reply.status}`);
          assertCall(call, shape, reply, charges.get(reply.ref));
        } catch (error) {
          failures.push(
            `${JSON.stringify({ ...call, shape: shape?.name })}\n${(error as Error).message}\n${reply.text.slice(0, 700)}`,
          );
        }
      }
    }
    assert.equal(failures.length, 0, `${failures.length} failed\n${failures.slice(0, MAX_REPORTED).join('\n\n')}`);
    for (const id of channels) {
      const { condition } = await service.operator.requestData<{ condition: string }>(
        'GET',
        `/api/admin/channels/${id}`,
      );
      assert.notEqual(condition, 'resting', `channel ${id}`);
    }
    await assertLedgerConsistent(service.app.database);
    const seconds = (performance.now() - startedAt) / 1_000;
    console.log(`${numbers.length} calls, ${met.size} shapes, ${Math.round(numbers.length / seconds)} calls/s`);
  });
});
