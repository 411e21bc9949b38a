import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { makeApp } from '../../src/server/app.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { callModelApi } from '../call-model-api.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { testEnvironment } from '../service-with-sandbox.ts';
import { type ChatService, chatBody, startChat } from './chat-fixture.ts';

const rateHeaders = (headers: Headers): string[] => [...headers.keys()].filter((name) => name.includes('ratelimit'));

forEachDatabase((name, _open, freshUrl) => {
  describe('limits of an API key', { concurrency: false }, () => {
    let service: ChatService;
    let databaseUrl: string;
    before(async () => {
      databaseUrl = await freshUrl();
      service = await startChat(databaseUrl);
      await service.addChannel('kling', ['kling-v1-6']);
    });
    after(async () => {
      await service.waitUntilSettled();
      await assertLedgerConsistent(service.app.database);
      await service.stop();
    });

    const ask = (key: string, text = 'hi', more: object = {}, baseUrl = service.baseUrl) =>
      callModelApi(baseUrl, key, 'POST', '/v1/chat/completions', chatBody(text, more));
    const callsInLedger = async () => new Set((await service.waitUntilSettled()).map(({ ref }) => ref)).size;
    const submit = (key: string) =>
      callModelApi(service.baseUrl, key, 'POST', '/v1/videos', {
        model: 'kling-v1-6',
        prompt: '[stuck] a boat',
        queue: false,
      });

    test('sends no rate-limit headers for a key without limits', async () => {
      const { status, headers } = await ask(service.key);
      assert.deepEqual([status, rateHeaders(headers)], [200, []]);
    });

    test("limits requests per minute, with OpenAI's headers; a refused call costs nothing", async () => {
      const key = await service.operator.makeToken({ requests_per_minute: 3 });
      const before = await callsInLedger();
      const answers = await Promise.all(Array.from({ length: 9 }, () => ask(key)));
      const [served, refused] = [
        answers.filter(({ status }) => status === 200),
        answers.filter((one) => one.status === 429),
      ];
      assert.deepEqual([served.length, refused.length], [3, 6]);
      const left = served
        .map(({ headers }) => Number(headers.get('x-ratelimit-remaining-requests')))
        .sort((a, b) => a - b);
      assert.deepEqual(left, [0, 1, 2]);
      for (const { headers, body } of refused) {
        assert.equal(headers.get('x-ratelimit-limit-requests'), '3');
        assert.equal(headers.get('x-ratelimit-remaining-requests'), '0');
        assert.match(String(headers.get('x-ratelimit-reset-requests')), /^(\d+(\.\d+)?s|\d+ms|1m0s)$/);
        assert.ok(Number(headers.get('retry-after')) >= 1 && Number(headers.get('retry-after')) <= 60);
        const { code, type, message } = body.error as unknown as { code: string; type: string; message: string };
        assert.deepEqual([code, type], ['rate_limit_exceeded', 'rate_limit_error']);
        assert.match(message, /3 requests a minute/);
      }
      assert.equal(await callsInLedger(), before + served.length);
    });

    test('limits tokens per minute, corrected by the usage the model reports', async () => {
      const key = await service.operator.makeToken({ tokens_per_minute: 2_000 });
      const first = await ask(key, 'hi', { max_tokens: 500 });
      const usage = first.body.usage as unknown as { total_tokens: number };
      assert.ok(Number(first.headers.get('x-ratelimit-remaining-tokens')) <= 1_500);
      await service.waitUntilSettled();
      const second = await ask(key, 'hi', { max_tokens: 500 });
      const estimated = 2_000 - Number(first.headers.get('x-ratelimit-remaining-tokens'));
      assert.equal(Number(second.headers.get('x-ratelimit-remaining-tokens')), 2_000 - usage.total_tokens - estimated);
      const third = await ask(key, 'hi', { max_tokens: 1_990 });
      assert.equal(third.status, 429);
      assert.match(JSON.stringify(third.body), /2000 tokens a minute/);
    });

    test("sends Anthropic's headers and error", async () => {
      const key = await service.operator.makeToken({ requests_per_minute: 1 });
      const send = () =>
        callModelApi(service.baseUrl, key, 'POST', '/v1/messages', {
          model: 'sandbox-chat',
          max_tokens: 50,
          messages: [{ role: 'user', content: 'hi' }],
        });
      const served = await send();
      assert.equal(served.status, 200);
      assert.equal(served.headers.get('anthropic-ratelimit-requests-limit'), '1');
      assert.equal(served.headers.get('anthropic-ratelimit-requests-remaining'), '0');
      const reset = Date.parse(String(served.headers.get('anthropic-ratelimit-requests-reset')));
      assert.ok(reset > Date.now() - 5_000 && reset < Date.now() + 65_000);
      const refused = await send();
      assert.equal(refused.status, 429);
      assert.equal((refused.body.error as unknown as { type: string }).type, 'rate_limit_error');
      assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    });

    test("states the retry delay in the body of Gemini's 429", async () => {
      const key = await service.operator.makeToken({ requests_per_minute: 1 });
      const send = () =>
        callModelApi(service.baseUrl, key, 'POST', '/v1beta/models/sandbox-chat:generateContent', {
          contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
        });
      const served = await send();
      assert.deepEqual([served.status, rateHeaders(served.headers)], [200, []]);
      const { status, body } = await send();
      const error = body.error as unknown as { code: number; status: string; details: Record<string, string>[] };
      assert.deepEqual([status, error.code, error.status], [429, 429, 'RESOURCE_EXHAUSTED']);
      assert.equal(error.details[0]?.['@type'], 'type.googleapis.com/google.rpc.RetryInfo');
      assert.match(String(error.details[0]?.retryDelay), /^([1-9]|[1-5]\d|60)s$/);
    });

    test('limits concurrent model calls, streams included, until each has ended or its caller has left', async () => {
      const key = await service.operator.makeToken({ concurrent_calls: 2 });
      const leave = new AbortController();
      const stream = (signal?: AbortSignal) =>
        fetch(`${service.baseUrl}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify(chatBody('[chunks=200] [delay=50] hi', { stream: true })),
          ...(signal === undefined ? {} : { signal }),
        });
      const [one, two] = [await stream(leave.signal), await stream()];
      const refused = await ask(key);
      assert.deepEqual([one.status, two.status, refused.status], [200, 200, 429]);
      assert.match(JSON.stringify(refused.body), /2 model calls/);
      leave.abort();
      let { status } = await ask(key);
      for (let tries = 0; status === 429 && tries < 100; tries++) ({ status } = await ask(key));
      assert.equal(status, 200);
      await two.body?.cancel();
    });

    test('limits concurrent videos, and submits per minute', async () => {
      const key = await service.operator.makeToken({ concurrent_tasks: 2, requests_per_minute: 20 });
      const answers = await Promise.all(Array.from({ length: 6 }, () => submit(key)));
      assert.deepEqual(
        answers.map(({ status }) => status).sort((a, b) => a - b),
        [200, 200, 429, 429, 429, 429],
      );
      const served = answers.find(({ status }) => status === 200);
      assert.equal(served?.headers.get('x-ratelimit-limit-requests'), '20');
      const refused = answers.find(({ status }) => status === 429);
      assert.match(JSON.stringify(refused?.body), /2 videos/);
      assert.ok(Number(refused?.headers.get('retry-after')) >= 1);
    });

    // SQLite serves a single process.
    if (name === 'sqlite') return;
    test('applies across all replicas', async () => {
      const second = await makeApp(parseConfig(testEnvironment(databaseUrl)), { log: openLog('silent') });
      try {
        const { port } = await second.listen();
        const bases = [service.baseUrl, `http://127.0.0.1:${port}`];
        const key = await service.operator.makeToken({ requests_per_minute: 11 });
        const answers = await Promise.all(
          Array.from({ length: 40 }, (_, index) => ask(key, 'hi', {}, bases[index % 2] as string)),
        );
        assert.equal(answers.filter(({ status }) => status === 200).length, 11);
        assert.equal(answers.filter(({ status }) => status === 429).length, 29);
      } finally {
        await second.close(1_000);
      }
    });
  });
});
