import assert from 'node:assert/strict';
import { afterEach, before, test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { forOneDatabase } from '../for-each-database.ts';
import type { ChatService } from './chat-fixture.ts';
import { addScriptedModels, startScriptedChat } from './scripted-chat-fixture.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';

const BY_TOKEN = { input_per_million: 1_000_000, output_per_million: 1_000_000 };
const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const completion = (content: unknown, more: object = {}): string =>
  JSON.stringify({
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: USAGE,
    ...more,
  });
const data = (...all: readonly object[]): string => all.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('');
const chunk = (content: string, finish: string | null = null) => ({
  choices: [{ index: 0, delta: { content }, finish_reason: finish }],
});
const STREAM = `${data(chunk('one'), chunk('', 'stop'), { choices: [], usage: USAGE })}data: [DONE]\n\n`;

/** Which parts of an upstream's response are trusted, and which are not charged. */
forOneDatabase((_name, _open, freshUrl) => {
  let service: ChatService;
  let upstream: ScriptedUpstream;
  let next: ScriptedUpstream;
  before(async () => {
    ({ service, upstream } = await startScriptedChat(['odd'], {
      databaseUrl: await freshUrl(),
      price: BY_TOKEN,
      priority: 50,
    }));
    next = await startScriptedUpstream();
  });
  afterEach(async () => {
    await service.waitUntilSettled();
    await assertLedgerConsistent(service.app.database);
  });
  // Runs before the suite drops the database, which happens last.
  test.after(async () => {
    await service.stop();
    await Promise.all([upstream.stop(), next.stop()]);
  });

  const responds = (target: ScriptedUpstream, body: string | Buffer, headers: Record<string, string> = {}): void =>
    target.respondWith((response) =>
      response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body),
    );
  const ask = async (more: object = {}) => {
    const response = await fetch(`${service.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'odd', messages: [{ role: 'user', content: 'hi' }], ...more }),
    });
    const text = await response.text();
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      text,
      end: (await service.waitUntilSettled())[0],
    };
  };

  test("charges no more than the request's bytes and token limit allow", async () => {
    for (const [usage, most] of [
      [{ prompt_tokens: 10_000_000, completion_tokens: 0 }, 6_000],
      [{ prompt_tokens: 9_000_000, completion_tokens: 9_000_000 }, 6_000],
      [{ prompt_tokens: 7, completion_tokens: 3, total_tokens: 10_000_000 }, 200],
      [{ prompt_tokens: 7, completion_tokens: 9_000_000 }, 200],
      [{ input_tokens: 9_000_000, output_tokens: 1, cache_read_input_tokens: 900_000 }, 6_000],
    ] as const) {
      responds(upstream, completion('one', { usage }));
      const { status, end } = await ask({ max_tokens: 50 });
      assert.equal(status, 200);
      assert.ok(end?.kind === 'settle' && end.charged <= most, `${JSON.stringify(usage)}: ${end?.charged}`);
    }
    const words = 'word '.repeat(500);
    responds(upstream, completion(words, { usage: { prompt_tokens: 7, completion_tokens: 600 } }));
    assert.equal((await ask({ max_tokens: 50 })).end?.charged, 607, 'text beyond the limit that did come is charged');
  });

  test('reads compressed responses although compression was not requested', async () => {
    for (const [coding, compress] of [
      ['gzip', gzipSync],
      ['X-GZIP', gzipSync],
      ['deflate', deflateSync],
      ['br', brotliCompressSync],
      ['zstd', zstdCompressSync],
    ] as const) {
      responds(upstream, compress(completion('one')), { 'content-encoding': coding });
      const whole = await ask();
      assert.deepEqual(
        [whole.status, JSON.parse(whole.text).choices?.[0].message.content, whole.end?.charged],
        [200, 'one', 10],
        coding,
      );
      responds(upstream, compress(STREAM), { 'content-encoding': coding, 'content-type': 'text/event-stream' });
      const streamed = await ask({ stream: true });
      assert.ok(streamed.text.includes('"one"') && streamed.text.endsWith('[DONE]\n\n'), streamed.text);
      assert.equal(streamed.end?.charged, 10, coding);
    }
  });

  test('charges nothing for a body that does not match its Content-Encoding', async () => {
    for (const coding of ['gzip', 'rot13']) {
      responds(upstream, 'no', { 'content-encoding': coding });
      const { status, end } = await ask();
      assert.deepEqual([status, end?.kind], [502, 'refund'], coding);
      await service.operator.requestData('PUT', '/api/admin/channels/1', { weight: coding.length }).catch(() => {});
    }
  });

  test('treats an empty response as a failure and tries the next channel', async () => {
    await addScriptedModels(service.operator, next, ['other'], { price: BY_TOKEN });
    await service.operator.addChannel({
      vendor: 'openai',
      base_url: next.url,
      credentials: { api_key: 'sk-next-0123456789' },
      models: ['odd'],
      options: { private: true },
    });
    const empty = [
      [JSON.stringify({ choices: [] }), 'application/json'],
      [JSON.stringify({ choices: null, base_resp: { status_code: 1002, status_msg: 'rate' } }), 'application/json'],
      ['data: [DONE]\n\n', 'text/event-stream'],
      [
        `${data({ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }, chunk('', 'stop'))}data: [DONE]\n\n`,
        'text/event-stream',
      ],
    ] as const;
    for (const [body, type] of empty) {
      responds(upstream, body, { 'content-type': type });
      const stream = type === 'text/event-stream';
      responds(next, stream ? STREAM : completion('one'), { 'content-type': type });
      const { status, text, end } = await ask({ stream });
      assert.deepEqual([status, text.includes('"one"'), end?.charged], [200, true, 10], body);
    }
  });

  test('converts a plain body to the requested stream, and a stream to the requested body', async () => {
    responds(upstream, completion('one'));
    responds(next, completion('one'));
    const streamed = await ask({ stream: true });
    assert.match(streamed.type ?? '', /event-stream/);
    assert.ok(streamed.text.includes('"one"') && streamed.text.endsWith('data: [DONE]\n\n'), streamed.text);
    for (const type of ['text/event-stream', 'text/plain', 'application/json']) {
      responds(upstream, STREAM, { 'content-type': type });
      responds(next, STREAM, { 'content-type': type });
      const whole = await ask();
      assert.equal(JSON.parse(whole.text).choices[0].message.content, 'one', type);
      assert.equal(whole.end?.charged, 10);
    }
  });
});
