import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errors } from '../undici-without-fetch.ts';
import { ResponseParser } from './response-parser.ts';

/** Reads the pieces and gives what was received of the body. */
function read(pieces: readonly Buffer[]): { body: string; isComplete: boolean } {
  const parser = new ResponseParser();
  parser.begin();
  let body = '';
  const receiver = {
    paused: false,
    head: () => {},
    data: (bytes: Buffer) => {
      body += bytes.toString('latin1');
    },
  };
  for (const piece of pieces) parser.parse(piece, receiver);
  return { body, isComplete: parser.isComplete };
}

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;
const MALFORMED: Readonly<Record<string, readonly string[]>> = {
  'what is not HTTP/1.1': [
    'SSH-2.0-OpenSSH\r\n\r\n',
    'HTTP/1.1\r\n\r\n',
    'HTTP/2.0 200 OK\r\n\r\n',
    'HTTP/1.2 200 OK\r\n\r\n',
    'http/1.1 200 OK\r\n\r\n',
    ' HTTP/1.1 200 OK\r\n\r\n',
    '\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
    'ICY 200 OK\r\n\r\n',
  ],
  'a status that is none': ['20', '2000', '099', '+20', '20x', '2 0', '\xb200', ' 200'].map(
    (status) => `HTTP/1.1 ${status} OK\r\n\r\n`,
  ),
  'a control character in the reason': [`HTTP/1.1 200 O\0K\r\n\r\n`, `HTTP/1.1 200 O\x7fK\r\n\r\n`],
  'another protocol': ['HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'],
  'two lengths': [
    `${OK}content-length: 1\r\ncontent-length: 1\r\n\r\nx`,
    `${OK}content-length: 1\r\na: b\r\nContent-Length: 2\r\n\r\nxx`,
    `${OK}content-length: 1, 1\r\n\r\nx`,
  ],
  'a length beside a coding': [
    `${OK}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    `${OK}transfer-encoding: chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n`,
    'HTTP/1.1 204 x\r\ntransfer-encoding: chunked\r\ncontent-length: 0\r\n\r\n',
  ],
  'an unknown coding': ['gzip', 'gzip, chunked', 'chunked, chunked', 'chunked;q=1', 'identity', 'xchunked', ''].map(
    (coding) => `${OK}transfer-encoding: ${coding}\r\n\r\n0\r\n\r\n`,
  ),
  'a length that is no number': ['+1', '-1', '0x1', '1.0', '1e1', '', '1 1', 'one', '\xb9', '1'.repeat(16)].map(
    (length) => `${OK}content-length: ${length}\r\n\r\nx`,
  ),
  'a bare line feed or carriage return': [
    'HTTP/1.1 200 OK\na: b\r\n\r\n',
    `${OK}a: b\nc: d\r\n\r\n`,
    `${OK}a: b\rc: d\r\n\r\n`,
    `${OK}a: b\r\r\n\r\n`,
    `${OK}a: b\n\r\n\r\n`,
  ],
  'a folded header': [`${OK}a: b\r\n c\r\n\r\n`, `${OK}a: b\r\n\tc\r\n\r\n`, `${OK} a: b\r\n\r\n`],
  'a name that is none': ['a : b', 'a\t: b', ': b', 'no colon', 'a b: c', '\xe4: b', 'a\0: b', '(a): b', '"a": b'].map(
    (line) => `${OK}${line}\r\n\r\n`,
  ),
  'a control character in a value': ['\0', '\x01', '\x0b', '\x1f', '\x7f'].map((it) => `${OK}a: b${it}c\r\n\r\n`),
  'a chunk without its size': [
    '',
    ' ',
    ' 1',
    '1 ',
    '+1',
    '-1',
    '0x1',
    'g',
    '1\n;',
    ';a',
    '1\0',
    '1;\0',
    '1 ;a',
    '\t',
  ].map((line) => `${CHUNKED}${line}\r\nx\r\n0\r\n\r\n`),
  'a chunk line that ends with a bare line feed': [`${CHUNKED}1\nx\r\n0\r\n\r\n`, `${CHUNKED}10\nx`, `${CHUNKED}\n`],
  'a chunk size too large to count': [`${CHUNKED}${'f'.repeat(14)}\r\n`, `${CHUNKED}${'0'.repeat(14)}\r\n`],
  'a chunk longer or shorter than its size': [
    `${CHUNKED}1\r\nxy\r\n0\r\n\r\n`,
    `${CHUNKED}1\r\nx\n\n0\r\n\r\n`,
    `${CHUNKED}1\r\nx\rx0\r\n\r\n`,
    `${CHUNKED}2\r\nx\r\n0\r\n\r\n`,
  ],
  'trailers that are none': ['a b: c', 'no colon', ' a: b', 'a: b\nc: d', 'a: \0', ': a', '\n', 'a: b\r\n c'].map(
    (line) => `${CHUNKED}0\r\n${line}\r\n\r\n`,
  ),
};

describe('T55: a response is refused, however its bytes are split, for', () => {
  for (const [name, texts] of Object.entries(MALFORMED))
    it(name, () => {
      for (const text of texts) {
        const bytes = Buffer.from(text, 'latin1');
        const refused = { name: 'HTTPParserError' };
        assert.throws(() => read([bytes]), refused, JSON.stringify(text));
        for (let at = 1; at < bytes.length; at++)
          assert.throws(() => read([bytes.subarray(0, at), bytes.subarray(at)]), refused, JSON.stringify(text));
        assert.throws(() => read([...bytes].map((byte) => Buffer.from([byte]))), refused, JSON.stringify(text));
      }
    });
});

const MAX = 16 * 1024;
/** Whole, and split around its end and its bound. */
function* splitsAtTheEnd(text: string): Generator<Buffer[]> {
  const bytes = Buffer.from(text);
  yield [bytes];
  for (let at = bytes.length - 5; at < bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)];
}

describe('the bounds of a response', () => {
  const headOf = (length: number): string => `${OK}a: ${'x'.repeat(length - OK.length - 3)}\r\n\r\n`;
  const trailersOf = (length: number): string => `a: ${'x'.repeat(length - 3)}\r\n\r\n`;

  it('allow a head of 16 KiB and not one byte more', () => {
    for (const pieces of splitsAtTheEnd(headOf(MAX))) assert.doesNotThrow(() => read(pieces), String(pieces.length));
    for (const pieces of splitsAtTheEnd(headOf(MAX + 1)))
      assert.throws(() => read(pieces), errors.HeadersOverflowError);
  });

  it('allow trailers of 16 KiB and not one byte more', () => {
    for (const pieces of splitsAtTheEnd(trailersOf(MAX)))
      assert.ok(read([Buffer.from(`${CHUNKED}0\r\n`), ...pieces]).isComplete);
    for (const pieces of splitsAtTheEnd(trailersOf(MAX + 1)))
      assert.throws(() => read([Buffer.from(`${CHUNKED}0\r\n`), ...pieces]), errors.HeadersOverflowError);
  });

  it('do not wait for the end of what is too long', () => {
    const endless = Buffer.alloc(MAX / 2 + 2, 'a');
    assert.throws(() => read([Buffer.from(`${OK}a: `), endless, endless]), errors.HeadersOverflowError);
    assert.throws(() => read([Buffer.from('HTTP/2')]), errors.HTTPParserError);
    assert.throws(() => read([Buffer.from('SSH-')]), errors.HTTPParserError);
    assert.equal(read([Buffer.from('HTT'), Buffer.from('P/1.')]).isComplete, false);
    assert.throws(() => read([Buffer.from(`${CHUNKED}0\r\n`), endless, endless]), errors.HeadersOverflowError);
    assert.throws(() => read([Buffer.from(`${CHUNKED}1;`), Buffer.alloc(1024, 'a')]), errors.HTTPParserError);
  });

  it('allow the line of a chunk 1024 bytes', () => {
    const lineOf = (length: number): string => `${CHUNKED}1;${'x'.repeat(length - 3)}\r\nx\r\n0\r\n\r\n`;
    assert.deepEqual(read([Buffer.from(lineOf(1024))]), { body: 'x', isComplete: true });
    assert.throws(() => read([Buffer.from(lineOf(1025))]), errors.HTTPParserError);
  });

  it('do not bound a body: the largest sizes are begun', () => {
    for (const text of [
      `${OK}content-length: ${'9'.repeat(15)}\r\n\r\nxyz`,
      `${CHUNKED}${'f'.repeat(13)}\r\nxyz`,
      `${CHUNKED}${'0'.repeat(12)}3\r\nxyz`,
    ])
      assert.deepEqual(read([Buffer.from(text)]), { body: 'xyz', isComplete: false });
  });

  it('keep a head that comes byte by byte cheap', () => {
    const begunAt = performance.now();
    for (let round = 0; round < 3; round++)
      read(Array.from(Buffer.from(headOf(MAX - 3)), (byte) => Buffer.from([byte])));
    assert.ok(performance.now() - begunAt < 3_000);
  });
});
