import assert from 'node:assert/strict';
import http from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type OutboundOptions, openOutbound } from './client.ts';
import type { ExchangeControl, OutboundClient, OutboundError } from './outbound.ts';

let outbound: OutboundClient;
const MIB = 1024 * 1024;

const answers: { readonly [path: string]: (request: http.IncomingMessage, response: http.ServerResponse) => void } = {
  '/json': (_request, response) => response.end('{"a":[1,2]}'),
  '/html': (_request, response) => response.writeHead(502).end('<h1>Bad Gateway</h1>'),
  '/bom': (_request, response) => response.end('\ufeff{"a":1}'),
  '/deep': (_request, response) => response.end('['.repeat(65) + ']'.repeat(65)),
  '/polluting': (_request, response) => response.end('{"__proto__":{"polluted":true}}'),
  '/large': (_request, response) => response.end(`"${'é'.repeat(MIB)}"`),
  '/gzip': (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"a":1}')),
  '/bomb': (_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(64 * MIB))),
  '/stacked': (_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip, gzip' }).end(gzipSync(gzipSync('{"a":1}'))),
  '/redirect': (_request, response) => response.writeHead(302, { location: '/json' }).end(),
  '/never': () => {},
  '/repeated': (_request, response) => response.writeHead(200, { 'X-Thing': ['a', 'b'] }).end('{}'),
  '/megabytes': (_request, response) => response.end(Buffer.alloc(8 * MIB, 1)),
  '/echo': (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url, headers } = request;
      response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(chunks).toString() }));
    });
  },
};

const server = http.createServer((request, response) => {
  const path = new URL(request.url ?? '/', 'http://any').pathname;
  (answers[path] ?? ((_request, absent) => absent.writeHead(404).end()))(request, response);
});
let base = '';

