import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, mock } from 'node:test';
import { inspect } from 'node:util';
import { type Credentials, Reelgate, type ReelgateError, sleep } from './index.ts';

const STARTED = JSON.stringify({ id: 'task_1', object: 'video', status: 'queued' });

/** Sends a refusal that is worth a repetition without delay. */
const refuse =
  (status: number, headers: Readonly<Record<string, string>> = {}) =>
  (response: ServerResponse): void =>
    void response
      .writeHead(status, { 'content-type': 'application/json', 'retry-after': '0', ...headers })
      .end('{"error":{"code":"refused","message":"Refused."}}');

/** Starts a body and breaks the connection. */
const cut = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': STARTED.length });
  response.write(STARTED.slice(0, 10), () => response.destroy());
};

/** Submits a video to a service that answers with the given responses first, and succeeds afterwards. */
async function submitAfter(...refusals: readonly ((response: ServerResponse) => void)[]) {
  const keys: unknown[] = [];
  const server = createServer((request, response) => {
    request.resume();
    const answer = refusals[keys.push(request.headers['idempotency-key']) - 1];
    if (answer === undefined) response.writeHead(200, { 'content-type': 'application/json' }).end(STARTED);
    else answer(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const reelgate = new Reelgate({ baseUrl, credentials: { apiKey: 'sk-test' } });
  const outcome = await reelgate.videos.create({ model: 'kling-v3', prompt: 'a kite' }).then(
    ({ id }) => id,
    ({ code }: { readonly code: string }) => code,
  );
  server.closeAllConnections();
  server.close();
  return { outcome, requests: keys.length, keys: new Set(keys).size };
}

describe('a submit is sent again with its Idempotency-Key', () => {
  it('after a connection that broke while the response arrived', async () => {
    assert.deepEqual(await submitAfter(cut, cut), { outcome: 'task_1', requests: 3, keys: 1 });
  });

  it('while another process serves the first one, however often that takes', async () => {
    const refusals = Array.from({ length: 8 }, () => refuse(409));
    assert.deepEqual(await submitAfter(...refusals), { outcome: 'task_1', requests: 9, keys: 1 });
  });

  it('when a proxy did not reach the service, but not when the vendor refused', async () => {
    for (const status of [502, 504])
      assert.deepEqual(await submitAfter(refuse(status)), { outcome: 'task_1', requests: 2, keys: 1 });
    const own = refuse(502, { 'x-request-id': 'req_1' });
    assert.deepEqual(await submitAfter(own), { outcome: 'refused', requests: 1, keys: 1 });
  });

  it('at most four times', async () => {
    const busy = Array.from({ length: 9 }, () => refuse(503));
    assert.deepEqual(await submitAfter(...busy), { outcome: 'refused', requests: 4, keys: 1 });
  });

  it('unless the service asks for a longer delay than a minute', async () => {
    const busy = refuse(429, { 'retry-after': '61' });
    assert.deepEqual(await submitAfter(busy), { outcome: 'refused', requests: 1, keys: 1 });
  });
});

it('follows no redirect, which would lose the credential or the body', async () => {
  const requests: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    requests.push(url);
    response.writeHead(301, { location: `https://gate.example${url}` }).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const reelgate = new Reelgate({ baseUrl, credentials: { apiKey: 'sk-test' } });
  const told = {
    code: 'not_json',
    message: `The service at ${baseUrl} redirects to https://gate.example. Use that URL.`,
  };
  try {
    await assert.rejects(reelgate.videos.create({ model: 'm', prompt: 'a kite' }), told);
    await assert.rejects(reelgate.videos.list(), told);
    await assert.rejects(reelgate.videos.content('task_1'), told);
    assert.deepEqual(requests, ['/v1/video/generations', '/v1/videos', '/v1/videos/task_1/content']);
  } finally {
    server.close();
  }
});

describe('what cannot be sent is no failure of the network, and is not sent', () => {
  const client = (credentials: Credentials, fetch = mock.fn<typeof globalThis.fetch>()) => ({
    fetch,
    reelgate: new Reelgate({ baseUrl: 'http://127.0.0.1:9', credentials, fetch }),
  });

  it('credentials with characters of no header, which are not repeated in the error', async () => {
    const { reelgate, fetch } = client({ apiKey: 'sk-abc…', accessToken: 'abc\ndef', userId: 1 });
    for (const [call, code] of [
      [reelgate.videos.get('task_1'), 'invalid_api_key'],
      [reelgate.account.self(), 'unauthorized'],
    ] as const)
      await assert.rejects(call, (error: ReelgateError) => error.code === code && !/abc/.test(inspect(error)));
    assert.equal(fetch.mock.callCount(), 0);
  });

  it('but not the line break at the end of a key from a file', async () => {
    const { reelgate, fetch } = client({ apiKey: 'sk-abc\n' });
    fetch.mock.mockImplementation(async () => Response.json({ id: 'task_1' }));
    await reelgate.videos.get('task_1');
    assert.equal(new Headers(fetch.mock.calls[0]?.arguments[1]?.headers).get('authorization'), 'Bearer sk-abc');
  });

  it('ids that would lead to another endpoint', async () => {
    const { reelgate, fetch } = client({ apiKey: 'sk-abc' });
    for (const id of ['', '.', '..']) {
      await assert.rejects(reelgate.videos.delete(id), { code: 'invalid_request', message: `"${id}" is no task_id.` });
      await assert.rejects(reelgate.videos.content(id), { code: 'invalid_request' });
    }
    assert.equal(fetch.mock.callCount(), 0);
  });

  it('a response that does not begin within five minutes is late, and the service no less reachable', async () => {
    const { reelgate, fetch } = client({ apiKey: 'sk-abc' });
    const cause = Object.assign(new Error('Headers Timeout Error'), { code: 'UND_ERR_HEADERS_TIMEOUT' });
    fetch.mock.mockImplementation(() => Promise.reject(new TypeError('fetch failed', { cause })));
    await assert.rejects(reelgate.chat.complete({ model: 'm', messages: [] }), {
      code: 'network',
      message: "The service at http://127.0.0.1:9 did not respond within the five minutes of Node's fetch.",
    });
    assert.equal(fetch.mock.callCount(), 1);
  });

  it('values that JSON does not have', async () => {
    const { reelgate, fetch } = client({ apiKey: 'sk-abc' });
    const request = { model: 'kling-v3', prompt: 'a kite', metadata: { seed: 1n } };
    await assert.rejects(reelgate.videos.create(request), TypeError);
    assert.equal(fetch.mock.callCount(), 0);
  });
});

it('waits no longer than a timer can, instead of not at all', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let isOver = false;
  void sleep(2 ** 40).then(() => {
    isOver = true;
  });
  t.mock.timers.tick(2 ** 31 - 2);
  await Promise.resolve();
  assert.equal(isOver, false);
});
