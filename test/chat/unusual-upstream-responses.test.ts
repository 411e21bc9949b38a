import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { callModelApi } from '../call-model-api.ts';
import { assertLedgerConsistent, openReadOnly } from '../faults/ledger-assertions.ts';
import { type ChatService, eventsOf, type LedgerRow } from './chat-fixture.ts';
import { SCRIPTED_KEY, startScriptedChat } from './scripted-chat-fixture.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';

const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
/** The charge for `USAGE`. */
const COST = 7 + 4 * 3;
const MANY_WORDS = 'word '.repeat(3_000);

const chunk = (content: string, more: object = {}): string =>
  JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content }, finish_reason: null }], ...more });
const last = (more: object = {}): string =>
  JSON.stringify({ id: 'x', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], ...more });
const data = (...all: string[]): string => all.map((each) => `data: ${each}\n\n`).join('');
const named = (type: string, more: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;

test('a stop within half a second of the last word loses no settlement', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'reelgate-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const url = `sqlite:${join(directory, 'a.db')}`;
  const { service, upstream } = await startScriptedChat(['odd'], { databaseUrl: url });
  t.after(() => upstream.stop());
  upstream.respondWith((response) =>
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(data(chunk('one'), last())),
  );
  const controller = new AbortController();
  const response = await service.stream('hi', { model: 'odd' }, controller.signal);
  for await (const piece of response.body ?? []) if (Buffer.from(piece).includes('"stop"')) break;
  controller.abort();
  await service.stop();
  const database = openReadOnly(url);
  t.after(() => database.close());
  const kinds = await database.kysely.selectFrom('ledger').select('kind').where('ref', 'like', 'req_%').execute();
  assert.deepEqual(
    kinds.map(({ kind }) => kind),
    ['reserve', 'settle'],
  );
});

