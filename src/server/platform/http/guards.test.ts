import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { IncomingMessage, type Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, it, mock } from 'node:test';
import {
  BODY_GRACE_MS,
  CHECKS_PER_GRACE,
  ConnectionLimits,
  CorsPolicy,
  hasMultipleHostHeaders,
  isCanonicalRequestTarget,
  isCrossSite,
  isKnownHost,
  parseRequestTarget,
} from './guards.ts';

describe('guards', () => {
  /** The part of a connection that the guard uses. */
  class FakeSocket extends EventEmitter {
    bytesRead = 0;
    destroyed = false;
    readonly remoteAddress: string;
    constructor(remoteAddress: string) {
      super();
      this.remoteAddress = remoteAddress;
    }
    destroy(): void {
      this.destroyed = true;
      this.emit('close');
    }
  }

  interface FakeRequest {
    readonly socket: FakeSocket;
    readonly headers: Record<string, string>;
    complete: boolean;
    readableFlowing: boolean | null;
  }

  function startGuard(maxPerIp: number) {
    const slow: unknown[] = [];
    const guard = new ConnectionLimits({
      maxPerIp,
      isExempt: (ip) => ip === '127.0.0.1',
      bodyGraceMs: BODY_GRACE_MS,
      onSlowBody: (request) => void slow.push(request),
    });
    const server = new EventEmitter();
    guard.attach(server as unknown as Server);
    return {
      slow,
      guard,
      connect(ip: string): FakeSocket {
        const socket = new FakeSocket(ip);
        server.emit('connection', socket);
        return socket;
      },
      request(socket: FakeSocket, headers: Record<string, string>): FakeRequest {
        const request: FakeRequest = { socket, headers, complete: false, readableFlowing: true };
        guard.onRequest(request as unknown as IncomingMessage, {} as ServerResponse);
        return request;
      },
      stop: () => server.emit('close'),
    };
  }

  describe('connections of one address', () => {
    it('are limited, with each IPv6 /64 counted as one, and counted down when they close', () => {
      const { connect, stop } = startGuard(2);
      const held = [connect('192.0.2.1'), connect('192.0.2.1')];
      assert.equal(connect('192.0.2.1').destroyed, true);
      assert.equal(connect('192.0.2.1').destroyed, true, 'a refused one is not counted');
      assert.equal(connect('192.0.2.2').destroyed, false);
      held[0]?.destroy();
      const again = connect('192.0.2.1');
      assert.equal(again.destroyed, false);
      assert.equal(connect('192.0.2.1').destroyed, true);
      held[1]?.destroy();
      again.destroy();
      assert.deepEqual(
        [1, 2, 3].map(() => connect('192.0.2.1').destroyed),
        [false, false, true],
      );
      connect('2001:db8::1');
      connect('2001:db8::2');
      assert.equal(connect('2001:db8::3').destroyed, true);
      assert.equal(connect('2001:db8:0:1::1').destroyed, false);
      stop();
    });

    it('are unlimited for exempt addresses and with the limit 0', () => {
      const limited = startGuard(1);
      const unlimited = startGuard(0);
      for (let i = 0; i < 5; i++) {
        assert.equal(limited.connect('127.0.0.1').destroyed, false);
        assert.equal(unlimited.connect('192.0.2.1').destroyed, false);
      }
      limited.stop();
      unlimited.stop();
    });
  });

  describe('slow body', () => {
    const GRACE_MS = 15_000;
    /** The requests that were ended this long after their start. */
    const slowAfter = (ms: number, prepare: (request: FakeRequest, socket: FakeSocket) => void, bytesBefore = 0) => {
      const { slow, guard, connect, request, stop } = startGuard(0);
      const socket = connect('192.0.2.1');
      socket.bytesRead = bytesBefore;
      const before = performance.now();
      const sent = request(socket, { 'content-length': '100000' });
      prepare(sent, socket);
      // The guard reads the time itself, slightly later than this test.
      guard.endSlowBodies((ms > GRACE_MS ? performance.now() : before) + ms);
      stop();
      return slow.length;
    };

    it('has a grace period', () => {
      assert.equal(
        slowAfter(GRACE_MS - 1, () => {}),
        0,
      );
      assert.equal(
        slowAfter(GRACE_MS + 1, () => {}),
        1,
      );
    });

    it('gets more time the more of it has arrived, counted from its own start', () => {
      const arrive = (bytes: number) => (_: FakeRequest, socket: FakeSocket) => {
        socket.bytesRead += bytes;
      };
      assert.equal(slowAfter(GRACE_MS + 900, arrive(8_000)), 0);
      assert.equal(slowAfter(GRACE_MS + 1_001, arrive(8_000)), 1);
      assert.equal(slowAfter(GRACE_MS + 900, arrive(0), 8_000), 1, 'bytes of earlier requests do not count');
    });

    it('is not closed while its reader is paused, nor when it is complete', () => {
      const hold = (readableFlowing: boolean | null) => (request: FakeRequest) => {
        request.readableFlowing = readableFlowing;
      };
      assert.equal(slowAfter(1e6, hold(false)), 0);
      assert.equal(slowAfter(1e6, hold(null)), 0);
      assert.equal(
        slowAfter(1e6, (request) => {
          request.complete = true;
        }),
        0,
      );
    });

    it('is watched only while it is being received', () => {
      const { slow, guard, connect, request, stop } = startGuard(0);
      const socket = connect('192.0.2.1');
      const late = () => {
        slow.length = 0;
        guard.endSlowBodies(performance.now() + 1e6);
        return slow.length;
      };
      request(socket, {});
      assert.equal(late(), 0);
      request(socket, { 'content-length': '0' });
      assert.equal(late(), 0);
      request(socket, { 'transfer-encoding': 'chunked' });
      assert.equal(late(), 1);
      request(socket, {});
      assert.equal(late(), 0, 'the next request of the connection has no body');
      const complete = request(socket, { 'content-length': '5' });
      complete.complete = true;
      assert.equal(late(), 0);
      complete.complete = false;
      assert.equal(late(), 0, 'a complete body is forgotten');
      request(socket, { 'content-length': '5' });
      socket.destroy();
      assert.equal(late(), 0, 'so is a closed connection');
      request(new FakeSocket('192.0.2.9'), { 'content-length': '5' });
      assert.equal(late(), 0, 'and one that was never taken');
      stop();
    });
  });

  it('bodies are checked several times per grace period, until the server closes', () => {
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      const { guard, stop } = startGuard(0);
      const check = mock.method(guard, 'endSlowBodies');
      mock.timers.tick(BODY_GRACE_MS);
      assert.equal(check.mock.callCount(), CHECKS_PER_GRACE);
      stop();
      mock.timers.tick(BODY_GRACE_MS);
      assert.equal(check.mock.callCount(), CHECKS_PER_GRACE);
    } finally {
      mock.timers.reset();
    }
  });
});

