import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, it, test } from 'node:test';
import Type from 'typebox';
import { type Endpoint, endpoint } from '../../../contract/endpoint.ts';
import { AppError } from '../app-error.ts';
import { openLog } from '../log.ts';
import { OutboundError } from '../outbound/outbound.ts';
import { NO_TRACING, type Span, type SpanAttributes, type SpanOptions, type Tracing } from '../tracing/tracing.ts';
import type { Handler, RequestContext } from './route-registry.ts';
import { AllowedMethods, createHttpServer, type HttpServer, traceRequest } from './server.ts';
import { parseAnswer, plain, startHttp } from './start-http-server.fixture.ts';

describe('server', () => {
  const APP = 'https://app.example';
  type Http = Awaited<ReturnType<typeof startHttp>>;

  describe('HTTP layer', () => {
    let http: Http;
    const responses: unknown[][] = [];
    let context: RequestContext | undefined;
    const fastPathSaw: string[] = [];
    const waiting = Promise.withResolvers<void>();

    before(async () => {
      http = await startHttp({
        baseUrl: 'https://Gate.example',
        corsOrigins: [APP],
        onResponse: (route, method, status, seconds) => void responses.push([route, method, status, seconds]),
      });
      const { routes } = http;
      const Named = Type.Object({ name: Type.String(), size: Type.Optional(Type.String()) });
      const Got = Type.Object({ got: Type.Unknown() });
      routes.add(
        endpoint({ ...plain, method: 'POST', path: '/api/echo', body: Named, response: Got }),
        async ({ body }) => ({
          got: body,
          more: 'not declared',
        }),
      );
      routes.add(
        endpoint({ ...plain, envelope: 'model', method: 'POST', path: '/v1/echo', body: Named, response: Got }),
        async ({ body }) => ({ got: body }),
      );
      routes.add(
        endpoint({ ...plain, method: 'POST', path: '/api/all-optional', body: Type.Partial(Named), response: Got }),
        async ({ body }) => ({ got: body }),
      );
      routes.add(
        endpoint({
          ...plain,
          method: 'POST',
          path: '/api/optional',
          body: Type.Object({}),
          optionalBody: true,
          response: Got,
        }),
        async ({ body }) => ({ got: body }),
      );
      routes.add(
        endpoint({
          ...plain,
          method: 'GET',
          path: '/api/items/:id',
          query: Type.Object({ q: Type.Optional(Type.String()) }),
        }),
        async ({ params, request, reply }) => {
          context = request;
          return reply.send({ params });
        },
      );
      routes.add(endpoint({ ...plain, method: 'GET', path: '/shared/secret', secret: true }), async ({ reply }) =>
        reply.send('s'),
      );
      routes.add(endpoint({ ...plain, method: 'GET', path: '/shared/plain' }), async ({ reply }) => reply.send('p'));
      routes.add(endpoint({ ...plain, envelope: 'page', method: 'POST', path: '/page' }), async ({ reply }) =>
        reply.send('ok'),
      );
      routes.add(endpoint({ ...plain, method: 'POST', path: '/api/small', bodyLimit: 100 }), async ({ reply }) =>
        reply.send('ok'),
      );
      routes.add(endpoint({ ...plain, policy: 'account', method: 'GET', path: '/api/me' }), async ({ caller, reply }) =>
        reply.send(caller),
      );
      routes.add(endpoint({ ...plain, policy: 'model', method: 'GET', path: '/v1/me' }), async ({ caller, reply }) =>
        reply.send(caller),
      );
      routes.add(endpoint({ ...plain, policy: 'root', method: 'POST', path: '/api/root' }), async ({ reply }) =>
        reply.send(''),
      );
      const fail: Handler<Endpoint> = async ({ request }) => {
        if (request.headers['x-fail'] === 'log')
          throw new AppError('not_exist', { params: { what: 'x' }, log: { inside: 1 } });
        if (request.headers['x-fail'] === 'quiet') throw new AppError('not_exist', { params: { what: 'x' } });
        const statusCode = Number(request.headers['x-status']);
        if (statusCode > 0) throw Object.assign(new Error('of the framework'), { statusCode });
        if (request.headers['x-fail'] === 'upstream') throw new OutboundError('body', 'broke');
        throw new Error('broken inside');
      };
      routes.add(endpoint({ ...plain, method: 'GET', path: '/api/fails' }), fail);
      routes.add(endpoint({ ...plain, envelope: 'model', method: 'GET', path: '/v1/fails' }), fail);
      routes.add(endpoint({ ...plain, method: 'GET', path: '/api/breaks' }), async ({ reply }) => {
        reply.raw.writeHead(200, { 'content-length': '100' });
        await new Promise((resolve) => reply.raw.write('begun', resolve));
        throw new Error('broken later');
      });
      routes.add(endpoint({ ...plain, method: 'GET', path: '/api/waits' }), async ({ request, reply }) => {
        waiting.resolve();
        await once(request.disconnected, 'abort');
        fastPathSaw.push('disconnected');
        return reply.send('');
      });
      http.addFastPath((request, response) => {
        if (request.url?.split('?', 1)[0] !== '/fast') return false;
        const { requestIdOf, sendError, newRequestId, recordRequest } = http.fastPathTools;
        recordRequest('/fast', 'GET', 299, 1);
        if (request.headers['x-fail'] === 'inside') sendError(request, response, 'id1', new Error('broken inside'));
        else if (request.headers['x-fail'] !== undefined)
          sendError(request, response, newRequestId(), new AppError('rate_limit_exceeded', { retryAfterSeconds: 3 }));
        else response.writeHead(200, { 'x-request-id': requestIdOf(request), 'content-length': 4 }).end('fast');
        return true;
      });
      await http.start();
    });
    after(() => http.close(0));

    const json = async (...request: Parameters<Http['send']>) => {
      const { status, body } = await http.send(...request);
      return [status, JSON.parse(body)] as const;
    };

    it('passes handlers what the endpoint declares', async () => {
      const body = '{"name":"a","other":1}';
      assert.deepEqual(await json('POST', '/api/echo', body), [200, { got: { name: 'a' } }]);
      assert.deepEqual(await json('POST', '/v1/echo', body), [200, { got: { name: 'a', other: 1 } }]);
      assert.deepEqual(await json('POST', '/v1/echo', '{"name":"a","size":null}'), [200, { got: { name: 'a' } }]);
      assert.equal((await http.send('POST', '/api/echo', '{"name":"a","size":null}')).status, 400);
      assert.deepEqual(await json('POST', '/api/optional'), [200, { got: {} }]);
      assert.equal((await http.send('POST', '/api/echo')).status, 400);
      assert.deepEqual(await json('GET', '/api/items/a%20b?q=1'), [200, { params: { id: 'a b' } }]);
    });

    it('tells handlers the sender', async () => {
      await http.send('GET', '/api/items/1', '', {
        cookie: 'session=s1',
        'accept-language': 'zh-CN',
        'x-request-id': 'mine',
      });
      const { id, clientIp, locale, session, files, rawBody } = context as RequestContext;
      assert.deepEqual(
        [id, clientIp, locale, session, files, rawBody],
        ['mine', '192.0.2.1', 'zh-CN', 's1', [], undefined],
      );
      assert.deepEqual(await json('GET', '/api/me'), [200, { kind: 'session', userId: 7, role: 'user', sessionId: 1 }]);
      assert.deepEqual(await json('GET', '/v1/me'), [200, { kind: 'model', userId: 7, tokenId: 3, models: [] }]);
    });

    it('authenticates the caller before reading the body', async () => {
      assert.equal((await http.send('POST', '/api/root', '{')).status, 403);
      assert.equal((await http.send('POST', '/api/echo', '{')).status, 400);
    });

    it('refuses text that a database cannot store, and empty path segments', async () => {
      assert.equal((await http.send('GET', '/api/items/1?q=%00')).status, 400);
      assert.equal((await http.send('GET', '/api/items/')).status, 404);
      assert.equal((await http.send('GET', '/api/items/1%00')).status, 404);
    });

    it('answers paths and methods that are not served', async () => {
      assert.equal((await http.send('GET', '/api/nothing')).status, 404);
      assert.equal((await http.send('GET', '/API/echo')).status, 404);
      const { status, headers } = await http.send('DELETE', '/api/items/1?x=1');
      assert.deepEqual([status, headers['allow']], [405, 'GET, HEAD']);
      assert.equal((await http.send('HEAD', '/api/items/1')).status, 200);
      const post = await http.send('HEAD', '/api/echo');
      assert.deepEqual([post.status, post.headers['allow']], [405, 'POST']);
      assert.equal((await http.send('DELETE', '/api/nothing', '{')).status, 404, 'whatever its body');
    });

    it('asks for HTTP where a WebSocket is opened instead, whether or not a proxy forwards the upgrade', async () => {
      const key = { 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
      const upgrade = { ...key, connection: 'Upgrade, close', upgrade: 'websocket' };
      for (const handshake of [upgrade, key]) {
        const { status, headers, body } = await http.send('GET', '/v1/echo', '', handshake);
        assert.deepEqual([status, headers['upgrade'], headers['allow']], [426, 'HTTP/1.1', 'POST']);
        assert.match(body, /over HTTP/);
        assert.equal((await http.send('GET', '/api/nothing', '', handshake)).status, 404);
        assert.equal((await http.send('GET', '/api/items/1', '', handshake)).status, 200);
      }
    });

    it('distinguishes a path with an extra slash, and an omitted body from an empty one', async () => {
      assert.deepEqual(
        [(await http.send('GET', '/shared/plain')).status, (await http.send('GET', '/shared/plain/')).status],
        [200, 404],
      );
      assert.equal((await http.send('POST', '/api/all-optional', '{}')).status, 200);
      assert.equal((await http.send('POST', '/api/all-optional')).status, 400);
    });

    it('requires no host name for a health check', async () => {
      const statusOf = async (path: string) => (await http.send('GET', path, '', { host: '192.0.2.7' })).status;
      assert.deepEqual([await statusOf('/shared/plain'), await statusOf('/livez')], [421, 404]);
    });

    it('accepts path segments of up to 200 characters, and bodies of 64 KiB by default', async () => {
      assert.equal((await http.send('GET', `/api/items/${'a'.repeat(200)}`)).status, 200);
      assert.equal((await http.send('GET', `/api/items/${'a'.repeat(201)}`)).status, 404);
      const bodyOf = (bytes: number) => JSON.stringify({ name: 'a'.repeat(bytes - '{"name":""}'.length) });
      assert.equal((await http.send('POST', '/api/echo', bodyOf(65_536))).status, 200);
      assert.equal((await http.send('POST', '/api/echo', bodyOf(65_537))).status, 413);
    });

    it('sends the headers common to all responses', async () => {
      const { headers } = await http.send('GET', '/api/items/1', '', { 'x-request-id': 'mine' });
      assert.equal(headers['x-request-id'], 'mine');
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.equal(headers['strict-transport-security'], 'max-age=31536000');
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal((await http.send('GET', '/shared/secret')).headers['cache-control'], 'no-store');
      assert.equal((await http.send('GET', '/shared/plain')).headers['cache-control'], undefined);
      const unsafe = await http.send('GET', '/shared/plain', '', { 'x-request-id': 'a b' });
      assert.match(unsafe.headers['x-request-id'] ?? '', /^[\w-]{10,}$/);
      const again = await http.send('GET', '/shared/plain');
      assert.notEqual(again.headers['x-request-id'], unsafe.headers['x-request-id']);
    });

    it('serves its own host, and paths in canonical form', async () => {
      const wrong = await http.send('GET', '/api/items/1', '', { host: 'evil.example', 'x-request-id': 'mine' });
      assert.equal(wrong.status, 421);
      assert.equal(wrong.headers['x-request-id'], 'mine');
      assert.equal(wrong.headers['connection'], 'close');
      assert.equal((await http.send('GET', '/api//items/1')).status, 404);
      assert.equal((await http.send('GET', '/api/items/1', '', { host: 'gate.example:8443' })).status, 200);
      const twice = 'GET /api/items/1 HTTP/1.1\r\nHost: gate.example\r\nHost: gate.example\r\n\r\n';
      assert.match(await http.talk(twice), /^HTTP\/1\.1 4(00|21) /);
    });

    it('accepts cross-site requests only by CORS, and without cookies', async () => {
      const body = '{"name":"a"}';
      const from = (headers: Record<string, string>, path = '/v1/echo') => http.send('POST', path, body, headers);
      assert.equal((await from({ origin: 'https://evil.example' })).status, 403);
      const shared = await from({ origin: APP });
      assert.deepEqual([shared.status, shared.headers['access-control-allow-origin']], [200, APP]);
      assert.equal((await from({ origin: APP, cookie: 'session=s' })).status, 403);
      assert.equal((await from({ origin: APP }, '/api/echo')).status, 403);
      assert.equal((await from({ origin: 'https://gate.example' }, '/api/echo')).status, 200);
      assert.equal((await from({ origin: 'null' }, '/page')).status, 200);
      assert.equal((await from({ origin: 'null' }, '/api/echo')).status, 403);
      const preflight = await http.send('OPTIONS', '/v1/echo', '', {
        origin: APP,
        'access-control-request-method': 'POST',
      });
      assert.equal(preflight.status, 204);
    });

    it('lets fast paths answer first', async () => {
      const fast = await http.send('GET', '/fast', '', { 'x-request-id': 'mine' });
      assert.deepEqual([fast.status, fast.body, fast.headers['x-request-id']], [200, 'fast', 'mine']);
      const failed = await http.send('GET', '/fast', '', { 'x-fail': '1', 'accept-language': 'zh-CN' });
      assert.deepEqual([failed.status, failed.headers['retry-after']], [429, '3']);
      assert.equal(failed.headers['x-content-type-options'], 'nosniff');
      assert.ok(failed.headers['x-request-id']);
      http.lines.length = 0;
      assert.equal((await http.send('GET', '/fast?secret=1', '', { 'x-fail': 'inside' })).status, 500);
      const logged = http.lines
        .filter(([level]) => level === 'error')
        .map(([, { requestId, route }]) => [requestId, route]);
      assert.deepEqual(logged, [['id1', '/fast']]);
    });

    it('reports every response', async () => {
      responses.length = 0;
      await http.send('GET', '/api/items/1');
      await http.send('GET', '/api/nothing');
      await http.send('GET', '/fast');
      while (responses.length < 3) await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(
        responses.map((response) => response.slice(0, 3)),
        [
          ['/api/items/:id', 'GET', 200],
          ['none', 'GET', 404],
          ['/fast', 'GET', 299],
        ],
      );
      // Far less than a second each on any machine.
      for (const [route, , , seconds] of responses.slice(0, 2))
        assert.ok(Number(seconds) > 0 && Number(seconds) < 20, `${String(route)}: ${String(seconds)} s`);
    });

    it('logs internal errors, and errors with details for the log', async () => {
      const fail = async (kind: string) => {
        http.lines.length = 0;
        const { status } = await http.send('GET', '/api/fails', '', { 'x-fail': kind });
        return [
          status,
          http.lines.filter(([level]) => level !== 'debug').map(([level, fields]) => [level, fields['inside']]),
        ];
      };
      assert.deepEqual(await fail(''), [500, [['error', undefined]]]);
      assert.deepEqual(await fail('log'), [200, [['warn', 1]]]);
      assert.deepEqual(await fail('quiet'), [200, []]);
    });

    it('distinguishes internal failures from those of the request and of an upstream', async () => {
      const statusOf = async (headers: Record<string, string>) =>
        (await http.send('GET', '/v1/fails', '', headers)).status;
      for (const [statusCode, expected] of [
        ['399', 500],
        ['400', 400],
        ['418', 400],
        ['499', 400],
        ['500', 500],
      ] as const)
        assert.equal(await statusOf({ 'x-status': statusCode }), expected, statusCode);
      assert.equal(await statusOf({ 'x-fail': 'upstream' }), 502);
      assert.equal(await statusOf({}), 500);
    });

    it('cuts off a response that fails after its start', async () => {
      const { status, body } = await http.send('GET', '/api/breaks');
      assert.deepEqual([status, body], [200, 'begun']);
    });

    it('answers requests the parser rejects in the envelope of their path', async () => {
      const header = `x: ${'y'.repeat(20_000)}`;
      const long = parseAnswer(await http.talk(`GET /v1/echo HTTP/1.1\r\nHost: gate.example\r\n${header}\r\n\r\n`));
      assert.equal(long.status, 431);
      assert.ok('error' in JSON.parse(long.body));
      assert.equal(long.headers['content-length'], String(long.body.length));
      assert.ok(long.headers['x-request-id']);
      const garbage = parseAnswer(await http.talk('nonsense\r\n\r\n'));
      assert.equal(garbage.status, 400);
      assert.match(garbage.headers['content-type'] ?? '', /text\/html/);
      const badLength = parseAnswer(await http.talk('POST /api/echo HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n'));
      assert.deepEqual([badLength.status, JSON.parse(badLength.body).success], [400, false]);
    });

    it('tells a handler that its client has disconnected', async () => {
      const port = (http.fastify.server.address() as { port: number }).port;
      const socket = connect(port, '127.0.0.1');
      socket.write('GET /api/waits HTTP/1.1\r\nHost: gate.example\r\n\r\n');
      await waiting.promise;
      assert.equal(fastPathSaw.length, 0);
      socket.destroy();
      while (fastPathSaw.length === 0) await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(fastPathSaw, ['disconnected']);
    });

    it('keeps the connection of a body it refuses by length', async () => {
      const port = (http.fastify.server.address() as { port: number }).port;
      const socket = connect(port, '127.0.0.1');
      const body = JSON.stringify('x'.repeat(200));
      socket.write(
        `POST /api/small HTTP/1.1\r\nHost: gate.example\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      const [answer] = await once(socket, 'data');
      assert.equal(parseAnswer(String(answer)).status, 413);
      assert.doesNotMatch(String(answer), /connection: close/i);
      socket.destroy();
      const chunked = `POST /api/small HTTP/1.1\r\nHost: gate.example\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
      const unbounded = parseAnswer(await http.talk(`${chunked}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`));
      assert.deepEqual([unbounded.status, unbounded.headers['connection']], [413, 'close'], 'of any length');
      assert.equal((await http.send('POST', '/api/small', JSON.stringify('x'.repeat(98)))).status, 200);
    });
  });

  describe('HTTP layer of a service without https', () => {
    it('sends no Strict-Transport-Security, and aborts requests in flight after the grace period', async () => {
      const http = await startHttp();
      const begun = Promise.withResolvers<void>();
      http.routes.add(endpoint({ ...plain, method: 'GET', path: '/api/plain' }), async ({ reply }) => reply.send('ok'));
      http.routes.add(endpoint({ ...plain, method: 'GET', path: '/api/hangs' }), async ({ request, reply }) => {
        begun.resolve();
        await once(request.disconnected, 'abort');
        return reply;
      });
      await http.start();
      assert.equal((await http.send('GET', '/api/plain')).headers['strict-transport-security'], undefined);
      const hanging = http.send('GET', '/api/hangs').catch(() => undefined);
      await begun.promise;
      await http.close(20);
      await hanging;
    });
  });
});

describe('allowed methods of a path', () => {
  const methods = new AllowedMethods();
  methods.add('GET', '/api/tokens');
  methods.add(['POST', 'HEAD'], '/api/tokens');
  methods.add('DELETE', '/api/tokens/:id');
  methods.add('PUT', '/api/tokens/:id');
  methods.add('GET', '/api/tokens/all');
  methods.add('GET', '/assets/*');
  methods.add('GET', '/v1/a.b');
  methods.add('POST', '/v1beta/models/:model:generate');
  methods.add('GET', '/*');
  methods.add('GET', '*');

  for (const [path, expected] of [
    ['/api/tokens', ['GET', 'HEAD', 'POST']],
    ['/api/tokens/7', ['DELETE', 'PUT']],
    ['/api/tokens/all', ['DELETE', 'GET', 'PUT']],
    ['/api/tokens/', []],
    ['/api/tokens/7/x', []],
    ['/x/api/tokens/7', []],
    ['/assets/a/b.js', ['GET']],
    ['/assets', []],
    ['/v1/a.b', ['GET']],
    ['/v1/aXb', []],
    ['/', []],
    ['/anything', []],
  ] as const)
    it(`${path}: ${expected.join(', ') || 'none'}`, () => assert.deepEqual(methods.of(path), expected));
});

describe('request span', () => {
  /** The span recorded for a request that was answered with this status. */
  function record(
    request: { readonly method?: string; readonly url?: string; readonly headers?: object },
    status = 200,
  ) {
    let started: SpanOptions | undefined;
    let ranIn: Span | undefined;
    let name = '';
    const attributes: Record<string, unknown> = {};
    const ends: (string | undefined)[] = [];
    const span: Span = {
      traceparent: '',
      set: (more: SpanAttributes) => void Object.assign(attributes, more),
      rename: (to) => {
        name = to;
      },
      end: (errorType) => void ends.push(errorType),
    };
    const tracing: Tracing = {
      ...NO_TRACING,
      start(options) {
        started = options;
        return span;
      },
      run(within, work) {
        ranIn = within;
        return work();
      },
    };
    const response = Object.assign(new EventEmitter(), { statusCode: status });
    let handled = 0;
    const incoming = { headers: {}, ...request } as IncomingMessage;
    traceRequest(tracing, incoming, response as unknown as ServerResponse, () => {
      handled += 1;
    });
    const endsBefore = ends.length;
    response.emit('close');
    assert.deepEqual([handled, ranIn === span, endsBefore, ends.length], [1, true, 0, 1]);
    return { started, name, attributes, error: ends[0] };
  }

  describe('request span', () => {
    it("continues the caller's trace, and lasts until the response is closed", () => {
      const { started, name, attributes, error } = record({
        method: 'POST',
        url: '/v1/videos',
        headers: { traceparent: '00-a-b-01' },
      });
      assert.deepEqual(started, { name: 'POST', kind: 'server', parent: '00-a-b-01' });
      assert.equal(name, 'POST /v1/videos');
      assert.deepEqual(attributes, {
        'http.request.method': 'POST',
        'url.path': '/v1/videos',
        'http.response.status_code': 200,
      });
      assert.equal(error, undefined);
    });

    it('fails only for internal errors', () => {
      const errors = [200, 404, 499, 500, 503].map((status) => record({ url: '/' }, status).error);
      assert.deepEqual(errors, [undefined, undefined, undefined, '500', '503']);
    });

    it('omits the query, whatever it contains', () => {
      const { attributes } = record({ url: '/v1/models?key=secret&x=1' });
      assert.equal(attributes['url.query'], 'REDACTED');
      assert.doesNotMatch(JSON.stringify(attributes), /secret/);
      assert.ok(!('url.query' in record({ url: '/v1/models' }).attributes));
      assert.equal(record({ url: '/v1/models?' }).attributes['url.query'], 'REDACTED');
    });

    it('omits the token of a share link, on the page and below it', () => {
      for (const url of ['/s/s3cret', '/s/s3cret/content'])
        assert.doesNotMatch(JSON.stringify(record({ url })), /s3cret/, url);
      assert.equal(record({ url: '/s/s3cret/content' }).attributes['url.path'], '/s/{token}/content');
      assert.equal(record({ url: '/site/s/name' }).attributes['url.path'], '/site/s/name');
    });

    it('is named after the first segments of the path, without ids', () => {
      for (const [url, expected] of [
        ['/', 'GET /'],
        ['/v1beta/models/list', 'GET /v1beta/models/list'],
        ['/v1/videos/task_1/content', 'GET /v1/videos/{id}'],
        ['/v1/videos/TASK_A', 'GET /v1/videos/{id}'],
        [`/api/${'a'.repeat(24)}`, `GET /api/${'a'.repeat(24)}`],
        [`/api/${'a'.repeat(25)}`, 'GET /api/{id}'],
        ['/a/b/c/d', 'GET /a/b/c'],
        [undefined, 'GET '],
      ] as const)
        assert.equal(record({ ...(url !== undefined && { url }) }).name, expected);
    });

    it('does not exist when tracing is off', () => {
      let handled = 0;
      traceRequest(NO_TRACING, { headers: {} } as IncomingMessage, {} as ServerResponse, () => {
        handled += 1;
      });
      assert.equal(handled, 1);
    });
  });
});

describe('slow bodies', () => {
  const echo = endpoint({
    method: 'POST',
    path: '/api/echo',
    summary: 'Test',
    tag: 'test',
    policy: 'public',
    envelope: 'api',
    body: Type.Object({ text: Type.String() }),
    response: Type.Object({ text: Type.String() }),
  });

  /** Longer than this process may be delayed on a busy machine. */
  const GRACE_MS = 800;

  let http: HttpServer;
  let port: number;
  before(async () => {
    const refuse = () => Promise.reject(new AppError('unauthorized'));
    http = await createHttpServer({
      log: openLog('silent'),
      authenticator: { account: refuse, model: refuse },
      defaultLocale: 'en',
      baseUrl: 'http://localhost',
      corsOrigins: [],
      maxConnectionsPerIp: 0,
      bodyGraceMs: GRACE_MS,
      clientIpOf: () => '127.0.0.1',
      isTrustedProxy: () => false,
    });
    http.routes.add(echo, async ({ body }) => body);
    ({ port } = await http.listen('127.0.0.1', 0));
  });
  after(() => http.close(0));

  const head = (length: number): string =>
    `POST /api/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

  test('T66: a stalled body ends in a 408 in the envelope of its path, and closes its connection', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write(`${head(1_000)}{"text":"`);
    let said = '';
    socket.on('data', (chunk) => {
      said += chunk.toString('latin1');
    });
    await once(socket, 'close');
    assert.match(said, /^HTTP\/1\.1 408 /);
    assert.match(said, /^connection: close\r$/im);
    assert.match(said, /^x-request-id: \S+\r$/im);
    assert.match(said, /"success":false/);
  });

  test('T66: a body that arrives steadily may take longer than that', async () => {
    const body = JSON.stringify({ text: 'x'.repeat(20_000) });
    const socket = connect(port, '127.0.0.1');
    socket.write(head(body.length));
    const answer = once(socket, 'data');
    const startedAt = performance.now();
    for (let at = 0; at < body.length; at += 2_500) {
      socket.write(body.slice(at, at + 2_500));
      await new Promise((resolve) => setTimeout(resolve, GRACE_MS / 6));
    }
    const [said] = (await answer) as [Buffer];
    assert.match(said.toString('latin1'), /^HTTP\/1\.1 200 /);
    assert.ok(performance.now() - startedAt > GRACE_MS, 'the grace was over');
    socket.destroy();
  });
});
