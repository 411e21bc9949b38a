import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openLog } from '../../src/server/platform/log.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { type ChatService, contentOf, eventsOf, startChat } from './chat-fixture.ts';
import { addScriptedModels } from './scripted-chat-fixture.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';

/** Upstreams that are slow, silent, endless or send nonsense. */
describe('slow, silent and endless upstreams', { concurrency: false }, () => {
  let service: ChatService;
  const lines: string[] = [];
  before(async () => {
    service = await startChat('sqlite::memory:', {
      overrides: {
        chatTimeLimits: { firstByteMs: 1_000, idleMs: 2_000, totalMs: 3_000, keepAliveMs: 1_000 },
        log: openLog('trace', { write: (line: string) => void lines.push(line) }),
      },
    });
  });
  afterEach(async () => {
    service.sandbox.control.clearFaults();
    await service.waitUntilSettled();
    await assertLedgerConsistent(service.app.database);
  });
  after(() => service.stop());

  const lastError = (text: string): { code: string; type: string; message: string } =>
    JSON.parse(eventsOf(text).at(-1) ?? '{}').error;

  test('a missing response ends in 504, a dropped one in a failure; both are free', async () => {
    for (const [kind, status] of [
      ['hang', 504],
      ['drop', 503],
      ['truncated', 502],
      ['malformed', 502],
      ['empty', 502],
      ['deep', 502],
      ['slow', 504],
    ] as const) {
      service.sandbox.control.fault({ vendor: 'openai', kind });
      const { status: got, body } = await service.ask('[chunks=2]');
      assert.equal(got, status, `${kind} ${JSON.stringify(body)}`);
      const [end] = await service.waitUntilSettled();
      assert.equal(end?.kind, 'refund', kind);
    }
  });

  test('relays answers with wrong types and charges them by counting', async () => {
    service.sandbox.control.fault({ vendor: 'openai', kind: 'wrong-types' });
    const { status } = await service.ask('[chunks=2]');
    assert.equal(status, 200);
    assert.equal((await service.waitUntilSettled())[0]?.kind, 'settle');
  });

  test('abandons a complete answer beyond the size limit', async () => {
    for (const kind of ['huge', 'bomb'] as const) {
      service.sandbox.control.fault({ vendor: 'openai', kind });
      const before = process.memoryUsage().rss;
      const { status } = await service.ask('[chunks=2]');
      assert.ok(status === 502 || status === 504, `${kind}: ${status}`);
      assert.ok(process.memoryUsage().rss - before < 600 * 1024 * 1024, kind);
      assert.equal((await service.waitUntilSettled())[0]?.kind, 'refund', kind);
    }
  });

  test('fills silence with comments and ends it with an error event when it lasts', async () => {
    const text = await (await service.stream('[chunks=9] [silent=3]')).text();
    assert.match(text, /\n\n: keep-alive\n\n/);
    assert.equal(lastError(text).code, 'upstream_timeout');
    assert.ok(!text.includes('[DONE]'));
    assert.equal(contentOf(text).split(' ').length, 3);
    const [end] = await service.waitUntilSettled();
    assert.ok(end?.kind === 'settle' && end.charged >= 12 && end.charged < 60, JSON.stringify(end));
  });

  test('ends a stream beyond its total time limit with an error event and charges the delivered part', async () => {
    const text = await (await service.stream('[chunks=900] [delay=200]')).text();
    assert.equal(lastError(text).code, 'upstream_timeout');
    const words = contentOf(text).split(' ').length;
    assert.ok(words > 5 && words < 30, String(words));
    const [end] = await service.waitUntilSettled();
    assert.ok(end?.kind === 'settle' && end.charged >= words * 4, JSON.stringify(end));
  });

  test('relays events that are not JSON unchanged, free of charge', async () => {
    const text = await (await service.stream('[chunks=5] [garbage=2]')).text();
    assert.ok(text.includes('"conte\n\n'));
    assert.equal(eventsOf(text).at(-1), '[DONE]');
    const [end] = await service.waitUntilSettled();
    assert.ok(end?.kind === 'settle' && end.charged < 60, JSON.stringify(end));
  });

  test('reveals our upstream key neither to callers nor to the log, whatever the upstream says', async () => {
    const { api_key: canary } = service.sandbox.credentials('openai') as { api_key: string };
    for (const kind of ['unauthorized', 'invalid', 'policy', 'broken', 'billing', 'rate'] as const) {
      service.sandbox.control.fault({ vendor: 'openai', kind, message: `no ${canary} or Bearer ${canary}, ${canary}` });
      const { body } = await service.ask('[chunks=2]');
      assert.ok(!JSON.stringify(body).includes(canary), kind);
    }
    const text = await (await service.stream('[chunks=5] [error=2]')).text();
    assert.ok(!text.includes(canary));
    const { data } = await service.operator.request<{ id: number }[]>('GET', '/api/admin/channels');
    for (const { id } of data) {
      const read = async () => JSON.stringify(await service.operator.request('GET', `/api/admin/channels/${id}`));
      let channel = await read();
      // Errors are written after the caller was answered.
      for (let tries = 0; !channel.includes('[masked]') && tries < 200; tries += 1) {
        await pause(50);
        channel = await read();
      }
      assert.ok(!channel.includes(canary), 'administrators see why, not the key');
      assert.match(channel, /\[masked\]/);
    }
    assert.ok(!lines.join('').includes(canary), 'not in the log');
  });
});

