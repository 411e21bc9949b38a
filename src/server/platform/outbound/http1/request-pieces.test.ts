import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import type { DispatchRequest } from '../outbound.ts';
import { errors } from '../undici-without-fetch.ts';
import { toRequestPieces } from './request-pieces.ts';

const BASE: DispatchRequest = {
  method: 'POST',
  origin: 'https://a.example:8443',
  path: '/v1/x?y=%20',
  headers: { 'Content-Type': 'text/plain', 'x-a': '' },
  body: null,
  headersTimeout: 1,
  bodyTimeout: 1,
};
const HEAD = 'host: a.example:8443\r\nconnection: keep-alive\r\nContent-Type: text/plain\r\nx-a: \r\n';

const piecesOf = (more: Partial<DispatchRequest>): readonly Buffer[] => toRequestPieces({ ...BASE, ...more });
const textOf = (more: Partial<DispatchRequest>): string => Buffer.concat(piecesOf(more)).toString('latin1');

describe('the bytes of a request', () => {
  it('are its head alone where there is no body, with a length only for POST', () => {
    assert.equal(textOf({ method: 'GET' }), `GET /v1/x?y=%20 HTTP/1.1\r\n${HEAD}\r\n`);
    assert.equal(textOf({}), `POST /v1/x?y=%20 HTTP/1.1\r\n${HEAD}content-length: 0\r\n\r\n`);
    assert.equal(
      textOf({ method: 'GET', path: '/', headers: {}, origin: 'http://[::1]:80' }),
      'GET / HTTP/1.1\r\nhost: [::1]:80\r\nconnection: keep-alive\r\n\r\n',
    );
  });

  it('have the body behind the head, with the length of its bytes', () => {
    for (const body of ['', 'a', 'grüße 你好 🎬', '\ud83c broken', 'broken at the end \ud83c', '\r\n\r\n\0']) {
      const bytes = Buffer.from(body);
      const expected = Buffer.concat([
        Buffer.from(`POST /v1/x?y=%20 HTTP/1.1\r\n${HEAD}content-length: ${bytes.length}\r\n\r\n`),
        bytes,
      ]);
      assert.deepEqual(piecesOf({ body }), [expected]);
      assert.deepEqual(piecesOf({ body: bytes }), [expected]);
    }
    assert.match(textOf({ method: 'GET', body: 'q' }), /^GET .*\r\ncontent-length: 1\r\n\r\nq$/s);
  });

  it('are one piece up to 16 KiB of body, and two behind that', () => {
    const length = 16 * 1024;
    for (const [body, count] of [
      ['x'.repeat(length), 1],
      ['x'.repeat(length + 1), 2],
      ['ü'.repeat(length / 2), 1],
      [`${'ü'.repeat(length / 2)}x`, 2],
    ] as const)
      for (const each of [body, Buffer.from(body)]) {
        const pieces = piecesOf({ body: each });
        assert.equal(pieces.length, count);
        const whole = Buffer.concat(pieces);
        const end = whole.indexOf('\r\n\r\n') + 4;
        assert.match(
          whole.toString('latin1', 0, end),
          new RegExp(`\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`),
        );
        assert.equal(whole.toString('utf8', end), body);
      }
  });

  it('are not those of a buffer that is changed afterwards, where they were copied', () => {
    const body = Buffer.from('before');
    const pieces = piecesOf({ body });
    body.fill('x');
    assert.match(String(pieces[0]), /before$/);
  });

  it('may have what is beyond ASCII up to U+00FF in values and paths, one byte each', () => {
    const text = textOf({ path: '/\x21\xff', headers: { a: '\t \x7e\x80\xff' } });
    assert.ok(text.startsWith('POST /\x21\xff HTTP/1.1\r\n'));
    assert.ok(text.includes('\r\na: \t \x7e\x80\xff\r\n'));
    assert.match(textOf({ body: 'x', headers: { a: 'ü' } }), /\r\na: ü\r\ncontent-length: 1\r\n\r\nx$/);
  });

  it('are the same for headers seen before, and follow each object of them', () => {
    const headers = { a: '1' };
    assert.equal(textOf({ headers }), textOf({ headers }));
    assert.notEqual(textOf({ headers }), textOf({ headers: { a: '2' } }));
  });
});

describe('a request is refused for', () => {
  const refused = (more: Partial<DispatchRequest>, what: string): void =>
    assert.throws(() => piecesOf(more), errors.InvalidArgumentError, what);

  it('a header name that is none', () => {
    for (const name of ['', ' a', 'a ', 'a:', 'a\r\nb', 'a\nb', 'a b', 'a\0', 'ä', '(a)', 'a\tb', 'a,b', '你'])
      refused({ headers: { [name]: 'x' } }, JSON.stringify(name));
  });

  it('a value that cannot be written', () => {
    for (const value of ['\r', '\n', 'a\r\nb: c', 'a\nb', 'a\n', '\0', '\x01', '\x1f', '\x7f', '\u0100', '你', '🎬'])
      refused({ headers: { fine: 'x', a: value } }, JSON.stringify(value));
  });

  it('the same headers again', () => {
    const headers = { a: '\r\n' };
    for (let time = 0; time < 3; time++) refused({ headers }, String(time));
  });

  it('a header that is its own, in any case', () => {
    for (const name of ['connection', 'content-length', 'expect', 'host', 'keep-alive', 'transfer-encoding', 'upgrade'])
      for (const each of [name, name.toUpperCase(), `${name[0]?.toUpperCase()}${name.slice(1)}`])
        refused({ headers: { [each]: 'x' } }, each);
    assert.match(textOf({ headers: { 'x-host': 'a', te: 'trailers' } }), /\r\nx-host: a\r\nte: trailers\r\n/);
  });

  it('a path that cannot be written', () => {
    for (const path of [
      '',
      'x',
      '*',
      'http://a/',
      '/a b',
      '/\r\n',
      '/a\n',
      '/\t',
      '/\0',
      '/\u0100',
      '/你',
      '/ HTTP/1.1',
    ])
      refused({ path }, JSON.stringify(path));
  });

  it('another method and a body that is a stream', () => {
    for (const method of ['HEAD', 'PUT', 'DELETE', 'get', 'CONNECT', 'GET / HTTP/1.1\r\n'])
      refused({ method: method as DispatchRequest['method'] }, method);
    refused({ body: Readable.from(['x']) }, 'a stream');
  });
});
