import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { callModelApi } from '../call-model-api.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import type { ChatService } from './chat-fixture.ts';
import { SCRIPTED_KEY, startScriptedChat } from './scripted-chat-fixture.ts';
import type { ScriptedUpstream } from './scripted-upstream.ts';

const PRICE = {
  input_per_million: 1_000_000,
  output_per_million: 5_000_000,
  cached_input_per_million: 100_000,
  cache_write_per_million: 1_250_000,
  cache_write_1h_per_million: 2_000_000,
};
const BODY = '{ "max_tokens":50,"model" : "claude","messages":[{"role":"user","content":"hi"}] }';
const USAGE = {
  input_tokens: 100,
  cache_read_input_tokens: 1_000,
  cache_creation_input_tokens: 300,
  cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
  output_tokens: 20,
};
/** Charge for `USAGE`: input, cache reads, both kinds of cache writes, output. */
const COST = 100 + 100 + 125 + 400 + 100;
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'Hello there' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
};
const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const text = (words: string) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: words } });
const START = event('message_start', { message: { ...MESSAGE, content: [], usage: { ...USAGE, output_tokens: 1 } } });
/** Usage as Anthropic streams it: cumulative, without the breakdown of cache writes. */
const { cache_creation: _, ...CUMULATIVE } = USAGE;
const STREAM = [
  START,
  event('ping'),
  event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  text('Hello'),
  text(' there'),
  event('content_block_stop', { index: 0 }),
  event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: CUMULATIVE }),
  event('message_stop'),
];

