import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ResponseParser } from './response-parser.ts';

/** What one response was read as. */
interface Read {
  head: readonly unknown[];
  body: string;
  isComplete: boolean;
  endsWithConnection: boolean;
  keepsAlive: boolean;
  hintMs: number | undefined;
  behind: string;
}

/** Reads the pieces as a connection does; `pausing` receivers take no more after each call until they are asked again. */
function read(pieces: readonly Buffer[], pausing = false, parser = new ResponseParser()): Read {
  const chunks: Buffer[] = [];
  let head: readonly unknown[] = [];
  const receiver = {
    paused: false,
    head(status: number, headers: Record<string, string>) {
      assert.equal(head.length, 0, 'one head');
      assert.equal(chunks.length, 0, 'before the body');
      head = [status, headers];
      this.paused = pausing;
    },
    data(bytes: Buffer) {
      assert.ok(bytes.length > 0);
      assert.equal(this.paused, false);
      chunks.push(bytes);
      this.paused = pausing;
    },
  };
  parser.begin();
  let unread = Buffer.alloc(0);
  for (const piece of pieces) {
    unread = parser.parse(Buffer.concat([unread, piece]), receiver) as Buffer<ArrayBuffer>;
    while (receiver.paused) {
      assert.deepEqual(parser.parse(unread, receiver), unread, 'nothing is read for a receiver that has paused');
      receiver.paused = false;
      unread = parser.parse(unread, receiver) as Buffer<ArrayBuffer>;
    }
  }
  return {
    head,
    body: Buffer.concat(chunks).toString('latin1'),
    isComplete: parser.isComplete,
    endsWithConnection: parser.endsWithConnection,
    keepsAlive: parser.keepsAlive,
    hintMs: parser.keepAliveHintMs,
    behind: unread.toString('latin1'),
  };
}

/** The whole, every split in two, and byte by byte. */
function* splitsOf(text: string): Generator<Buffer[]> {
  const bytes = Buffer.from(text, 'latin1');
  yield [bytes];
  for (let at = 1; at < bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)];
  yield [...bytes].map((byte) => Buffer.from([byte]));
}

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;
const COMPLETE = {
  body: '',
  isComplete: true,
  endsWithConnection: false,
  keepsAlive: true,
  hintMs: undefined,
  behind: '',
};
const UNTIL_CLOSE = { ...COMPLETE, isComplete: false, endsWithConnection: true, keepsAlive: false };
const CODED = { 'transfer-encoding': 'chunked' };

const RESPONSES: Readonly<Record<string, readonly [string, Partial<Read>]>> = {
  'a length': [`${OK}Content-Length: 5\r\n\r\nhello`, { head: [200, { 'content-length': '5' }], body: 'hello' }],
  'no byte': [`${OK}content-length: 0\r\n\r\n`, { head: [200, { 'content-length': '0' }] }],
  'chunks with extensions and trailers': [
    `${OK}Transfer-Encoding: Chunked\r\n\r\n4\r\nwiki\r\n0A;x="y;z"\r\n0123\r\n5678\r\n1;\r\n!\r\n00;last\r\nA-b: c\r\nd:\r\n\r\n`,
    { head: [200, { 'transfer-encoding': 'Chunked' }], body: 'wiki0123\r\n5678!' },
  ],
  'chunks and nothing else': [`${CHUNKED}1\r\n\r\r\n0\r\n\r\n`, { head: [200, CODED], body: '\r' }],
  'no chunk': [`${CHUNKED}0\r\n\r\n`, { head: [200, CODED] }],
  'the end of the connection': [
    `${OK}\r\nall\r\n\r\nof it`,
    { ...UNTIL_CLOSE, head: [200, {}], body: 'all\r\n\r\nof it' },
  ],
  'a status without content': [
    'HTTP/1.1 204 No Content\r\ncontent-length: 3\r\n\r\n',
    { head: [204, { 'content-length': '3' }] },
  ],
  'a status without content, coded': [
    'HTTP/1.1 304 \r\ntransfer-encoding: chunked\r\n\r\nX',
    { head: [304, CODED], behind: 'X' },
  ],
  'interim responses before it': [
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 199\r\nlink: <a>\r\ncontent-length: 9\r\n\r\n${OK}content-length: 1\r\n\r\nx`,
    { head: [200, { 'content-length': '1' }], body: 'x' },
  ],
  'a status line without a reason': [
    'HTTP/1.1 599\r\ncontent-length: 0\r\n\r\n',
    { head: [599, { 'content-length': '0' }] },
  ],
  'bytes behind a length': [
    `${OK}content-length: 2\r\n\r\nokHTTP/1.1 200`,
    { head: [200, { 'content-length': '2' }], body: 'ok', behind: 'HTTP/1.1 200' },
  ],
  'bytes behind chunks': [`${CHUNKED}2\r\nok\r\n0\r\n\r\n\r\n`, { head: [200, CODED], body: 'ok', behind: '\r\n' }],
  'repeated headers': [
    `${OK}a: 1\r\nSet-Cookie: x\r\nA:\t2 \r\nset-cookie:y\r\na:\r\ncontent-length: 0\r\n\r\n`,
    { head: [200, { a: '1, 2, ', 'set-cookie': 'x, y', 'content-length': '0' }] },
  ],
  'values of all allowed bytes': [
    `${OK}!#$%&'*+-.^_\`|~0Az: \t \xa0\x80"a:b, c\xff\x85 \t\r\ncontent-length: 0\r\n\r\n`,
    { head: [200, { "!#$%&'*+-.^_`|~0az": '\xa0\x80"a:b, c\xff\x85', 'content-length': '0' }] },
  ],
};