/** Upstreams whose responses are valid but unlike those of most servers. */
describe('upstreams that write valid but unusual bytes', { concurrency: false }, () => {
  let service: ChatService;
  let upstream: ScriptedUpstream;
  let channelId: number;
  before(async () => {
    ({ service, upstream, channelId } = await startScriptedChat(['odd'], { priority: 50 }));
  });
  afterEach(async () => {
    await service.waitUntilSettled();
    await assertLedgerConsistent(service.app.database);
    // Saving the channel closes its circuit breaker, which the test may have opened.
    await service.operator.requestData('PUT', `/api/admin/channels/${channelId}`, {
      weight: 1 + upstream.requests.length,
    });
  });
  after(async () => {
    await service.stop();
    await upstream.stop();
  });

  const says = (body: string, status = 200, contentType = 'application/json'): void =>
    upstream.respondWith((response) => response.writeHead(status, { 'content-type': contentType }).end(body));
  const streams = (body: string, contentType = 'text/event-stream'): void => says(body, 200, contentType);

  interface Heard {
    readonly status: number;
    readonly text: string;
    readonly end: LedgerRow | undefined;
  }
  const call = async (path: string, body: object): Promise<Heard> => {
    const response = await fetch(`${service.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'odd', ...body }),
    });
    const text = await response.text();
    assert.ok(!text.includes(SCRIPTED_KEY), `no word of the key: ${text}`);
    return { status: response.status, text, end: (await service.waitUntilSettled())[0] };
  };
  const messages = [{ role: 'user', content: 'hi there' }];
  const ask = (more: object = {}): Promise<Heard> => call(CHAT, { messages, ...more });
  const listen = (more: object = {}): Promise<Heard> => ask({ stream: true, ...more });

  test('reads lines that end in CR LF, lack the space before the data or lack the final line end', async () => {
    const usage = JSON.stringify({ choices: [], usage: USAGE });
    const plain = data(chunk('one'), last(), usage, '[DONE]');
    for (const body of [
      plain,
      plain.replaceAll('\n', '\r\n'),
      plain.replaceAll('data: ', 'data:'),
      plain.trimEnd(),
      `\ufeff${plain}`,
      `: hello\n\nretry: 5\n\n${plain}`,
      plain.replace('{"id"', '{\ndata: "id"'),
    ]) {
      streams(body);
      const { status, text, end } = await listen();
      assert.equal(status, 200, body);
      assert.ok(text.includes('"one"') && text.trimEnd().endsWith('[DONE]') && !text.includes('prompt_tokens'), text);
      assert.deepEqual([end?.kind, end?.charged], ['settle', COST], body);
    }
    streams(plain, 'Text/Event-Stream;charset=UTF-8');
    assert.equal((await listen()).end?.charged, COST);
  });

  test('hides usage from callers who did not request it, in whichever event it arrives, and shows it to those who did', async () => {
    const withUsage = { stream_options: { include_usage: true } };
    for (const body of [
      data(chunk('one'), last(), JSON.stringify({ usage: USAGE }), '[DONE]'),
      data(chunk('one'), last(), JSON.stringify({ choices: null, usage: USAGE }), '[DONE]'),
      data(chunk('one', { usage: null }), last({ usage: USAGE }), '[DONE]'),
    ]) {
      streams(body);
      const hidden = await listen();
      assert.ok(!hidden.text.includes('prompt_tokens'), hidden.text);
      assert.ok(hidden.text.includes('"finish_reason":"stop"'), hidden.text);
      for (const event of eventsOf(hidden.text).slice(0, -1)) assert.equal(JSON.parse(event).choices.length, 1);
      assert.equal(hidden.end?.charged, COST);
      const shown = await listen(withUsage);
      assert.equal(shown.text, body);
      assert.equal(shown.end?.charged, COST);
    }
  });

  test('charges a caller who disconnects at the last word by the usage that follows, after a short wait', async () => {
    let closed = Promise.resolve(0);
    const speak = (after: (response: ServerResponse) => void): void =>
      upstream.respondWith((response) => {
        closed = new Promise((resolve) => response.once('close', () => resolve(performance.now())));
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(data(chunk('one'), last()));
        after(response);
      });
    const leaveAtTheEnd = async (): Promise<number> => {
      const controller = new AbortController();
      const response = await service.stream('hi', { model: 'odd' }, controller.signal);
      let text = '';
      for await (const piece of response.body ?? []) {
        text += Buffer.from(piece).toString();
        if (text.includes('"stop"')) break;
      }
      controller.abort();
      return performance.now();
    };
    const figures = JSON.stringify({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 500 } });
    speak((response) => void pause(100).then(() => response.end(data(figures, '[DONE]'))));
    await leaveAtTheEnd();
    assert.equal((await service.waitUntilSettled())[0]?.charged, 7 + 4 * 500);
    speak(() => {});
    const left = await leaveAtTheEnd();
    assert.ok((await closed) - left < 1_500, 'the upstream is let go');
    const [end] = await service.waitUntilSettled();
    // This model reasons without showing it, so the call is charged by elapsed time, within the reservation.
    const reserved = -((await service.waitUntilSettled())[1]?.amount ?? 0);
    assert.ok(end?.kind === 'settle' && end.charged > 30 && end.charged <= reserved, JSON.stringify(end));
  });

  test('uses the latest usage when it is reported repeatedly', async () => {
    const counted = (tokens: number): object => ({ usage: { prompt_tokens: 7, completion_tokens: tokens } });
    const many = Array.from({ length: 100 }, (_, index) => chunk(`word${index}`, counted(index)));
    upstream.respondWith(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const each of [...many, last(counted(300)), '[DONE]']) {
        response.write(data(each));
        await pause(1);
      }
      response.end();
    });
    for (const more of [{}, { stream_options: { include_usage: true } }])
      assert.equal((await listen(more)).end?.charged, 7 + 4 * 300);
  });

  test('charges reasoning that only the total reveals', async () => {
    const choices = [{ index: 0, message: { content: 'one' } }];
    for (const [usage, charged] of [
      [{ prompt_tokens: 7, completion_tokens: 3, total_tokens: 110 }, 7 + 4 * 103],
      [{ prompt_tokens: 7, completion_tokens: 3 }, COST],
      [{ ...USAGE, total_tokens: 3 }, COST],
      [{ ...USAGE, total_tokens: -1 }, COST],
      [{ ...USAGE, total_tokens: 1e300 }, COST],
      [{ input_tokens: 7, output_tokens: 3, total_tokens: 10 }, COST],
    ] as const) {
      says(JSON.stringify({ choices, usage }));
      assert.equal((await ask()).end?.charged, charged, JSON.stringify(usage));
    }
  });

  test('does not trust usage that the request contained and the response repeats', async () => {
    const tools = [{ type: 'function', name: 'f', parameters: { usage: { input_tokens: 0, output_tokens: 1 } } }];
    streams(
      named('response.created', { response: { id: 'r', error: null, tools, usage: null } }) +
        named('response.output_text.delta', { delta: 'one two' }),
    );
    const asked = { input: MANY_WORDS, tools };
    const cut = await call(RESPONSES, { ...asked, stream: true });
    assert.ok((cut.end?.charged ?? 0) >= 3_000, String(cut.end?.charged));
    const output = [{ type: 'message', content: [{ type: 'output_text', text: 'one two three' }] }];
    says(JSON.stringify({ id: 'r', output, tools }));
    const whole = await call(RESPONSES, asked);
    assert.ok((whole.end?.charged ?? 0) >= 3_000, String(whole.end?.charged));
  });

  test('recognizes errors in every form upstreams use, and never relays them verbatim', async () => {
    const message = `no ${SCRIPTED_KEY}`;
    const events = [
      data(JSON.stringify({ error: { message } })),
      `\ufeff${data(JSON.stringify({ error: { message } }))}`,
      `data: {"error":\ndata: {"message":"${message}"}}\n\n`,
      `event: error\n${data(JSON.stringify({ message, code: 'x' }))}`,
      `event:error\r\ndata:${message}\r\n\r\n`,
      data(JSON.stringify({ object: 'error', message, code: 500 })),
    ];
    for (const event of events) {
      streams(event);
      const first = await listen();
      assert.equal(first.status, 502, event);
      assert.equal(first.end?.kind, 'refund', event);
      streams(data(chunk('one')) + event);
      const { status, text, end } = await listen();
      assert.equal(status, 200);
      const { error } = JSON.parse(eventsOf(text).at(-1) ?? '');
      assert.deepEqual([error.code, error.type], ['answer_broken_off', 'upstream_error'], event);
      assert.ok(!error.message.includes('Nothing was charged'), error.message);
      assert.deepEqual([end?.kind, (end?.charged ?? 0) > 0], ['settle', true]);
    }
    streams(
      named('response.created', { response: { id: 'r', error: null } }) +
        named('response.failed', { response: { id: 'r', error: { code: 'server_error', message }, usage: null } }),
    );
    const failed = await call(RESPONSES, { input: 'hi', stream: true });
    assert.deepEqual(
      [failed.status, failed.end?.kind],
      [502, 'refund'],
      'before any content, the status can still tell',
    );
  });

  test('passes on why a request was refused, in whichever form the upstream says it', async () => {
    for (const [body, message, code] of [
      [{ error: 'inputs tokens + max_new_tokens must be <= 2048', error_type: 'validation' }, /must be <= 2048/],
      [{ code: 'invalid-argument', error: 'Incorrect argument' }, /^Incorrect argument$/, 'invalid-argument'],
      [{ detail: 'max_tokens is too large' }, /^max_tokens is too large$/],
      [{ detail: [{ loc: ['body', 'top_p'], msg: 'not a number', type: 'float' }] }, /^body\.top_p: not a number$/],
      [{ success: false, errors: [{ code: 7009, message: 'Upstream refused' }] }, /^Upstream refused$/, '7009'],
      [{ error: { message: 'usual' } }, /^usual$/],
    ] as const) {
      says(JSON.stringify(body), 400);
      const { status, text } = await ask();
      const { error } = JSON.parse(text);
      assert.equal(status, 400);
      assert.match(error.message, message);
      if (code !== undefined) assert.equal(error.code, code);
    }
  });

  test('HTTP 200 without an answer is a failure, free of charge', async () => {
    const message = `no ${SCRIPTED_KEY}`;
    for (const body of [
      { error: { message } },
      { error: message },
      { object: 'error', message, code: 400 },
      { code: 401, message },
      { base_resp: { status_code: 1004, status_msg: message } },
      {},
    ])
      for (const [path, asked] of [
        [CHAT, { messages }],
        [RESPONSES, { input: 'hi' }],
        ['/v1/embeddings', { input: 'hi' }],
        ['/v1/images/generations', { prompt: 'hi' }],
      ] as const) {
        says(JSON.stringify(body));
        const { status, end } = await call(path, asked);
        assert.deepEqual([status, end?.kind], [502, 'refund'], `${path} ${JSON.stringify(body)}`);
      }
    for (const [path, asked] of [
      ['/v1/embeddings', { input: 'hi' }],
      ['/v1/images/generations', { prompt: 'hi' }],
    ] as const)
      for (const nothing of [{ data: [] }, { data: null, usage: { prompt_tokens: 0 } }]) {
        says(JSON.stringify({ object: 'list', ...nothing }));
        const { status, end } = await call(path, asked);
        assert.deepEqual([status, end?.kind], [502, 'refund'], `${path} ${JSON.stringify(nothing)}`);
      }
    for (const error of ['', null, false, {}, [], { code: 0, message: '' }]) {
      says(JSON.stringify({ choices: [{ message: { content: 'one' } }], error }));
      assert.equal((await ask()).status, 200, `no error: ${JSON.stringify(error)}`);
    }
  });

  test('passes on errors within HTTP 200 that blame the request, and tries no other channel', async (t) => {
    const second = await startScriptedUpstream();
    t.after(() => second.stop());
    const spare = await service.operator.addChannel({
      vendor: 'openai',
      base_url: second.url,
      credentials: { api_key: SCRIPTED_KEY },
      models: ['odd'],
      priority: 1,
      options: { private: true },
    });
    const tooLong = {
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
      message: 'too long',
      param: null,
    };
    const failed = { id: 'r', object: 'response', status: 'failed', output: [], error: tooLong };
    const flagged = { code: 403, message: 'flagged', metadata: { reasons: ['violence'], flagged_input: 'hi' } };
    for (const [path, asked, answer, status, code] of [
      [CHAT, { messages }, JSON.stringify({ error: tooLong }), 400, tooLong.code],
      [CHAT, { messages }, JSON.stringify({ error: { code: 413, message: 'too large' } }), 413, '413'],
      [CHAT, { messages }, JSON.stringify({ error: flagged }), 403, '403'],
      [
        CHAT,
        { messages, stream: true },
        data(JSON.stringify({ error: { ...tooLong, code: null } })),
        400,
        tooLong.type,
      ],
      [
        CHAT,
        { messages, stream: true },
        data(JSON.stringify({ error: { code: 'data_inspection_failed', message: 'inappropriate' } })),
        400,
        'data_inspection_failed',
      ],
      [RESPONSES, { input: 'hi' }, JSON.stringify(failed), 400, tooLong.code],
      [
        RESPONSES,
        { input: 'hi', stream: true },
        named('response.created', { response: { id: 'r', status: 'in_progress', output: [] } }) +
          named('response.failed', { response: { ...failed, error: { code: tooLong.code, message: 'too long' } } }),
        400,
        tooLong.code,
      ],
    ] as const) {
      says(answer, 200, answer.startsWith('{') ? 'application/json' : 'text/event-stream');
      const heard = await call(path, asked);
      assert.deepEqual([heard.status, heard.end?.kind], [status, 'refund'], answer);
      assert.equal(JSON.parse(heard.text).error.code, code, answer);
    }
    assert.equal(second.requests.length, 0);
    await service.operator.requestData('DELETE', `/api/admin/channels/${spare}`);
  });

  test('encodes vectors as requested where the upstream sends numbers all the same', async () => {
    const embedding = [0.5, -0.25, 3e-2];
    const usage = { prompt_tokens: 2, total_tokens: 2 };
    const answer = { object: 'list', model: 'm', data: [{ object: 'embedding', index: 0, embedding }], usage };
    says(JSON.stringify(answer, undefined, 2));
    const asked = await call('/v1/embeddings', { input: 'hi', encoding_format: 'base64' });
    const [{ embedding: encoded }] = JSON.parse(asked.text).data;
    const { buffer } = Uint8Array.from(Buffer.from(encoded, 'base64'));
    assert.deepEqual([...new Float32Array(buffer)], embedding.map(Math.fround));
    assert.equal(asked.end?.charged, 2);
    const plain = await call('/v1/embeddings', { input: 'hi' });
    assert.deepEqual(JSON.parse(plain.text).data[0].embedding, embedding);
    says(JSON.stringify({ ...answer, data: [{ object: 'embedding', index: 0, embedding: encoded }] }));
    const same = await call('/v1/embeddings', { input: 'hi', encoding_format: 'base64' });
    assert.equal(JSON.parse(same.text).data[0].embedding, encoded);
  });

  test('an error whose members are of unusual types is a failure of the upstream', async () => {
    for (const member of ['status', 'code', 'type', 'message', 'param'])
      for (const value of ['{"toString":1,"valueOf":1}', '[[{}]]', '1e999', 'null'])
        for (const stream of [false, true]) {
          const body = `{"error":{"message":"odd","${member}":${value}}}`;
          says(stream ? data(body) : body, 200, stream ? 'text/event-stream' : 'application/json');
          const { status, end } = await call(CHAT, { messages, stream });
          assert.deepEqual([status, end?.kind], [502, 'refund'], body);
        }
  });

  test('ends a response whose upstream keeps the connection of a complete stream open, or breaks it', async () => {
    for (const end of ['', 'break'])
      for (const events of [
        data(chunk('one'), last({ usage: USAGE }), '[DONE]'),
        data(chunk('one'), last({ usage: USAGE })),
      ]) {
        upstream.respondWith((response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(events, () => end === 'break' && setImmediate(() => response.destroy()));
        });
        const { text, end: entry } = await listen();
        assert.deepEqual([entry?.kind, entry?.charged], ['settle', COST]);
        assert.doesNotMatch(text, /"error"/);
      }
  });

  test('waits for the rest of a stream whose every event has a stop reason', async () => {
    const spoken = (content: string): string =>
      data(JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] }));
    upstream.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(spoken('one '));
      // Longer than a stream that is over may keep its connection open.
      setTimeout(() => response.end(spoken('two')), 4_000);
    });
    const { text, end } = await listen();
    assert.match(text, /"two"/);
    assert.equal(end?.kind, 'settle');
  });

  test('recognizes what follows blank lines that keep the connection open', async () => {
    const whole = JSON.stringify({
      id: 'x',
      choices: [{ message: { content: 'one' }, finish_reason: 'stop' }],
      usage: USAGE,
    });
    for (const type of ['text/event-stream', 'application/json'])
      for (const body of [whole, data(chunk('one'), last({ usage: USAGE }), '[DONE]')]) {
        upstream.respondWith((response) => {
          response.writeHead(200, { 'content-type': type }).write('\n', () => setImmediate(() => response.end(body)));
        });
        const { text, end } = await listen();
        assert.match(text, /"one"/, `${type} ${body}`);
        assert.deepEqual([end?.kind, end?.charged], ['settle', COST], `${type} ${body}`);
        const single = await ask();
        assert.deepEqual([single.status, single.end?.charged], [200, COST], `${type} ${body}`);
      }
  });

  test('removes our key from an answer that quotes it', async () => {
    says(JSON.stringify({ choices: [{ message: { content: `it is ${SCRIPTED_KEY}` } }], usage: USAGE }));
    const whole = await ask();
    assert.deepEqual([whole.status, whole.text.includes('[masked]')], [200, true]);
    streams(data(chunk(`it is ${SCRIPTED_KEY}`), last(), '[DONE]'));
    assert.match((await listen()).text, /it is \[masked\]/);
  });

  test('blames redirects and invalid addresses on the channel, not on the caller', async () => {
    for (const status of [301, 302, 307, 308, 405]) {
      says('', status);
      const { status: got, end } = await ask();
      assert.deepEqual([got, end?.kind], [502, 'refund'], String(status));
      await service.operator.requestData('PUT', `/api/admin/channels/${channelId}`, { weight: status });
    }
  });

  test("one caller's invalid request opens no circuit breaker", async () => {
    const view = () =>
      service.operator.requestData<{ health: { state: string }[] }>('GET', `/api/admin/channels/${channelId}`);
    const refusals = [
      [404, { detail: 'Not Found' }],
      [404, { error: { message: 'Unknown request URL', code: 'unknown_url' } }],
      [405, { detail: 'Method Not Allowed' }],
      [403, { error: { message: 'not allowed to make vectors from this model', type: 'invalid_request_error' } }],
    ] as const;
    for (let round = 0; round < 3; round++)
      for (const [status, body] of refusals) {
        says(JSON.stringify(body), status);
        const { status: got, end } = await call('/v1/embeddings', { input: 'hi' });
        assert.deepEqual([got, end?.kind], [502, 'refund'], JSON.stringify(body));
      }
    assert.deepEqual(
      (await view()).health.map(({ state }) => state).filter((state) => state !== 'healthy'),
      [],
    );
    says(JSON.stringify({ error: { message: 'no such model', code: 'model_not_found' } }), 404);
    assert.equal((await ask()).status, 502);
    assert.ok((await view()).health.some(({ state }) => state === 'resting'));
  });

  // router-for-me/CLIProxyAPI #2442, klarkxy/open-console-gateway #63
  test('an account that is blocked or cannot pay is not the fault of the request, whatever the status says', async () => {
    const invalid = (message: string): object => ({ error: { type: 'invalid_request_error', message } });
    for (const [status, body] of [
      [400, invalid('This organization has been disabled.')],
      [400, invalid('You have reached your specified API usage limits. You will regain access on 2026-12-01.')],
      [400, invalid('You have insufficient credits to make this request. Please purchase more credits to continue.')],
      [
        400,
        { error: { code: 'Arrearage', message: 'Access denied, please make sure your account is in good standing.' } },
      ],
      [400, { error: { code: 'organization_restricted', message: 'Organization has been restricted.' } }],
      [400, { code: 'Client specified an invalid argument', error: 'Incorrect API key provided: xa***yz.' }],
      [
        412,
        { error: { message: 'Account someone is suspended, possibly due to reaching the monthly spending limit' } },
      ],
      [429, { error: { type: 'access_terminated', message: 'Your access was terminated due to a violation.' } }],
      [429, { error: { type: 'exceeded_current_quota_error', message: 'Please check your account balance.' } }],
      [429, { error: { code: '1113', message: '余额不足或无可用资源包,请充值。' } }],
    ] as const) {
      says(JSON.stringify(body), status);
      const { status: got, text, end } = await ask();
      assert.deepEqual([got, end?.kind], [502, 'refund'], JSON.stringify(body));
      assert.ok(!/organization|credits|standing|API key|suspended/i.test(text), text);
      await service.operator.requestData('PUT', `/api/admin/channels/${channelId}`, {
        weight: 1 + upstream.requests.length,
      });
    }
    says(JSON.stringify(invalid("Invalid value: 'This organization has been disabled.'")), 400);
    assert.equal((await ask()).status, 400, 'an upstream may quote the request');
  });

  test('a stream that mentions its end marker and stops is an interrupted stream', async () => {
    streams(data(chunk('data: [DONE] is how streams end, "finish_reason":"stop" before it')));
    const { text, end } = await listen();
    assert.equal(JSON.parse(eventsOf(text).at(-1) ?? '').error.code, 'answer_broken_off');
    assert.equal(end?.kind, 'settle');
  });

  test('every choice of an answer must have ended, with or without a final marker', async () => {
    const ended = (index: number): string => JSON.stringify({ choices: [{ index, delta: {}, finish_reason: 'stop' }] });
    for (const [events, isWhole] of [
      [[ended(0)], false],
      [[ended(0), chunk('x'.repeat(9_000)), chunk('two')], false],
      [[ended(0), ended(1)], true],
      [[ended(1), chunk('x'.repeat(9_000)), ended(0)], true],
      [[ended(0), '[DONE]'], true],
    ] as const) {
      streams(data(chunk('one'), ...events));
      const { text } = await listen({ n: 2 });
      assert.equal(text.includes('answer_broken_off'), !isWhole, JSON.stringify(events).slice(0, 200));
    }
    streams(`${data(chunk('one'), '[DONE]')}: bye\n\n`);
    assert.ok(!(await listen()).text.includes('answer_broken_off'));
  });

  test('relays images inside a stream, however large', async () => {
    const b64_json = 'iVBORw0K'.repeat(400_000);
    const usage = { input_tokens: 10, output_tokens: 1_000, total_tokens: 1_010 };
    streams(
      named('image_generation.partial_image', { b64_json, partial_image_index: 0 }) +
        named('image_generation.completed', { b64_json, usage }),
    );
    const image = await call('/v1/images/generations', { prompt: 'a cat', stream: true, n: 2 });
    assert.ok(image.text.length > 6_400_000 && !image.text.includes('"error"'), image.text.slice(-300));
    assert.equal(image.end?.charged, 10 + 4 * 1_000);
    const item = { type: 'image_generation_call', result: b64_json };
    streams(
      named('response.image_generation_call.partial_image', { partial_image_b64: b64_json }) +
        named('response.completed', { response: { id: 'r', output: [item], usage } }),
    );
    const response = await call(RESPONSES, { input: 'a cat', stream: true });
    assert.ok(!response.text.includes('"error"'), response.text.slice(-300));
    assert.equal(response.end?.charged, 10 + 4 * 1_000);
  });

  test('charges speech that breaks off by its transcript', async () => {
    const speech = { audio: { id: 'a', transcript: 'six words that were really said' } };
    upstream.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(
        data(JSON.stringify({ id: 'x', choices: [{ index: 0, delta: speech, finish_reason: null }] })),
        () => setImmediate(() => response.destroy()),
      );
    });
    const { text, end } = await listen({ modalities: ['text', 'audio'] });
    assert.match(text, /answer_broken_off/);
    assert.ok(end?.kind === 'settle' && end.charged >= 4 * 6, JSON.stringify(end));
  });

  test('charges function calls, in the old and the new form, like text', async () => {
    const args = '{"city":"Paris is a big city in the north of France"}';
    for (const piece of [
      { function_call: { name: 'weather', arguments: args } },
      { tool_calls: [{ index: 0, function: { name: 'weather', arguments: args } }] },
      { tool_calls: [{ index: 0, type: 'custom', custom: { name: 'weather', input: args } }] },
    ]) {
      streams(data(JSON.stringify({ choices: [{ index: 0, delta: piece }] })));
      assert.ok(((await listen()).end?.charged ?? 0) > 40, JSON.stringify(piece));
      says(JSON.stringify({ choices: [{ index: 0, message: piece }] }));
      assert.ok(((await ask()).end?.charged ?? 0) > 40, JSON.stringify(piece));
    }
  });

  test('counts a long answer without usage to its end', async () => {
    const message = { content: 'word '.repeat(30_000) };
    says(JSON.stringify({ choices: Array.from({ length: 10 }, () => ({ message })) }));
    const { status, end } = await ask({ n: 10 });
    assert.equal(status, 200);
    assert.ok((end?.charged ?? 0) > 1_000_000, String(end?.charged));
  });

  test('counts prompts without reported usage by content: text, tokens or images', async () => {
    const answers = { choices: [{ message: { content: 'one' } }], output: [], data: [{ embedding: [1] }] };
    says(JSON.stringify(answers));
    const said = (content: unknown): object => ({ messages: [{ role: 'user', content }] });
    const image = (url: string): object => said([{ type: 'image_url', image_url: { url } }]);
    for (const [what, path, asked, least, most] of [
      ['words that begin like an address of data', CHAT, said('data: what is it?'), 5, 30],
      ['letters without a blank', CHAT, said('abcdefgh'.repeat(10_000)), 5_000, 100_000],
      ['an image by its address', CHAT, image('https://media.example.test/a.png'), 1_500, 1_530],
      ['an image inline', CHAT, image(`data:image/png;base64,${'A'.repeat(50_000)}`), 1_500, 1_530],
      ['tokens', '/v1/embeddings', { input: [101, 102, 103, 104] }, 4, 4],
      ['lists of tokens', '/v1/embeddings', { input: [Array.from({ length: 40 }, () => 7), [1, 2]] }, 42, 42],
    ] as const) {
      const { status, end } = await call(path, asked);
      const charged = end?.charged ?? 0;
      assert.equal(status, 200, what);
      assert.ok(charged >= least && charged <= most, `${what}: ${charged}`);
    }
  });

  // ollama/ollama #3427, lmstudio-ai/lmstudio-bug-tracker #1546
  test('counts a prompt that an upstream reports with 0 tokens', async () => {
    const usage = { prompt_tokens: 0, completion_tokens: 3, total_tokens: 3 };
    says(JSON.stringify({ choices: [{ message: { content: 'one' } }], usage }));
    assert.equal((await ask()).end?.charged, 2 + 4 * 3);
    streams(data(chunk('one'), last({ usage }), '[DONE]'));
    assert.equal((await listen()).end?.charged, 2 + 4 * 3);
    says(JSON.stringify({ data: [{ embedding: [1] }], usage: { prompt_tokens: 0, total_tokens: 0 } }));
    assert.equal((await call('/v1/embeddings', { input: 'hi there' })).end?.charged, 2);
  });

  // earendil-works/pi #596
  test('does without usage where an upstream refuses the option for it, unless the caller asked for it', async () => {
    const sent = (): unknown[] => upstream.requests.splice(0).map(({ body }) => JSON.parse(body).stream_options);
    upstream.respondWith((response, { body }) => {
      if (!body.includes('stream_options'))
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(data(chunk('one'), last(), '[DONE]'));
      else
        response
          .writeHead(422)
          .end('{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}');
    });
    sent();
    const { status, text, end } = await listen();
    assert.equal(status, 200, text);
    assert.equal(end?.charged, 2 + 4);
    assert.deepEqual(sent(), [{ include_usage: true }, undefined]);
    const asked = await call('/v1/messages', { messages, max_tokens: 9, stream: true });
    assert.equal(asked.status, 200, asked.text);
    assert.deepEqual(sent(), [{ include_usage: true }, undefined]);
    assert.equal((await listen({ stream_options: { include_usage: true } })).status, 422);
    assert.equal(sent().length, 1);
  });

  test('fails over to the next channel on an error before the first token, not after it', async (t) => {
    const { operator } = service;
    const next = await startScriptedUpstream();
    t.after(() => next.stop());
    next.respondWith((response) =>
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(data(chunk('from the next'), last(), JSON.stringify({ choices: [], usage: USAGE }), '[DONE]')),
    );
    const id = await operator.addChannel({
      vendor: 'openai',
      base_url: next.url,
      credentials: { api_key: SCRIPTED_KEY },
      models: ['odd'],
    });
    const error = data(JSON.stringify({ error: { message: 'slow down', code: 'rate_limit_exceeded' } }));
    streams(error);
    const { status, text, end } = await listen();
    assert.equal(status, 200, text);
    assert.match(text, /from the next/);
    assert.equal(end?.charged, COST);
    streams(data(chunk('one')) + error);
    const later = await listen();
    assert.ok(!later.text.includes('from the next'));
    assert.equal(next.requests.length, 1);
    await operator.requestData('DELETE', `/api/admin/channels/${id}`);
  });

  test('T53: forwards no caller header to an upstream, and no upstream header to the caller', async () => {
    upstream.respondWith((response) =>
      response
        .writeHead(200, { 'content-type': 'application/json', 'set-cookie': 'a=b', server: 'up', 'x-up': '1' })
        .end(JSON.stringify({ choices: [{ message: { content: 'one' } }], usage: USAGE })),
    );
    const { headers } = await callModelApi(
      service.baseUrl,
      service.key,
      'POST',
      CHAT,
      { model: 'odd', messages },
      { cookie: 'session=x', 'x-forwarded-for': '192.0.2.1', 'openai-organization': 'org', 'x-own': '1' },
    );
    for (const name of ['set-cookie', 'server', 'x-up']) assert.equal(headers.get(name), null, name);
    const sent = upstream.requests.at(-1)?.headers ?? {};
    assert.equal(sent.authorization, `Bearer ${SCRIPTED_KEY}`);
    for (const name of ['cookie', 'x-forwarded-for', 'openai-organization', 'x-own', 'x-request-id'])
      assert.equal(sent[name], undefined, name);
  });
});
