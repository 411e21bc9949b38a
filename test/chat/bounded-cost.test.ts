import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { callModelApi } from '../call-model-api.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import type { ChatService } from './chat-fixture.ts';
import { startScriptedChat } from './scripted-chat-fixture.ts';
import type { ScriptedUpstream } from './scripted-upstream.ts';

const PATH = '/v1/chat/completions';
const BY_TOKEN = { input_per_million: 1_000_000, output_per_million: 1_000_000 };
const data = (...all: object[]): string => all.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('');
const word = (content: string) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });

describe('maximum cost of a model call', { concurrency: false }, () => {
  let service: ChatService;
  let upstream: ScriptedUpstream;
  let channelId: number;
  before(async () => {
    const models = ['plain', 'o3-thinker', 'newcomer', 'silent'];
    ({ service, upstream, channelId } = await startScriptedChat(models, { price: BY_TOKEN }));
  });
  afterEach(async () => {
    await service.waitUntilSettled();
    await assertLedgerConsistent(service.app.database);
  });
  after(async () => {
    await service.stop();
    await upstream.stop();
  });

  const answers = (usage: object): void =>
    upstream.respondWith((response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ choices: [{ message: { content: 'one' } }], usage })),
    );
  const sent = (): Record<string, unknown> => JSON.parse(upstream.requests.at(-1)?.body ?? '{}');
  const ask = (body: object, key = service.key, path = PATH) =>
    callModelApi(service.baseUrl, key, 'POST', path, {
      model: 'plain',
      messages: [{ role: 'user', content: 'hi' }],
      ...body,
    });
  const reserved = async (): Promise<number> =>
    -((await service.waitUntilSettled()).find(({ kind }) => kind === 'reserve')?.amount ?? 0);

  test('T73: reserves the same token limit it sends upstream, so a wallet of X buys no more than X', async () => {
    answers({ prompt_tokens: 7, completion_tokens: 3 });
    for (const [body, key, tokens] of [
      [{}, 'max_tokens', 4_096],
      [{ max_tokens: null }, 'max_tokens', 4_096],
      [{ max_tokens: 0 }, 'max_tokens', 4_096],
      [{ max_tokens: 50 }, 'max_tokens', 50],
      [{ max_completion_tokens: 60 }, 'max_completion_tokens', 60],
      [{ n: 2 }, 'max_tokens', 4_096],
      [{ model: 'o3-thinker' }, 'max_completion_tokens', 32_768],
    ] as const) {
      assert.equal((await ask(body)).status, 200);
      assert.equal(sent()[key], tokens, JSON.stringify(body));
      const choices = 'n' in body ? body.n : 1;
      assert.ok((await reserved()) >= tokens * choices, JSON.stringify(body));
    }
    await ask({ input: 'hi' }, service.key, '/v1/responses');
    assert.equal(sent().max_output_tokens, 4_096);
    await service.operator.requestData('PUT', `/api/admin/channels/${channelId}`, {
      options: { private: true, max_output_tokens: 9_000, max_tokens_key: 'max_completion_tokens' },
    });
    await ask({});
    assert.equal(sent().max_completion_tokens, 9_000);
    assert.ok((await reserved()) >= 9_000);
    await service.operator.requestData('PUT', `/api/admin/channels/${channelId}`, { options: { private: true } });
  });

  test('T73: does not start a call whose reservation exceeds the wallet or the token limit', async () => {
    answers({ prompt_tokens: 7, completion_tokens: 3 });
    const limited = await service.operator.makeToken({ quota_limit: 4_000 });
    const { status, body } = await ask({}, limited);
    const error = body.error as unknown as { code: string; message: string };
    assert.deepEqual([status, error.code], [403, 'quota_not_enough']);
    assert.match(error.message, /This key’s limit is 0\.008 credits/);
    assert.equal((await ask({ max_tokens: 3_000 }, limited)).status, 200);
  });

  test('T73: no tokenizer makes more tokens of a prompt than were reserved', async () => {
    for (const content of ['a', '!@#$%^&*()_+{}|:"<>?'.repeat(50), 'ṱẁ𝕏'.repeat(200), '\n'.repeat(500)]) {
      answers({ prompt_tokens: Buffer.byteLength(content), completion_tokens: 3 });
      await ask({ max_tokens: 10, messages: [{ role: 'user', content }] });
      const rows = await service.waitUntilSettled();
      const charged = rows.find(({ kind }) => kind === 'settle')?.charged ?? 0;
      assert.ok(charged <= (await reserved()), content.slice(0, 20));
    }
  });

  test('T73: an account that cannot afford one token per byte can still send ordinary text', async () => {
    answers({ prompt_tokens: 1_100, completion_tokens: 3 });
    const content = 'an ordinary word or two '.repeat(200);
    const limited = await service.operator.makeToken({ quota_limit: 2_500 });
    assert.equal((await ask({ max_tokens: 100, messages: [{ role: 'user', content }] }, limited)).status, 200);
    const odd = '!@#$%^&*()_+{}|:"<>?'.repeat(240);
    assert.equal((await ask({ max_tokens: 100, messages: [{ role: 'user', content: odd }] }, limited)).status, 403);
  });

  test('a failed call is refunded before its response is sent', async () => {
    const before = (await service.operator.quota()).quota;
    for (const respond of [
      () => upstream.respondWith((response) => response.writeHead(400).end('{"error":{"message":"no"}}')),
      () => upstream.respondWith((response) => response.writeHead(500).end()),
      () => upstream.respondWith((response) => response.destroy()),
      () =>
        upstream.respondWith((response) =>
          response.writeHead(200, { 'content-type': 'text/event-stream' }).end(data({ error: { message: 'no' } })),
        ),
    ])
      for (const stream of [false, true]) {
        respond();
        const { status } = await ask({ stream });
        assert.ok(status >= 400, String(status));
        assert.equal((await service.operator.quota()).quota, before);
        await service.operator.requestData('PUT', `/api/admin/channels/${channelId}`, {
          weight: 1 + upstream.requests.length,
        });
      }
  });

  /**
   * The upstream streams text, pauses, then sends its usage; the caller disconnects after the text, before the usage.
   */
  const leaveEarly = async (name: string, thinkMs: number, completionTokens: number, more: object = {}) => {
    upstream.respondWith(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(data(word('one '), word('two')));
      await pause(thinkMs);
      response.write(data({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
      response.end(
        `${data({ choices: [], usage: { prompt_tokens: 7, completion_tokens: completionTokens } })}data: [DONE]\n\n`,
      );
    });
    const controller = new AbortController();
    const body = { model: name, max_tokens: 60_000, ...more };
    const response = await service.stream('hi', body, controller.signal);
    for await (const piece of response.body ?? []) if (Buffer.from(piece).includes('two')) break;
    controller.abort();
    return (await service.waitUntilSettled())[0]?.charged ?? 0;
  };

  // QuantumNous/new-api #4344
  test('T82: a caller who disconnects from a call that is not streamed pays for what was generated until then', async () => {
    upstream.respondWith(() => {});
    const controller = new AbortController();
    const asked = fetch(`${service.baseUrl}${PATH}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'silent', max_tokens: 5_000, messages: [{ role: 'user', content: 'hi' }] }),
      signal: controller.signal,
    });
    await pause(1_000);
    controller.abort();
    await assert.rejects(asked);
    const charged = (await service.waitUntilSettled())[0]?.charged ?? 0;
    assert.ok(charged > 20 && charged < 5_000, String(charged));
  });

  test('T82: a caller who disconnects before the usage arrives still pays for hidden reasoning', async () => {
    assert.equal(await leaveEarly('newcomer', 50, 50_018), 7 + 50_018, 'the upstream has a moment to give its figures');
    const late = await leaveEarly('newcomer', 5_000, 50_018);
    assert.ok(late > 1_000 && late <= 60_000 + 200, `by what was measured of this model: ${late}`);
    const declared = await leaveEarly('plain', 5_000, 50_018, { reasoning_effort: 'high' });
    assert.ok(declared > 10, `by the effort asked for: ${declared}`);
  });
});
