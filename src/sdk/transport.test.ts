import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { Reelgate } from './index.ts';

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