describe('cors', () => {
  const APP = 'https://app.example';

  interface Sent {
    readonly handled: boolean;
    readonly allowed: boolean;
    readonly status: number | undefined;
    readonly headers: Readonly<Record<string, unknown>>;
  }

  /** The effect of a policy on a request; `status` when the policy sent the response. */
  function ask(origins: readonly string[], method: string, url: string, headers: Record<string, string>): Sent {
    const policy = new CorsPolicy(origins);
    const request = Object.assign(new IncomingMessage(new Socket()), { method, url, headers });
    const response = new ServerResponse(request);
    const handled = policy.handle(request, response);
    return {
      handled,
      allowed: policy.allows(request),
      status: response.writableEnded ? response.statusCode : undefined,
      headers: { ...response.getHeaders() },
    };
  }

  const PREFLIGHT = { origin: APP, 'access-control-request-method': 'POST' };

  describe('cross-origin requests', () => {
    it('may read the model API from a configured origin', () => {
      for (const path of ['/v1/models', '/v1', '/v1?x=1', '/v1beta/models']) {
        const { handled, allowed, headers } = ask([APP], 'GET', path, { origin: APP });
        assert.deepEqual([handled, allowed], [false, true], path);
        assert.equal(headers['access-control-allow-origin'], APP);
        assert.match(String(headers['access-control-expose-headers']), /x-request-id/);
        assert.equal(headers['vary'], 'Origin', 'a cache must not serve it to another origin');
      }
    });

    it('T06: may reach the token endpoints and metadata from any origin, but not the pages that have cookies', () => {
      const metadata = '/.well-known/oauth-';
      for (const path of [
        '/oauth/token',
        '/oauth/revoke',
        '/.well-known/openid-configuration',
        `${metadata}authorization-server`,
        `${metadata}protected-resource`,
        `${metadata}protected-resource/mcp?x=1`,
      ])
        for (const origins of [[], ['https://other.example']]) {
          const { allowed, headers } = ask(origins, 'POST', path, { origin: APP });
          assert.deepEqual([allowed, headers['access-control-allow-origin']], [true, '*'], path);
          assert.deepEqual([headers['access-control-allow-credentials'], headers['vary']], [undefined, undefined]);
          const preflight = ask(origins, 'OPTIONS', path, PREFLIGHT);
          assert.deepEqual([preflight.handled, preflight.status], [true, 204], path);
          assert.deepEqual(ask(origins, 'POST', path, {}).headers, {}, 'no page asks');
        }
      for (const path of [
        '/oauth/authorize',
        '/oauth/authorize/approve',
        '/oauth/device_authorization',
        '/oauth/token/x',
        '/oauth/tokens',
        '/x/oauth/token',
        '/.well-known/passkey-endpoints',
        '/claude-code/oauth/token',
      ]) {
        const { allowed, handled, headers } = ask(['https://other.example'], 'OPTIONS', path, PREFLIGHT);
        assert.deepEqual({ allowed, handled, headers }, { allowed: false, handled: false, headers: {} }, path);
      }
    });

    it('may read nothing else, from any origin', () => {
      for (const path of [
        '/api/user/self',
        '/v2/chat/completions',
        '/v10/models',
        '/v3/models',
        '/',
        '/x/v1/models',
        '/v1models',
      ])
        assert.deepEqual(ask([APP], 'OPTIONS', path, PREFLIGHT), {
          handled: false,
          allowed: false,
          status: undefined,
          headers: {},
        });
    });

    it('with an unknown origin or none get only Vary', () => {
      const strangers: Record<string, string>[] = [
        { origin: 'https://evil.example' },
        { origin: `${APP}.evil.example` },
        {},
      ];
      for (const headers of strangers) {
        const sent = ask([APP], 'OPTIONS', '/v1/models', { ...headers, 'access-control-request-method': 'POST' });
        assert.deepEqual(sent, { handled: false, allowed: false, status: undefined, headers: { vary: 'Origin' } });
      }
    });

    it('get no headers when no origin is configured', () => {
      assert.deepEqual(ask([], 'OPTIONS', '/v1/models', PREFLIGHT).headers, {});
      assert.equal(ask([], 'GET', '/v1/models', { origin: APP }).allowed, false);
    });

    it('of any origin are allowed by a star, without Vary', () => {
      const { allowed, headers } = ask(['*'], 'GET', '/v1/models', { origin: 'https://x.example' });
      assert.equal(allowed, true);
      assert.equal(headers['access-control-allow-origin'], '*');
      assert.equal(headers['vary'], undefined);
      const { allowed: withoutOrigin, headers: none } = ask(['*'], 'GET', '/v1/models', {});
      assert.deepEqual([withoutOrigin, none], [false, {}], 'no page asks');
    });

    it('get a response to their preflight', () => {
      const wanted = 'authorization, content-type,x-stainless-lang';
      const sent = ask([APP], 'OPTIONS', '/v1/videos', { ...PREFLIGHT, 'access-control-request-headers': wanted });
      assert.deepEqual([sent.handled, sent.status], [true, 204]);
    });

    it('get a response here only to their preflight', () => {
      assert.equal(ask([APP], 'OPTIONS', '/v1/videos', { origin: APP }).handled, false);
      assert.equal(ask([APP], 'POST', '/v1/videos', PREFLIGHT).handled, false);
    });
  });

  describe('preflight headers', () => {
    const headersOf = (more: Record<string, string>) => {
      const policy = new CorsPolicy([APP]);
      const request = Object.assign(new IncomingMessage(new Socket()), {
        method: 'OPTIONS',
        url: '/v1/videos',
        headers: { ...PREFLIGHT, ...more },
      });
      const response = new ServerResponse(request);
      let written: Record<string, string> = {};
      response.writeHead = ((_status: number, headers?: Record<string, string>) => {
        written = headers ?? written;
        return response;
      }) as typeof response.writeHead;
      policy.handle(request, response);
      return written;
    };

    it('name the methods and their lifetime', () => {
      assert.deepEqual(headersOf({}), {
        'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
        'access-control-max-age': '600',
        'content-length': '0',
      });
    });

    it('repeat the requested headers if those are valid header names', () => {
      const allowed = (wanted: string) =>
        headersOf({ 'access-control-request-headers': wanted })['access-control-allow-headers'];
      assert.equal(allowed('authorization,content-type'), 'authorization,content-type');
      assert.equal(allowed('x: y'), undefined);
      assert.equal(allowed('a'.repeat(65)), undefined);
    });
  });
});