describe('Anthropic messages over an Anthropic upstream', { concurrency: false }, () => {
  let service: ChatService;
  let upstream: ScriptedUpstream;
  let channelId: number;
  before(async () => {
    ({ service, upstream, channelId } = await startScriptedChat(['claude'], { vendor: 'anthropic', price: PRICE }));
    await service.operator.requestData('POST', '/api/admin/models', {
      id: 'claude-alias',
      vendor: 'anthropic',
      kind: 'chat',
      alias_of: 'claude',
    });
  });
  beforeEach(() => upstream.requests.splice(0));
  afterEach(async () => {
    await service.waitUntilSettled();
    await assertLedgerConsistent(service.app.database);
  });
  after(async () => {
    await service.stop();
    await upstream.stop();
  });

  const post = (body: string, headers: Record<string, string> = {}, path = '/v1/messages') =>
    fetch(`${service.baseUrl}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': service.key, 'content-type': 'application/json', ...headers },
      body,
    });
  const refusal = async (answer: Response) => {
    const { error } = (await answer.json()) as { error: { type: string; message: string } };
    return { status: answer.status, ...error };
  };
  const charged = async () => (await service.waitUntilSettled()).find(({ kind }) => kind === 'settle')?.charged;
  const streamed = BODY.replace('{', '{"stream":true,');

  test('relays a message byte for byte with the API headers and charges every token category', async () => {
    const whole = JSON.stringify({ ...MESSAGE, usage: USAGE }, null, 1);
    upstream.respondWith((response) => response.setHeader('content-type', 'application/json').end(whole));
    const headers = { 'anthropic-version': '2099-01-01', 'anthropic-beta': 'one-2025-01-01,two-2026-01-01' };
    const answer = await post(BODY, headers);
    assert.equal(await answer.text(), whole);
    assert.equal(answer.headers.get('request-id'), answer.headers.get('x-request-id'));
    const [sent] = upstream.requests;
    assert.equal(sent?.path, '/v1/messages');
    assert.equal(sent?.body, BODY);
    assert.deepEqual([sent?.headers['x-api-key'], sent?.headers.authorization], [SCRIPTED_KEY, undefined]);
    for (const [name, value] of Object.entries(headers)) assert.equal(sent?.headers[name], value);
    assert.equal(await charged(), COST);
  });

  test('accepts a bearer key, defaults the version header, and adds max_tokens when it is missing', async () => {
    upstream.respondWith((response) => response.end(JSON.stringify({ ...MESSAGE, usage: USAGE })));
    const body = { model: 'claude-alias', messages: [{ role: 'user', content: 'hi' }] };
    const answer = await callModelApi(service.baseUrl, service.key, 'POST', '/v1/messages', body);
    assert.equal(answer.status, 200);
    const [sent] = upstream.requests;
    assert.equal(sent?.headers['anthropic-version'], '2023-06-01');
    assert.deepEqual(JSON.parse(sent?.body ?? ''), { ...body, model: 'claude', max_tokens: 4_096 });
  });

  test('relays a stream byte for byte and charges the usage of its first and last events combined', async () => {
    upstream.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const part of STREAM) response.write(part);
      response.end();
    });
    const answer = await post(streamed);
    assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    assert.equal(await answer.text(), STREAM.join(''));
    assert.equal(await charged(), COST);
  });

  test('charges the usage of compactions', async () => {
    const iterations = [
      { ...CUMULATIVE, type: 'message' },
      { type: 'compaction', input_tokens: 1_000, output_tokens: 10 },
    ];
    upstream.respondWith((response) => response.end(JSON.stringify({ ...MESSAGE, usage: { ...USAGE, iterations } })));
    await (await post(BODY)).text();
    assert.equal(await charged(), COST + 1_000 + 50);
  });

  test('ends an interrupted stream with an API error event and charges the delivered part', async () => {
    upstream.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const part of STREAM.slice(0, 4)) response.write(part);
      setTimeout(() => response.destroy(), 50);
    });
    const answer = await (await post(streamed)).text();
    const end = answer.slice(answer.indexOf('event: error'));
    assert.ok(answer.startsWith(STREAM.slice(0, 4).join('')));
    assert.match(
      end,
      /^event: error\ndata: \{"type":"error","error":\{"type":"api_error","message":"[^"]+"\},"request_id":"[^"]+"\}\n\n$/,
    );
    // One token was delivered; the input count comes from the first event.
    assert.equal(await charged(), COST - 100 + 5);
  });

  test("returns upstream errors in the API's format, with their status and retry headers", async () => {
    const cases = [
      [400, 'invalid_request_error', 400, 'invalid_request_error', 'max_tokens: too large'],
      [429, 'rate_limit_error', 429, 'rate_limit_error', undefined],
      [529, 'overloaded_error', 529, 'overloaded_error', undefined],
      [500, 'api_error', 502, 'api_error', undefined],
      [401, 'authentication_error', 502, 'api_error', undefined],
    ] as const;
    for (const [status, type, shown, shownType, message] of cases) {
      upstream.respondWith((response) => {
        response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '7' });
        response.end(JSON.stringify({ type: 'error', error: { type, message: message ?? `key ${SCRIPTED_KEY}` } }));
      });
      const answer = await post(BODY);
      const body = (await answer.json()) as {
        type: string;
        error: { type: string; message: string };
        request_id: string;
      };
      assert.deepEqual([answer.status, body.type, body.error.type], [shown, 'error', shownType], `${status}`);
      assert.deepEqual(Object.keys(body), ['type', 'error', 'request_id']);
      assert.equal(body.request_id, answer.headers.get('request-id'));
      assert.equal(body.error.message.includes(SCRIPTED_KEY), false);
      if (message !== undefined) assert.equal(body.error.message, message);
      if (status === 429 || status === 529) assert.equal(answer.headers.get('retry-after'), '7', `${status}`);
      assert.equal((await service.waitUntilSettled())[0]?.charged, 0);
    }
  });

  test("returns our own errors in the API's format", async () => {
    const cases = [
      [await post(BODY, { 'x-api-key': 'sk-wrong' }), 401, 'authentication_error'],
      [await post(BODY.replace('"claude"', '"nothing"')), 404, 'not_found_error'],
      [await post('{'), 400, 'invalid_request_error'],
      [await post(BODY.replace('{', '{"max_tokens":5,')), 400, 'invalid_request_error'],
      [await fetch(`${service.baseUrl}/v1/messages`), 405, 'invalid_request_error'],
    ] as const;
    for (const [answer, status, type] of cases) {
      const told = await refusal(answer);
      assert.deepEqual([told.status, told.type], [status, type]);
    }
    assert.equal(upstream.requests.length, 0);
  });

  test('refuses separately billed options by name; drops server tools that are only listed and reports them', async () => {
    const request = (more: object) => post(JSON.stringify({ ...JSON.parse(BODY), ...more }));
    for (const more of [{ speed: 'fast' }, { inference_geo: 'us' }, { mcp_servers: [{ url: 'https://a.example' }] }]) {
      const { status, message } = await refusal(await request(more));
      assert.equal(status, 400);
      assert.match(message, new RegExp(`^${Object.keys(more)[0]} `));
    }
    upstream.respondWith((response) => response.end(JSON.stringify({ ...MESSAGE, usage: USAGE })));
    const search = { type: 'web_search_20250305', name: 'web_search' };
    const bash = { type: 'bash_20250124', name: 'bash' };
    const answer = await request({ tools: [search, bash] });
    assert.deepEqual([answer.status, answer.headers.get('x-reelgate-dropped')], [200, 'tools.0']);
    assert.deepEqual(JSON.parse(upstream.requests[0]?.body ?? '').tools, [bash]);
    assert.equal(
      (await request({ tools: [search, bash], tool_choice: { type: 'tool', name: 'web_search' } })).status,
      400,
    );
  });

  test('treats tool-call arguments as data: URLs in them are never fetched', async () => {
    upstream.respondWith((response) => response.end(JSON.stringify({ ...MESSAGE, usage: USAGE })));
    const call = {
      type: 'tool_use',
      id: 'toolu_1',
      name: 'fetch',
      input: { address: 'http://localhost:3000', list: [{ a: 'http://10.0.0.1/' }] },
    };
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'http://127.0.0.1/' };
    const messages = [
      { role: 'assistant', content: [call] },
      { role: 'user', content: [result] },
    ];
    assert.equal((await post(JSON.stringify({ model: 'claude', max_tokens: 5, messages }))).status, 200);
    const image = { type: 'image', source: { type: 'url', url: 'http://10.0.0.1/a.png' } };
    const refused = await post(
      JSON.stringify({ model: 'claude', max_tokens: 5, messages: [{ role: 'user', content: [image] }] }),
    );
    assert.equal(refused.status, 400);
  });

  test('counts tokens at the upstream, or locally where it cannot, free of charge', async () => {
    const { max_tokens: _limit, ...question } = JSON.parse(BODY);
    const count = () => post(JSON.stringify(question), {}, '/v1/messages/count_tokens');
    upstream.respondWith((response) => response.end('{"input_tokens":42}'));
    const counted = await count();
    assert.deepEqual(
      [await counted.json(), counted.headers.get('x-reelgate-token-count')],
      [{ input_tokens: 42 }, 'upstream'],
    );
    assert.equal(upstream.requests[0]?.path, '/v1/messages/count_tokens');
    // maximhq/bifrost #2902, #2169
    for (const [status, message] of [
      [404, ''],
      [501, ''],
      [500, 'count_tokens is not supported by parasail provider'],
      [400, "The provided model doesn't support counting tokens."],
    ] as const) {
      upstream.respondWith((response) => response.writeHead(status).end(JSON.stringify({ error: { message } })));
      const estimated = await count();
      const { input_tokens: tokens } = (await estimated.json()) as { input_tokens: number };
      assert.equal(estimated.headers.get('x-reelgate-token-count'), 'estimate', message);
      assert.ok(tokens > 0 && tokens < 20, String(tokens));
    }
    upstream.respondWith((response) => response.writeHead(500).end('{}'));
    assert.equal((await count()).status, 502);
    // Anthropic limits counts apart from messages, so refused ones must not pause the channel.
    upstream.respondWith((response) => response.writeHead(429, { 'retry-after': '60' }).end('{}'));
    for (let tries = 0; tries < 6; tries++) assert.equal((await count()).status, 429);
    const { health } = await service.operator.requestData<{ health: { state: string }[] }>(
      'GET',
      `/api/admin/channels/${channelId}`,
    );
    assert.ok(
      health.every(({ state }) => state === 'healthy'),
      JSON.stringify(health),
    );
    const ledger = await service.waitUntilSettled();
    assert.ok(ledger.every(({ ref }) => ref !== counted.headers.get('x-request-id')));
  });
});
