import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { callModelApi } from '../call-model-api.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { holdFlushes } from '../held-flushes.ts';
import { middayClock } from '../midday-clock.ts';
import { type ChatService, chatBody, contentOf, eventsOf, startChat } from './chat-fixture.ts';

forEachDatabase((name, _open, freshUrl) => {
  let service: ChatService;
  before(async () => {
    service = await startChat(await freshUrl(), { channels: 4, overrides: { clock: middayClock } });
  });
  afterEach(async () => {
    service.sandbox.control.clearFaults();
    service.sandbox.control.clearRequests();
    await service.waitUntilSettled();
    await assertLedgerConsistent(service.app.database);
  });
  after(() => service.stop());
  const sent = () => service.sandbox.control.requests({ vendor: 'openai', operation: 'submit' });

  test(`${name}: relays a complete answer unchanged and charges the upstream's usage`, async () => {
    const { status, body, headers } = await service.ask('[chunks=5] hello');
    assert.equal(status, 200);
    const usage = body.usage as unknown as { prompt_tokens: number; completion_tokens: number };
    assert.equal(usage.completion_tokens, 5);
    assert.ok(headers.get('x-request-id'));
    const [end, begin] = await service.waitUntilSettled();
    assert.equal(end?.kind, 'settle');
    assert.equal(end?.charged, usage.prompt_tokens + 4 * 5);
    assert.equal(begin?.kind, 'reserve');
    assert.equal(begin?.ref, `req_${headers.get('x-request-id')}`);
  });

  if (name === 'sqlite')
    test(`${name}: sends the request while its reservation is flushed; the response waits, and fails with the flush`, async () => {
      const own = await startChat('sqlite::memory:');
      const sentBy = () => own.sandbox.control.requests({ vendor: 'openai', operation: 'submit' }).length;
      const flushes = holdFlushes();
      try {
        const outcomes: number[] = [];
        const ask = async () => void outcomes.push((await own.ask('[chunks=5] hello')).status);
        const first = ask();
        while (sentBy() < 1) await pause(5);
        await flushes.untilWaiting();
        await pause(100);
        assert.deepEqual(outcomes, []);
        flushes.end();
        await first;
        assert.deepEqual(outcomes, [200]);
        await flushes.untilWaiting();
        flushes.end();
        const second = ask();
        while (sentBy() < 2) await pause(5);
        await flushes.untilWaiting();
        flushes.end(Object.assign(new Error('i/o error'), { code: 'EIO' }));
        await second;
        assert.deepEqual(outcomes, [200, 503]);
      } finally {
        flushes.restore();
        await own.stop();
      }
    });

  test(`${name}: /v2 is an alias of /v1`, async () => {
    const { status } = await callModelApi(service.baseUrl, service.key, 'POST', '/v2/chat/completions', chatBody('hi'));
    assert.equal(status, 200);
  });

  test(`${name}: relays a stream complete and in order; usage is requested, used and hidden`, async () => {
    const text = await (await service.stream('[chunks=40] hello')).text();
    assert.equal(contentOf(text).split(' ').length, 40);
    assert.equal(eventsOf(text).at(-1), '[DONE]');
    assert.ok(!text.includes('"usage":{'));
    assert.equal((sent()[0]?.body.toString() ?? '').includes('"include_usage":true'), true);
    const [end] = await service.waitUntilSettled();
    assert.equal(end?.kind, 'settle');
    assert.ok((end?.charged ?? 0) > 160 && (end?.charged ?? 0) < 200, String(end?.charged));
  });

  test(`${name}: shows usage to callers who request it`, async () => {
    const text = await (await service.stream('[chunks=3]', { stream_options: { include_usage: true } })).text();
    const last = JSON.parse(eventsOf(text).at(-2) ?? '');
    assert.deepEqual([last.choices, last.usage.completion_tokens], [[], 3]);
  });

  test(`${name}: relays unknown fields, large numbers and images as written`, async () => {
    const body =
      '{ "temperature" : 1.10, "max_tokens":50, "big":9007199254740993, "messages":[{"role":"user","content":[{"type":"text","text":"\\u00e9 [chunks=1]"},' +
      '{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}], "model":"sandbox-chat","x_own":{"a":[1,{}]} }';
    const response = await fetch(`${service.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body,
    });
    assert.equal(response.status, 200);
    assert.equal(sent()[0]?.body.toString(), body);
  });

  test(`${name}: counts tokens if usage is missing or implausible`, async () => {
    for (const usage of [0, -1, 2]) {
      assert.equal((await service.ask(`[chunks=6] [usage=${usage}]`)).status, 200);
      const [end] = await service.waitUntilSettled();
      assert.equal(end?.kind, 'settle', `usage ${usage}`);
      assert.ok((end?.charged ?? 0) >= 6 * 4 && (end?.charged ?? 0) < 6 * 4 + 40, `usage ${usage}: ${end?.charged}`);
    }
    const text = await (await service.stream('[chunks=6] [usage=0]')).text();
    assert.equal(contentOf(text).split(' ').length, 6);
    const [end] = await service.waitUntilSettled();
    assert.ok((end?.charged ?? 0) >= 24 && (end?.charged ?? 0) < 64, String(end?.charged));
  });

  test(`${name}: fails over on connect errors, 429 and 5xx, and on nothing else`, async () => {
    for (const kind of ['429', '500', '503', 'reset', 'unauthorized', 'billing'] as const) {
      service.sandbox.control.fault({ vendor: 'openai', kind });
      const { status } = await service.ask('[chunks=2]');
      assert.equal(status, 200, kind);
    }
    service.sandbox.control.clearRequests();
    const refused = await service.ask('[chunks=2]', { messages: [] });
    assert.equal(refused.status, 400);
    service.sandbox.control.fault({ vendor: 'openai', kind: 'policy' });
    const { status, body } = await service.ask('[chunks=2]');
    assert.deepEqual([status, sent().length], [400, 1]);
    const error = body.error as unknown as { message: string; code: string };
    assert.equal(error.code, 'content_policy_violation');
    assert.match(error.message, /safety system/);
    const [end] = await service.waitUntilSettled();
    assert.equal(end?.kind, 'refund');
  });

  test(`${name}: reports when no channel is left, free of charge`, async () => {
    for (const [kind, expected, code] of [
      ['rate', 429, 'rate_limit_exceeded'],
      ['500', 502, 'upstream_error'],
      ['503', 503, 'upstream_unavailable'],
      ['504', 504, 'upstream_timeout'],
      ['unauthorized', 502, 'upstream_error'],
      ['html', 502, 'upstream_error'],
    ] as const) {
      const fault = service.sandbox.control.fault({ vendor: 'openai', kind, times: 9 });
      const { status, body } = await service.ask('[chunks=2]');
      fault.remove();
      assert.equal(status, expected, kind);
      assert.equal((body.error as unknown as { code: string }).code, code, kind);
      assert.ok(!JSON.stringify(body).includes('sandbox-openai'), 'no word of the key');
      const [end] = await service.waitUntilSettled();
      assert.equal(end?.kind, 'refund', kind);
    }
  });

  test(`${name}: ends a stream cut by the upstream with an error event and charges the delivered part`, async () => {
    for (const fault of ['cut', 'stop', 'error']) {
      const text = await (await service.stream(`[chunks=20] [${fault}=7]`)).text();
      const events = eventsOf(text);
      assert.equal(contentOf(text).split(' ').length, 7, fault);
      assert.ok(!events.includes('[DONE]'), fault);
      assert.equal(JSON.parse(events.at(-1) ?? '').error.code, 'answer_broken_off', fault);
      assert.ok(!text.includes('sandbox-openai'), 'no word of the key');
      const [end] = await service.waitUntilSettled();
      assert.equal(end?.kind, 'settle');
      assert.ok((end?.charged ?? 0) >= 28 && (end?.charged ?? 0) < 28 + 60, `${fault}: ${end?.charged}`);
    }
  });

  test(`${name}: relays and charges the other kinds of model calls too`, async () => {
    const call = (path: string, body: object) => callModelApi(service.baseUrl, service.key, 'POST', path, body);
    const vectors = await call('/v1/embeddings', { model: 'sandbox-embedding', input: 'a few words' });
    assert.equal(vectors.status, 200);
    assert.match(String(vectors.body.id), /^embd-/, "Mistral's SDK requires an id");
    assert.equal(vectors.body.object, 'list');
    assert.ok(((await service.waitUntilSettled())[0]?.charged ?? 0) > 0);
    const image = await call('/v1/images/generations', { model: 'sandbox-image', prompt: 'a cat', n: 2 });
    assert.equal(image.status, 200);
    assert.equal((await service.waitUntilSettled())[0]?.charged, 2_000);
    assert.equal((await service.ask('[chunks=1] three cats', { model: 'sandbox-image', n: 3 })).status, 200);
    assert.equal(
      (await service.waitUntilSettled())[0]?.charged,
      3_000,
      'images are paid by the piece however they are asked for',
    );
    const response = await call('/v1/responses', { model: 'sandbox-chat', input: '[chunks=4] hello' });
    assert.equal(response.body.status, 'completed');
    assert.ok(((await service.waitUntilSettled())[0]?.charged ?? 0) >= 16);
  });

  test(`${name}: an image size has one price in all spellings`, async () => {
    const price = { per_call: 100, per_second: 0, multipliers: { size: { '2048x2048': 3 }, quality: { high: 2 } } };
    await service.operator.requestData('PUT', '/api/admin/models/sandbox-image', { price });
    for (const [size, charged] of [
      ['2048x2048', 300],
      ['2048X2048', 300],
      ['2048*2048', 300],
      ['02048x2048', 300],
      ['1024x1024', 100],
    ] as const) {
      const body = { model: 'sandbox-image', prompt: 'a cat', size };
      assert.equal(
        (await callModelApi(service.baseUrl, service.key, 'POST', '/v1/images/generations', body)).status,
        200,
        size,
      );
      assert.equal((await service.waitUntilSettled())[0]?.charged, charged, size);
    }
    await service.operator.requestData('PUT', '/api/admin/models/sandbox-image', {
      price: { per_call: 1_000, per_second: 0 },
    });
  });

  test(`${name}: lets exactly as many concurrent calls through as the wallet or token can pay for`, async () => {
    const { operator } = service;
    const each = 4_000;
    const asked = chatBody('[chunks=1] [wait=1500]', { max_tokens: each / 4 });
    const race = async (key: string): Promise<number[]> => {
      const calls = Array.from({ length: 8 }, () =>
        callModelApi(service.baseUrl, key, 'POST', '/v1/chat/completions', asked),
      );
      return (await Promise.all(calls)).map(({ status }) => status).sort((one, other) => one - other);
    };
    const limited = await operator.makeToken({ quota_limit: 2 * each + 200 });
    assert.deepEqual(await race(limited), [200, 200, 403, 403, 403, 403, 403, 403]);
    await service.waitUntilSettled();
    const { quota } = await operator.quota();
    await operator.grantQuota(each + 100 - quota);
    assert.deepEqual(await race(service.key), [200, 403, 403, 403, 403, 403, 403, 403]);
    await service.waitUntilSettled();
    await operator.grantQuota(-(await operator.quota()).quota);
    assert.equal((await service.ask('[chunks=1]')).status, 403);
    const free = { id: 'free-chat', vendor: 'openai', kind: 'chat', price: { input_per_million: 0 } };
    await operator.requestData('POST', '/api/admin/models', free);
    await operator.requestData('PUT', '/api/admin/models/free-chat', { alias_of: 'sandbox-chat' });
    assert.equal((await service.ask('[chunks=1]', { model: 'free-chat' })).status, 200, 'what is free needs no funds');
    await operator.grantQuota(quota);
  });

  test(`${name}: refusals use OpenAI's format and cost nothing`, async () => {
    const url = service.baseUrl;
    const path = '/v1/chat/completions';
    const before = (await service.waitUntilSettled()).length;
    const cases: [number, string, Promise<{ status: number; body: { [key: string]: unknown } }>][] = [
      [401, 'invalid_api_key', callModelApi(url, 'sk-wrong', 'POST', path, chatBody('x'))],
      [404, 'model_not_found', service.ask('x', { model: 'nothing' })],
      [400, 'invalid_request', service.ask('x', { model: 'jimeng_v30' })],
      [400, 'invalid_request', service.ask('x', { max_tokens: -2 })],
      [400, 'invalid_request', service.ask('x', { n: 1.5 })],
      [400, 'invalid_request', service.ask('x', { stream: 'yes' })],
      [403, 'quota_not_enough', service.ask('x', { max_tokens: 99_000_000 })],
      [
        403,
        'model_not_allowed',
        callModelApi(url, await service.operator.makeToken({ models: ['other'] }), 'POST', path, chatBody('x')),
      ],
    ];
    for (const [status, code, answer] of cases) {
      const { status: got, body } = await answer;
      const error = body.error as { code: string; message: string; type: string };
      assert.deepEqual([got, error.code], [status, code], JSON.stringify(body));
      assert.deepEqual(Object.keys(error).sort(), ['code', 'message', 'param', 'type']);
    }
    assert.equal((await service.waitUntilSettled()).length, before);
  });

  test(`${name}: shows usage by day, model and token to its owner and to administrators`, async () => {
    const key = await service.operator.makeToken({ name: 'counted' });
    const { data } = await service.operator.request<{ id: number }[]>('GET', '/api/tokens');
    const token = data[0]?.id;
    for (const chunks of [3, 4])
      await callModelApi(service.baseUrl, key, 'POST', '/v1/chat/completions', chatBody(`[chunks=${chunks}]`));
    await service.waitUntilSettled();
    const today = new Date(middayClock.now()).toISOString().slice(0, 10);
    type Figures = { rows: Record<string, unknown>[]; total: Record<string, number> };
    for (const path of ['/api/usage?', `/api/admin/usage?user_id=${service.operator.id}&by=day,model,token&`]) {
      const { rows, total } = await service.operator.requestData<Figures>('GET', `${path}token_id=${token}`);
      assert.equal(rows.length, 1, path);
      const { day, model: name, token_id, requests, quota, prompt_tokens, completion_tokens } = rows[0] ?? {};
      assert.deepEqual([day, name, token_id, requests, completion_tokens], [today, 'sandbox-chat', token, 2, 7]);
      assert.equal(quota, Number(prompt_tokens) + 4 * 7);
      assert.equal(total.quota, quota);
    }
  });

  test(`${name}: a reused request id makes two calls in the ledger`, async () => {
    for (const _ of [1, 2]) {
      const { status, headers } = await service.ask('[chunks=1]', {}, { 'x-request-id': 'my-id' });
      assert.deepEqual([status, headers.get('x-request-id')], [200, 'my-id']);
    }
    const rows = await service.waitUntilSettled();
    assert.ok(rows[0]?.ref.startsWith('req_my-id.'));
    assert.equal(new Set(rows.slice(0, 4).map(({ ref }) => ref)).size, 2);
  });

  test(`${name}: an alias is served by its target and recorded under its own name`, async () => {
    await service.operator.requestData('POST', '/api/admin/models', { id: 'my-alias', alias_of: 'sandbox-chat' });
    const { status } = await service.ask('[chunks=1]', { model: 'my-alias' });
    assert.equal(status, 200);
    assert.equal(JSON.parse(sent()[0]?.body.toString() ?? '').model, 'sandbox-chat');
  });

  test(`${name}: refuses invalid requests in the envelope`, async () => {
    const send = async (body: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${service.baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json', ...headers },
        body,
      });
      return { status: response.status, error: ((await response.json()) as { error: { code: string } }).error };
    };
    const deep = `{"model":"sandbox-chat","messages":[${'['.repeat(1_000)}${']'.repeat(1_000)}]}`;
    for (const [body, status] of [
      ['{', 400],
      ['[]', 400],
      ['null', 400],
      ['{"model":"sandbox-chat","messages":[{"role":"user","content":"\\u0000"}]}', 400],
      ['{"model":"sandbox-chat","messages":[{}],"__proto__":{"x":1}}', 400],
      [deep, 400],
    ] as const)
      assert.equal((await send(body)).status, status, body.slice(0, 40));
    assert.equal((await send('{}', { 'content-type': 'text/plain' })).status, 415);
  });
});