describe('request targets', () => {
  describe('request targets', () => {
    for (const target of ['/', '/v1/models', '/a?x=//..%2f', '/a.b/..c', `/${'a'.repeat(8191)}`])
      it(`accepts ${target.slice(0, 30)}`, () => assert.equal(isCanonicalRequestTarget(target), true));
    for (const target of [
      '',
      '*',
      'http://x/',
      '//x',
      '/a//b',
      '/a/../b',
      '/a/..',
      '/./a',
      '/a%2Fb',
      '/a%5cb',
      '/a%00',
      '/a\\b',
      '/%2e/a',
      `/${'a'.repeat(8192)}`,
    ])
      it(`refuses ${target.slice(0, 30)}`, () => assert.equal(isCanonicalRequestTarget(target), false));
  });

  describe('lenient targets', () => {
    for (const [target, url, host] of [
      ['/v1/models', '/v1/models'],
      ['/v1/models/', '/v1/models'],
      ['//v1//chat/completions/', '/v1/chat/completions'],
      ['/v1/v1/chat/completions?x=//', '/v1/chat/completions?x=//'],
      ['/v1/v1beta/models/m:generateContent', '/v1beta/models/m:generateContent'],
      ['/v1beta/v1beta/models/m:generateContent', '/v1beta/models/m:generateContent'],
      ['/v1beta/v1/chat/completions', '/v1/chat/completions'],
      ['/v1/models/org/model', '/v1/models/org%2Fmodel'],
      ['/v1/models/org%2fmodel', '/v1/models/org%2Fmodel'],
      ['/v1beta/models/a/b:streamGenerateContent?alt=sse', '/v1beta/models/a%2Fb:streamGenerateContent?alt=sse'],
      ['/api/admin/models/org/model', '/api/admin/models/org%2Fmodel'],
      ['/api/admin/models/org%2fmodel?x=1', '/api/admin/models/org%2Fmodel?x=1'],
      ['http://gate.example:80/api/x?y=1', '/api/x?y=1', 'gate.example:80'],
      ['HTTPS://gate.example', '/', 'gate.example'],
      ['/api/x/', '/api/x/'],
      ['/v10x/y/', '/v10x/y/'],
    ] as const)
      it(`${target} becomes ${url}`, () => assert.deepEqual(parseRequestTarget(target), { url, host }));
    for (const target of [
      '//api/x',
      '/v1/../api/x',
      '/v1/models/..%2f..%2fapi',
      '/v1/models/%2e%2e/x',
      '/api/admin/models/..%2fusers',
      '/api/admin/models/a//b',
      '/api/admin/users/a%2fb',
      '/v1/models/a%5cb',
      '/v1/x%2fy',
      'http://gate.example//api/x',
      'ftp://gate.example/',
      '*',
      '',
    ])
      it(`${target} is refused`, () => assert.equal(parseRequestTarget(target), undefined));
  });

  describe('host names', () => {
    const hosts = ['gate.example'];
    it('include those of the service and loopback, with any port', () => {
      for (const host of [undefined, 'gate.example', 'GATE.example:443', 'localhost:3000', '127.0.0.1', '[::1]:80'])
        assert.equal(isKnownHost(host, hosts), true, String(host));
      for (const host of ['', 'evil.example', 'gate.example.evil', 'xlocalhost', '128.0.0.1', 'gate.example:123456'])
        assert.equal(isKnownHost(host, hosts), false, host);
    });

    it('must be sent once', () => {
      assert.equal(hasMultipleHostHeaders(['Host', 'a', 'Accept', 'host', 'X-Y', 'host']), false);
      assert.equal(hasMultipleHostHeaders(['Host', 'a', 'hOST', 'b']), true);
      assert.equal(hasMultipleHostHeaders(['Accept', 'x', 'Host', 'a', 'Accept', 'y', 'Host', 'a']), true);
      assert.equal(hasMultipleHostHeaders(['Hosts', 'a', 'hosx', 'b', 'host', 'c']), false);
      assert.equal(hasMultipleHostHeaders([]), false);
    });
  });

  describe('cross-site requests', () => {
    const hosts = ['gate.example'];
    const OWN = 'https://gate.example';
    for (const [name, headers, expected] of [
      ['of nobody who says', {}, false],
      ['of the same origin by fetch metadata', { 'sec-fetch-site': 'same-origin' }, false],
      ['typed by the user', { 'sec-fetch-site': 'none' }, false],
      ['of a sibling host', { 'sec-fetch-site': 'same-site' }, true],
      ['of another site', { 'sec-fetch-site': 'cross-site' }, true],
      ['of another site that claims our origin', { 'sec-fetch-site': 'cross-site', origin: OWN }, true],
      ['of our origin', { origin: OWN }, false],
      ['of another origin', { origin: 'https://evil.example' }, true],
      ['of an opaque origin', { origin: 'null' }, true],
      ['of an invalid origin', { origin: 'x' }, true],
      ['of a program with a key', { 'sec-fetch-site': 'cross-site', authorization: 'Bearer x' }, false],
      ['with a key and a cookie', { 'sec-fetch-site': 'cross-site', authorization: 'Bearer x', cookie: 'a=b' }, true],
      ['with a cookie alone', { origin: OWN, cookie: 'a=b' }, false],
    ] as const)
      it(`${name}: ${expected ? 'refused' : 'taken'}`, () => {
        assert.equal(isCrossSite('POST', headers, hosts), expected);
        for (const method of ['GET', 'HEAD', 'OPTIONS']) assert.equal(isCrossSite(method, headers, hosts), false);
      });

    it('may have an opaque origin only for forms of our own pages', () => {
      assert.equal(isCrossSite('POST', { origin: 'null' }, hosts, true), false);
      assert.equal(isCrossSite('POST', { origin: 'https://evil.example' }, hosts, true), true);
      assert.equal(isCrossSite('POST', { origin: 'null', 'sec-fetch-site': 'cross-site' }, hosts, true), true);
    });
  });
});