// A separate service whose calls have the time that 64 MB take on a slow machine.
describe('endless upstreams', () => {
  let service: ChatService;
  before(async () => {
    service = await startChat('sqlite::memory:', { overrides: { chatTimeLimits: { totalMs: 100_000 } } });
  });
  after(() => service.stop());

  test('T56: ends endless events and endless streams', async () => {
    for (const [what, most, code] of [
      ['[chunks=2] [big=3000]', 10_000, 'upstream_error'],
      ['[chunks=999] [big=200]', 70_000_000, 'answer_broken_off'],
    ] as const) {
      const text = await (await service.stream(what)).text();
      assert.ok(text.length < most, `${what}: ${text.length}`);
      // Before any content the status can still report the failure, so the error is a body.
      assert.equal(JSON.parse(eventsOf(text).at(-1) ?? text).error.code, code, what);
    }
  });

  test('fills silence in streams of Anthropic with its own ping, because Claude Code does not count comments', async () => {
    const upstream = await startScriptedUpstream();
    await addScriptedModels(service.operator, upstream, ['gpt-slow']);
    const chunk = (delta: object, finish: string | null = null): string =>
      `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    const seen = Promise.withResolvers<void>();
    upstream.respondWith(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk({ content: 'one' }));
      await seen.promise;
      response.end(`${chunk({ content: ' two' })}${chunk({}, 'stop')}data: [DONE]\n\n`);
    });
    const response = await fetch(`${service.baseUrl}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'gpt-slow',
        max_tokens: 9,
        stream: true,
        messages: [{ role: 'user', content: 'hi' }],
      }),
    });
    let text = '';
    for await (const bytes of response.body ?? []) {
      text += Buffer.from(bytes).toString();
      if (text.includes('event: ping\ndata: {"type":"ping"}\n\n')) seen.resolve();
    }
    assert.match(text, /"text":"one".*event: ping.*"text":" two".*message_stop/s);
    await upstream.stop();
  });
});

describe('upstreams that are silent before their response', { concurrency: false }, () => {
  const MODELS = ['pensive', 'painter'];
  let service: ChatService;
  let slow: ScriptedUpstream;
  let spare: ScriptedUpstream;
  before(async () => {
    service = await startChat('sqlite::memory:', { overrides: { chatTimeLimits: { keepAliveMs: 200 } } });
    slow = await startScriptedUpstream();
    spare = await startScriptedUpstream();
    await addScriptedModels(service.operator, slow, MODELS, { priority: 2 });
    await service.operator.addChannel({
      vendor: 'openai',
      base_url: spare.url,
      credentials: { api_key: 'sk-spare' },
      models: MODELS,
      priority: 1,
      options: { private: true },
    });
  });
  after(async () => {
    await service.stop();
    await slow.stop();
    await spare.stop();
  });

  const whole = JSON.stringify({
    choices: [{ index: 0, message: { role: 'assistant', content: 'at last' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 2 },
  });
  const json = (status: number, body: string) => (response: ServerResponse) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);

  /** Lets the slow upstream respond once the caller has received a comment. */
  const hearAfterComment = async (respond: (response: ServerResponse) => unknown) => {
    const seen = Promise.withResolvers<void>();
    slow.respondWith(async (response) => {
      await seen.promise;
      respond(response);
    });
    const response = await service.stream('think', { model: 'pensive' });
    let text = '';
    for await (const bytes of response.body ?? []) {
      text += Buffer.from(bytes).toString();
      if (text.startsWith(': keep-alive\n\n')) seen.resolve();
    }
    return { text, status: response.status, end: (await service.waitUntilSettled())[0] };
  };

  test('comments keep the stream open, however the upstream then responds', async () => {
    const chunk = { id: 'c', choices: [{ index: 0, delta: { content: 'at last' }, finish_reason: 'stop' }] };
    for (const respond of [
      json(200, whole),
      (response: ServerResponse) =>
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`),
    ]) {
      const { text, status, end } = await hearAfterComment(respond);
      assert.deepEqual([status, contentOf(text), end?.kind], [200, 'at last', 'settle'], text);
      assert.equal(eventsOf(text).at(-1), '[DONE]');
    }
  });

  test('another channel is still tried, and a refusal is an event', async () => {
    spare.respondWith(json(200, whole));
    const { text, end } = await hearAfterComment((response) => response.destroy());
    assert.deepEqual([contentOf(text), end?.kind], ['at last', 'settle'], text);
    const refused = await hearAfterComment(json(400, JSON.stringify({ error: { message: 'too long' } })));
    assert.deepEqual([refused.status, refused.end?.kind], [200, 'refund']);
    assert.equal(JSON.parse(eventsOf(refused.text).at(-1) ?? '').error.message, 'too long');
  });

  test('a body that cannot follow a comment is an error, free of charge', async () => {
    const usage = { input_tokens: 3, output_tokens: 5 };
    const seen = Promise.withResolvers<void>();
    slow.respondWith(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      await seen.promise;
      response.end(JSON.stringify({ created: 1, data: [{ b64_json: 'aGk=' }], usage }));
    });
    spare.respondWith(json(200, JSON.stringify({ created: 1, data: [{ b64_json: 'aGk=' }], usage })));
    const response = await fetch(`${service.baseUrl}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'painter', prompt: 'a cat', stream: true }),
    });
    let text = '';
    for await (const bytes of response.body ?? []) {
      text += Buffer.from(bytes).toString();
      seen.resolve();
    }
    assert.equal(JSON.parse(eventsOf(text).at(-1) ?? '').error.code, 'upstream_error', text);
    assert.equal((await service.waitUntilSettled())[0]?.kind, 'refund');
  });
});