before(async () => {
  outbound = openOutbound();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

after(async () => {
  await outbound.close();
  server.close();
});

const get = (path: string) => ({ method: 'GET', url: `${base}${path}`, private: true }) as const;

describe('json', () => {
  it('reads a JSON response', async () => {
    const answer = await outbound.requestJson(get('/json'));
    assert.equal(answer.status, 200);
    assert.equal(answer.text, '{"a":[1,2]}');
    assert.deepEqual(answer.json, { a: [1, 2] });
  });

  it('sends method, query, headers and body, and requests an unencoded response', async () => {
    const { json } = await outbound.requestJson({
      method: 'POST',
      url: `${base}/echo?x=%C3%A9&y=1`,
      headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
      body: '{"prompt":"猫"}',
      private: true,
    });
    const echo = json as { method: string; url: string; headers: Record<string, string>; body: string };
    assert.equal(echo.method, 'POST');
    assert.equal(echo.url, '/echo?x=%C3%A9&y=1');
    assert.equal(echo.body, '{"prompt":"猫"}');
    assert.equal(echo.headers.authorization, 'Bearer k');
    assert.equal(echo.headers['accept-encoding'], 'identity');
  });

  it('tells configured hosts which program asks and what it accepts, unless the request does', async () => {
    const sent = async (headers?: Record<string, string>): Promise<unknown> => {
      const { json } = await outbound.requestJson({ ...get('/echo'), headers });
      const { headers: received } = json as { headers: Record<string, string> };
      return [received['user-agent'], received['accept']];
    };
    assert.deepEqual(await sent(), ['reelgate', '*/*']);
    assert.deepEqual(await sent({ 'user-agent': 'curl/8', accept: 'application/json' }), [
      'curl/8',
      'application/json',
    ]);
  });

  for (const path of ['/html', '/deep', '/polluting']) {
    it(`returns the text but no value for ${path}`, async () => {
      const answer = await outbound.requestJson(get(path));
      assert.equal(answer.json, undefined);
      assert.notEqual(answer.text, '');
    });
  }

  it('ignores a byte order mark', async () => {
    assert.deepEqual((await outbound.requestJson(get('/bom'))).json, { a: 1 });
  });

  it('cuts off a response at its limit', async () => {
    const answer = await outbound.requestJson({ ...get('/large'), maxBytes: 1001 });
    assert.equal(answer.status, 200);
    assert.equal(answer.json, undefined);
    assert.equal(Buffer.byteLength(answer.text), 1001);
  });

  it('decodes a single content coding despite requesting none', async () => {
    assert.deepEqual((await outbound.requestJson(get('/gzip'))).json, { a: 1 });
  });

  for (const path of ['/bomb', '/stacked']) {
    it(`refuses ${path}`, async () => {
      await assert.rejects(outbound.requestJson(get(path)), { phase: 'body', mayHaveArrived: true });
    });
  }

  it('returns a redirect of a configured host to the caller', async () => {
    const answer = await outbound.requestJson(get('/redirect'));
    assert.equal(answer.status, 302);
    assert.equal(answer.headers.location, '/json');
  });

  it('joins repeated headers', async () => {
    assert.equal((await outbound.requestJson(get('/repeated'))).headers['x-thing'], 'a, b');
  });
});

describe('configured', () => {
  it('streams a body', async () => {
    const { status, body } = await outbound.request(get('/megabytes'));
    assert.equal(status, 200);
    let size = 0;
    for await (const chunk of body) size += (chunk as Buffer).length;
    assert.equal(size, 8 * MIB);
  });

  it('sends a streamed body', async () => {
    const { Readable } = await import('node:stream');
    const body = Readable.from([Buffer.from('one '), Buffer.from('two')]);
    const { json } = await outbound.requestJson({ method: 'POST', url: `${base}/echo`, body, private: true });
    assert.equal((json as { body: string }).body, 'one two');
  });

  it('aborts the exchange when the body is destroyed', async () => {
    const closed = new Promise<void>((resolve) => {
      server.once('request', (_request, response) => response.on('close', resolve));
    });
    const { body } = await outbound.request(get('/megabytes'));
    body.destroy();
    await closed;
  });

  it('fails a body that exceeds its limit', async () => {
    const { body } = await outbound.request({ ...get('/megabytes'), maxBytes: 100_000 });
    await assert.rejects(body.toArray(), { phase: 'body' });
  });
});

describe('stream', () => {
  it('passes on head, chunks and end, and can be paused', async () => {
    const events: string[] = [];
    let size = 0;
    const end = Promise.withResolvers<void>();
    outbound.stream(get('/megabytes'), {
      head: (status) => events.push(`head ${status}`),
      chunk(bytes, control) {
        size += bytes.length;
        control.pause();
        setImmediate(() => control.resume());
      },
      end() {
        events.push('end');
        end.resolve();
      },
      fail: (error) => end.reject(error),
    });
    await end.promise;
    assert.deepEqual(events, ['head 200', 'end']);
    assert.equal(size, 8 * MIB);
  });

  it('delivers no chunk while paused and none after an abort', async () => {
    let chunks = 0;
    let control: ExchangeControl | undefined;
    const first = Promise.withResolvers<void>();
    const failed = Promise.withResolvers<OutboundError>();
    outbound.stream(get('/megabytes'), {
      head() {},
      chunk(_bytes, got) {
        chunks++;
        control = got;
        got.pause();
        first.resolve();
      },
      end: () => failed.reject(new Error('ended')),
      fail: failed.resolve,
    });
    await first.promise;
    const soFar = chunks;
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(chunks, soFar);
    control?.abort();
    control?.resume();
    assert.equal((await failed.promise).phase, 'aborted');
    assert.equal(chunks, soFar);
  });

  it('turns an exception in a handler into a single failure', async () => {
    const failed = Promise.withResolvers<OutboundError>();
    outbound.stream(get('/json'), {
      head() {
        throw new Error('handler at fault');
      },
      chunk: () => failed.reject(new Error('chunk after failure')),
      end: () => failed.reject(new Error('end after failure')),
      fail: failed.resolve,
    });
    const error = await failed.promise;
    assert.equal(error.phase, 'body');
    assert.match(error.message, /handler at fault/);
  });
});

describe('close', () => {
  /** A server that takes a minute to answer /slow, and 100 ms for all other requests. */
  async function startSlowServer() {
    const slow = http.createServer((request, response) => {
      setTimeout(() => response.end('{}'), request.url === '/slow' ? 60_000 : 100).unref();
    });
    // Sockets stay open after their responses.
    slow.keepAliveTimeout = 120_000;
    await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
    const { port } = slow.address() as AddressInfo;
    const stop = () => {
      slow.closeAllConnections();
      slow.close();
    };
    return { port, url: `http://127.0.0.1:${port}`, stop };
  }

  it('lets a request in flight finish within the grace period, and aborts it afterwards', async (t) => {
    const { url, stop } = await startSlowServer();
    t.after(stop);
    const client = openOutbound();
    const quick = client.requestJson({ method: 'GET', url: `${url}/quick`, private: true });
    const stuck = assert.rejects(client.requestJson({ method: 'GET', url: `${url}/slow`, private: true }), {
      phase: 'sent',
    });
    await new Promise((resolve) => setTimeout(resolve, 30));
    await client.close(400);
    assert.equal((await quick).status, 200);
    await stuck;
  });

  it('waits for the only request in flight, to any host, and not at all if there is none', async (t) => {
    const { port, url, stop } = await startSlowServer();
    t.after(stop);
    const untrusted = { url: `http://127.0.0.1:${port}/`, headers: {}, body: '' };
    for (const send of [
      (client: OutboundClient) => client.requestJson({ method: 'GET', url, private: true }),
      (client: OutboundClient) => client.postUntrusted({ ...untrusted, allowHttp: true, allowedPrivateHosts: [] }),
    ]) {
      const client = openOutbound({ isPublicIp: () => true });
      const answer = send(client);
      await new Promise((resolve) => setTimeout(resolve, 30));
      const startedAt = performance.now();
      await client.close(30_000);
      assert.equal((await answer).status, 200);
      assert.ok(performance.now() - startedAt < 20_000, 'closed as soon as the response was there');
    }
    const idle = openOutbound();
    const startedAt = performance.now();
    await idle.close(30_000);
    assert.ok(performance.now() - startedAt < 20_000);
  });

  it('aborts connection attempts', async (t) => {
    const connected = Promise.withResolvers<Socket>();
    // Accepts but stays silent, so that the TLS handshake never completes.
    const silent = createServer(connected.resolve);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    t.after(() => silent.close());
    const client = openOutbound();
    const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const refused = assert.rejects(client.requestJson({ method: 'GET', url, private: true, connectTimeoutMs: 60_000 }));
    const socket = await connected.promise;
    const ended = new Promise((resolve) => socket.resume().on('error', resolve).on('close', resolve));
    const startedAt = performance.now();
    await client.close();
    await Promise.all([refused, ended]);
    assert.ok(performance.now() - startedAt < 8_000, 'before the attempt is given up by itself');
  });
});

describe('default limits', () => {
  /** Treats every name and IP as public, so that this file's server is reached as an untrusted host. */
  const openPublic = (more: OutboundOptions = {}) =>
    openOutbound({
      isPublicIp: () => true,
      resolveUntrusted: async () => [{ address: '127.0.0.1', family: 4 }],
      untrustedPorts: [80, 443, Number(new URL(base).port)],
      ...more,
    });
  const untrusted = (path: string) => ({ method: 'GET', url: `${base}${path}` }) as const;

  it("permit only the web's ports in untrusted URLs", async (t) => {
    const client = openOutbound({ isPublicIp: () => true, resolveUntrusted: async () => [] });
    t.after(() => client.close());
    for (const [port, phase] of [
      [80, 'resolve'],
      [443, 'resolve'],
      [81, 'blocked'],
      [444, 'blocked'],
    ] as const)
      await assert.rejects(client.requestUntrusted({ method: 'GET', url: `http://a.test:${port}/` }), { phase });
  });

  it('permit 256 exchanges with untrusted hosts in flight', async (t) => {
    const client = openPublic();
    t.after(() => client.close());
    const first = Array.from({ length: 256 }, () => client.requestUntrusted(untrusted('/never')).catch(() => {}));
    await assert.rejects(client.requestUntrusted({ ...untrusted('/json'), connectTimeoutMs: 20 }), {
      phase: 'connect',
      message: /too many exchanges/,
    });
    await client.close();
    await Promise.all(first);
  });

  it('permit four waiting exchanges per exchange in flight, and refuse further ones immediately', async (t) => {
    const client = openPublic({ maxUntrusted: 1 });
    t.after(() => client.close());
    const outcomes: string[] = [];
    const all = Array.from({ length: 6 }, (_, index) =>
      client
        .requestUntrusted({ ...untrusted('/never'), connectTimeoutMs: 60_000 })
        .catch(() => outcomes.push(`${index}`)),
    );
    await all[5];
    assert.deepEqual(outcomes, ['5'], 'the one under way and four waiting go on');
  });

  it('send the current trace context, if there is one', async (t) => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const sent = async (options: OutboundOptions): Promise<unknown> => {
      const client = openOutbound(options);
      t.after(() => client.close());
      const { json } = await client.requestJson({ ...get('/echo'), headers: { 'accept-encoding': 'gzip' } });
      const { headers } = json as { headers: Record<string, string> };
      return [headers['traceparent'], headers['accept-encoding']];
    };
    assert.deepEqual(await sent({ traceparent: () => traceparent }), [traceparent, 'gzip']);
    assert.deepEqual(await sent({}), [undefined, 'gzip']);
  });
});
