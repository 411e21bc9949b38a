import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { Reelgate, type WaitOptions } from './index.ts';

interface Answer {
  readonly status: number;
  readonly body: string;
}

const COMPLETED: Answer = { status: 200, body: JSON.stringify({ id: 'task_1', status: 'completed', progress: 100 }) };

/** Waits for a video of a service that answers its polls as given, and nothing else. */
async function waitFor(polls: readonly Answer[], options: WaitOptions) {
  const left = [...polls];
  const server = createServer((request, response) => {
    const isPoll = request.url === '/v1/videos/task_1';
    const { status, body } = (isPoll ? left.shift() : undefined) ?? { status: 520, body: 'unknown error' };
    response.writeHead(status).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const codes: string[] = [];
  const { videos } = new Reelgate({ baseUrl, credentials: { apiKey: 'sk-test' } });
  const { status } = await videos
    .wait('task_1', { ...options, onPollError: ({ code }) => codes.push(code) })
    .finally(() => server.close());
  return { status, codes };
}

it('a wait outlasts a failing service and the pages of proxies in front of it', async () => {
  const polls = [
    { status: 500, body: '{"error":{"code":"internal_error","message":"A fault."}}' },
    { status: 522, body: '<html>Connection timed out</html>' },
    { status: 200, body: '<html>Please log in to this network</html>' },
    COMPLETED,
  ];
  const codes = ['internal_error', 'http_522', 'not_json'];
  assert.deepEqual(await waitFor(polls, { intervalMs: 1 }), { status: 'completed', codes });
});

it('a wait needs no advice about its interval', async () => {
  assert.deepEqual(await waitFor([COMPLETED], {}), { status: 'completed', codes: [] });
});

it('a wait lasts as long as asked for, although the clock of the machine is set', async (t) => {
  const { now } = Date;
  const onProgress = () => t.mock.method(Date, 'now', () => now() + 3_600_000);
  const unfinished = { status: 200, body: JSON.stringify({ id: 'task_1', status: 'in_progress', progress: 30 }) };
  const waited = await waitFor([unfinished, COMPLETED], { intervalMs: 1, timeoutMs: 60_000, onProgress });
  assert.deepEqual(waited, { status: 'completed', codes: [] });
});

it('a wait for a batch outlasts a failing service and its proxies too, once it has begun', async () => {
  const answers = [
    { status: 200, body: '{"id":"batch_1","status":"in_progress"}' },
    { status: 500, body: '{"error":{"code":"internal_error","message":"A fault."}}' },
    { status: 522, body: '<html>Connection timed out</html>' },
    { status: 200, body: '{"id":"batch_1","status":"completed"}' },
  ];
  let left = [...answers];
  const server = createServer((_, response) => {
    const { status, body } = left.shift() ?? assert.fail();
    response.writeHead(status).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { batches } = new Reelgate({ baseUrl, credentials: { apiKey: 'sk-test' } });
    const codes: string[] = [];
    const wait = () => batches.wait('batch_1', { intervalMs: 1, onPollError: ({ code }) => codes.push(code) });
    assert.equal((await wait()).status, 'completed');
    assert.deepEqual(codes, ['internal_error', 'http_522']);
    left = answers.slice(1);
    await assert.rejects(wait(), { code: 'internal_error' });
  } finally {
    server.close();
  }
});
