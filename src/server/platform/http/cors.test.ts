import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { CorsPolicy } from './guards.ts';

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