describe('a response', () => {
  for (const [name, [text, expected]] of Object.entries(RESPONSES))
    it(`is the same however its bytes are split: ${name}`, () => {
      for (const pieces of splitsOf(text))
        for (const pausing of [false, true]) assert.deepEqual(read(pieces, pausing), { ...COMPLETE, ...expected });
    });

  it('is read behind another on the same connection as if it were the first', () => {
    const parser = new ResponseParser();
    const texts = Object.values(RESPONSES);
    for (const [text, expected] of [...texts, ...texts.toReversed()])
      assert.deepEqual(read([Buffer.from(text, 'latin1')], false, parser), { ...COMPLETE, ...expected });
    parser.begin();
    assert.deepEqual([parser.isComplete, parser.endsWithConnection], [false, false]);
  });

  it('may have headers named as what objects have', () => {
    const { head } = read([Buffer.from(`${OK}__proto__: a\r\n__proto__: b\r\nconstructor: c\r\ntoString: d\r\n\r\n`)]);
    const headers = head[1] as Record<string, string>;
    assert.equal(Object.getPrototypeOf(headers), Object.prototype);
    assert.deepEqual([headers['constructor'], headers['tostring']], ['c', 'd']);
    assert.equal(Object.getOwnPropertyDescriptor(Object.prototype, 'a'), undefined);
  });

  it('is not complete before its last byte', () => {
    for (const [name, [text, expected]] of Object.entries(RESPONSES)) {
      const behind = expected.behind?.length ?? 0;
      const bytes = Buffer.from(text.slice(0, text.length - behind - 1), 'latin1');
      assert.equal(read([bytes]).isComplete, false, name);
    }
  });
});

describe('whether a connection is kept', () => {
  for (const [version, lines, keeps, hintMs] of [
    ['1.1', '', true, undefined],
    ['1.0', '', false, undefined],
    ['1.1', 'Connection: close\r\n', false, undefined],
    ['1.1', 'CONNECTION: CLOSE\r\n', false, undefined],
    ['1.1', 'connection: keep-alive,\tClose , x\r\n', false, undefined],
    ['1.1', 'connection: keep-alive\r\nconnection: close\r\n', false, undefined],
    ['1.1', 'connection: closed, x-close, not close\r\n', true, undefined],
    ['1.1', 'connection: upgrade\r\n', true, undefined],
    ['1.0', 'connection: x, Keep-Alive\r\n', true, undefined],
    ['1.0', 'connection: not-keep-alive, keep-alive-2\r\n', false, undefined],
    ['1.0', 'connection: keep-alive, close\r\n', false, undefined],
    ['1.1', 'keep-alive: timeout=5, max=100\r\n', true, 5_000],
    ['1.1', 'keep-alive: max=100, timeout=0\r\n', true, 0],
    ['1.1', 'keep-alive: timeout=x\r\n', true, undefined],
    ['1.1', 'keep-alive: timeout=99999999999999999999\r\n', true, 999_999_999_000],
  ] as const)
    it(`follows its head: ${version} ${JSON.stringify(lines)}`, () => {
      const result = read([Buffer.from(`HTTP/${version} 200 OK\r\n${lines}content-length: 0\r\n\r\n`)]);
      assert.deepEqual([result.keepsAlive, result.hintMs], [keeps, hintMs]);
      const untilClose = read([Buffer.from(`HTTP/${version} 200 OK\r\n${lines}\r\n`)]);
      assert.deepEqual([untilClose.keepsAlive, untilClose.endsWithConnection], [false, true]);
    });

  it('is no for HTTP/1.0 with a transfer coding (RFC 9112 section 6.1)', () => {
    const head = 'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n';
    assert.equal(read([Buffer.from(`${head}0\r\n\r\n`)]).keepsAlive, false);
  });
});
