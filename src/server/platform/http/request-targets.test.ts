import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  hasMultipleHostHeaders,
  isCanonicalRequestTarget,
  isCrossSite,
  isKnownHost,
  parseRequestTarget,
} from './guards.ts';

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
    ['/v1/models/org/model', '/v1/models/org%2Fmodel'],
    ['/v1/models/org%2fmodel', '/v1/models/org%2Fmodel'],
    ['/v1beta/models/a/b:streamGenerateContent?alt=sse', '/v1beta/models/a%2Fb:streamGenerateContent?alt=sse'],
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
