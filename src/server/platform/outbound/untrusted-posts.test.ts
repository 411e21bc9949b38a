import assert from 'node:assert/strict';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openOutbound } from './client.ts';
import { type OutboundClient, OutboundError, type UntrustedPost } from './outbound.ts';

/** In these tests 127.0.0.1 is a public address and 127.0.0.2 a private one. */
const PUBLIC = '127.0.0.1';
const PRIVATE = '127.0.0.2';

/** Resolved once `/never-ends` has answered. */
let answered = Promise.withResolvers<void>();

/** Answers of receivers whose body cannot be read, by path. */
const ANSWERS: Readonly<Record<string, (response: http.ServerResponse) => void>> = {
  '/breaks-off': (response) => {
    response.writeHead(202, { 'content-length': '10' }).write('half', () => response.destroy());
  },
  // A program that answers and then works on without ending its response.
  '/never-ends': (response) => void response.writeHead(202).write('ok', () => answered.resolve()),
  '/unknown-coding': (response) => void response.writeHead(202, { 'content-encoding': 'zstd' }).end('bytes'),
  '/too-long-compressed': (response) =>
    void response.writeHead(202, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(100_000))),
  '/no-answer': (response) => void response.destroy(),
};

describe('post to an untrusted host', () => {
  let client: OutboundClient;
  const servers: http.Server[] = [];
  let port = 0;
  let seen: { method: string | undefined; headers: http.IncomingHttpHeaders; body: string }[] = [];
  before(async () => {
    const receive = async (request: http.IncomingMessage, response: http.ServerResponse) => {
      const body = Buffer.concat(await request.toArray()).toString();
      seen.push({ method: request.method, headers: request.headers, body });
      const answer = ANSWERS[request.url ?? ''];
      if (answer === undefined) response.end('received');
      else answer(response);
    };
    for (const address of [PUBLIC, PRIVATE]) {
      const server = http.createServer((request, response) => void receive(request, response));
      await new Promise<void>((resolve) => server.listen(port, address, resolve));
      port = (server.address() as AddressInfo).port;
      servers.push(server);
    }
    client = openOutbound({
      resolveUntrusted: async () => [{ address: PUBLIC, family: 4 }],
      isPublicIp: (address) => address === PUBLIC,
    });
  });
  after(async () => {
    await client.close();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  const post = (url: string, more: Partial<UntrustedPost> = {}) =>
    client.postUntrusted({
      url,
      body: 'event',
      headers: { 'x-signature': 's' },
      allowHttp: true,
      allowedPrivateHosts: [],
      ...more,
    });
  const phaseOf = async (url: string, more?: Partial<UntrustedPost>) =>
    post(url, more).then(
      ({ status }) => String(status),
      (error: unknown) => (error instanceof OutboundError ? error.phase : String(error)),
    );

  it('sends its headers and body, and returns the response up to its limit', async () => {
    seen = [];
    const answer = await post(`http://receiver.test:${port}/hook`, { maxBytes: 4 });
    assert.deepEqual([answer.status, answer.text], [200, 'rece']);
    const [request] = seen;
    assert.deepEqual([request?.method, request?.body, request?.headers['x-signature']], ['POST', 'event', 's']);
    assert.equal(request?.headers['accept-encoding'], 'identity');
  });

  it('takes the status for the answer, whatever becomes of the body', async () => {
    const url = (path: string): string => `http://receiver.test:${port}${path}`;
    for (const path of ['/breaks-off', '/unknown-coding', '/too-long-compressed']) {
      const { status, text, json } = await post(url(path), { maxBytes: 1_000 });
      assert.deepEqual([path, status, text, json], [path, 202, '', undefined]);
    }
    assert.equal((await post(url('/never-ends'), { totalTimeoutMs: 500 })).status, 202);
    assert.equal(await phaseOf(url('/no-answer')), 'sent');
    const stopping = new AbortController();
    answered = Promise.withResolvers();
    const stopped = phaseOf(url('/never-ends'), { signal: stopping.signal });
    await answered.promise;
    stopping.abort();
    assert.equal(await stopped, 'aborted');
  });

  it('T47: may use the ports of the web and those above 1023, and no other', async () => {
    for (const blocked of [1, 22, 25, 79, 81, 442, 444, 1_023])
      assert.equal(await phaseOf(`http://receiver.test:${blocked}/`), 'blocked', String(blocked));
    for (const allowed of [80, 443, 1_024])
      assert.notEqual(await phaseOf(`http://receiver.test:${allowed}/`), 'blocked', String(allowed));
    assert.equal(await phaseOf(`http://receiver.test:${port}/`), '200');
  });

  it('may use plain http only where permitted, or to a listed private host', async () => {
    const listed = { allowedPrivateHosts: [`${PRIVATE}:${port}`] };
    const url = `http://${PRIVATE}:${port}/`;
    assert.equal(await phaseOf(`http://receiver.test:${port}/`, { allowHttp: false }), 'blocked');
    assert.equal(await phaseOf(url), 'blocked');
    assert.equal(await phaseOf(url, listed), '200');
    assert.equal(await phaseOf(url, { ...listed, allowHttp: false }), '200');
    assert.equal(await phaseOf(`https://receiver.test:${port}/`, { allowHttp: false }), 'connect', 'no TLS there');
  });
});
