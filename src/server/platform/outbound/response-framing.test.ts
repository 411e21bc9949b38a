import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { makeResponse, numbers } from './odd-responses.fixture.ts';
import {
  ANSWERED,
  answerOf,
  ask,
  OK,
  openClient,
  type ReceivedRequest,
  startServer,
  turn,
} from './raw-server.fixture.ts';

const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;
const CODED = { 'transfer-encoding': 'chunked' };

interface Read {
  readonly status?: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whether the connection carries the next request. */
  readonly isReused?: boolean;
}

const RESPONSES: Readonly<Record<string, readonly [string, Read]>> = {
  'a length': [`${OK}Content-Length: 5\r\n\r\nhello`, { headers: { 'content-length': '5' }, body: 'hello' }],
  'no byte': [`${OK}content-length: 0\r\n\r\n`, { headers: { 'content-length': '0' } }],
  'chunks with extensions and trailers': [
    `${OK}Transfer-Encoding: Chunked\r\n\r\n4\r\nwiki\r\n0A;x="y;z"\r\n0123\r\n5678\r\n1;a\r\n!\r\n00;last\r\nA-b: c\r\nd:\r\n\r\n`,
    { headers: { 'transfer-encoding': 'Chunked' }, body: 'wiki0123\r\n5678!' },
  ],
  'chunks and nothing else': [`${CHUNKED}1\r\n\r\r\n0\r\n\r\n`, { headers: CODED, body: '\r' }],
  'no chunk': [`${CHUNKED}0\r\n\r\n`, { headers: CODED }],
  'a status without content': [
    'HTTP/1.1 204 No Content\r\ncontent-length: 3\r\n\r\n',
    { status: 204, headers: { 'content-length': '3' }, isReused: false },
  ],
  'a status without content, coded': [
    'HTTP/1.1 304 \r\ntransfer-encoding: chunked\r\n\r\n',
    { status: 304, headers: CODED, isReused: false },
  ],
  'interim responses before it': [
    `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 199 x\r\nlink: <a>\r\n\r\n${answerOf('x')}`,
    { headers: { 'content-length': '1' }, body: 'x' },
  ],
  'a status line without a reason': [
    'HTTP/1.1 599\r\ncontent-length: 0\r\n\r\n',
    { status: 599, headers: { 'content-length': '0' } },
  ],
  'bytes behind a length': [
    `${OK}content-length: 2\r\n\r\nokHTTP/1.1 200`,
    { headers: { 'content-length': '2' }, body: 'ok', isReused: false },
  ],
  'a second response behind it': [
    `${answerOf('ok')}${answerOf('other')}`,
    { headers: { 'content-length': '2' }, body: 'ok', isReused: false },
  ],
  'bytes behind chunks': [`${CHUNKED}2\r\nok\r\n0\r\n\r\nx`, { headers: CODED, body: 'ok', isReused: false }],
  'repeated headers': [
    `${OK}a: 1\r\nSet-Cookie: x\r\nA:\t2 \r\nset-cookie:y\r\na:\r\ncontent-length: 0\r\n\r\n`,
    { headers: { a: '1, 2, ', 'set-cookie': 'x, y', 'content-length': '0' } },
  ],
  'values of all allowed bytes': [
    `${OK}!#$%&'*+-.^_\`|~0Az: \t \xa0\x80"a:b, c\xff\x85 \t\r\ncontent-length: 0\r\n\r\n`,
    { headers: { "!#$%&'*+-.^_`|~0az": '\xa0\x80"a:b, c\xff\x85', 'content-length': '0' } },
  ],
  'HTTP/1.0': [
    'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx',
    { headers: { 'content-length': '1' }, body: 'x', isReused: false },
  ],
  'connection: close': [
    answerOf('x', 'connection: a,\tClose\r\n'),
    { headers: { connection: 'a,\tClose', 'content-length': '1' }, body: 'x', isReused: false },
  ],
  'a connection kept for two seconds': [
    answerOf('x', 'keep-alive: timeout=2\r\n'),
    { headers: { 'keep-alive': 'timeout=2', 'content-length': '1' }, body: 'x', isReused: false },
  ],
};

/** Writes the bytes in this many separate pieces. */
async function writePieces({ socket }: ReceivedRequest, text: string, next: (below: number) => number): Promise<void> {
  const bytes = Buffer.from(text, 'latin1');
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + next(next(2) === 0 ? 8 : bytes.length);
    socket.write(bytes.subarray(at, end));
    at = end;
    if (at < bytes.length) await nextTurn();
  }
}

describe('response framing', () => {
  for (const [name, [text, { status = 200, headers, body = '', isReused = true }]] of Object.entries(RESPONSES))
    it(`does not depend on how the bytes are split, and leaves nothing to the next response: ${name}`, async (t) => {
      // Late bytes after a response would reach the next request.
      for (let split = 0; split < (isReused ? 4 : 1); split++) {
        const server = await startServer(t, (request) => {
          if (request.path === '/next') request.socket.write(answerOf('next'));
          else void writePieces(request, text, split === 0 ? () => text.length : numbers(split));
        });
        const client = openClient(t, 1);
        const notes = ask(client, server.origin);
        await notes.done;
        assert.deepEqual([notes.log, notes.body.toString('latin1')], [[`head ${status}`, 'end'], body]);
        assert.deepEqual(notes.headers, headers);
        const next = ask(client, server.origin, {}, { path: '/next' });
        await next.done;
        assert.deepEqual([next.log, String(next.body)], [ANSWERED, 'next']);
        assert.equal(server.sockets.length, isReused ? 1 : 2);
      }
    });

  it('accepts headers named like object properties', async (t) => {
    const lines = '__proto__: a\r\n__proto__: b\r\nconstructor: c\r\ntoString: d\r\n';
    const server = await startServer(t, ({ socket }) => void socket.write(answerOf('x', lines)));
    const notes = ask(openClient(t), server.origin);
    await notes.done;
    assert.equal(Object.getPrototypeOf(notes.headers), Object.prototype);
    assert.deepEqual([notes.headers['constructor'], notes.headers['tostring']], ['c', 'd']);
    assert.equal(Object.getOwnPropertyDescriptor(Object.prototype, 'a'), undefined);
  });

  const ENDS: readonly [string, string, boolean][] = [
    ['before a head', '', false],
    ['in a head', 'HTTP/1.1 200 OK\r\na: b\r\n', false],
    ['behind an interim response', 'HTTP/1.1 103 Early Hints\r\n\r\n', false],
    ['in a length', `${OK}content-length: 9\r\n\r\nx`, false],
    ['in a length of a connection that is not kept', `${OK}connection: close\r\ncontent-length: 9\r\n\r\nx`, false],
    ['in a chunk', `${CHUNKED}9\r\nx`, false],
    ['before the last chunk', `${CHUNKED}1\r\nx\r\n`, false],
    ['in trailers', `${CHUNKED}0\r\n`, false],
    ['in a body without a length', `${OK}\r\nx`, true],
    ['behind a head without a length', `${OK}\r\n`, true],
  ];
  for (const [name, text, isEnd] of ENDS)
    it(`${isEnd ? 'ends' : 'fails'} when the peer closes ${name}, and always fails when it resets`, async (t) => {
      const server = await startServer(t, ({ socket, path }) => {
        if (path === '/end') socket.end(text);
        else socket.write(text, () => setTimeout(() => socket.resetAndDestroy(), 20));
      });
      const client = openClient(t);
      const ended = ask(client, server.origin, {}, { path: '/end' });
      const reset = ask(client, server.origin);
      await Promise.all([ended.done, reset.done]);
      assert.match(ended.log.at(-1) ?? '', isEnd ? /^end$/ : /^fail (sent|body)$/);
      assert.match(reset.log.at(-1) ?? '', /^fail (sent|body)$/);
    });
});

const CASES = 2_000;
const AT_ONCE = 12;

/** The connection ended without a byte that the client could not read. */
const isClosedByPeer = (cause: unknown): boolean =>
  cause instanceof Error &&
  (cause.message === 'other side closed' ||
    ['ECONNRESET', 'EPIPE'].includes((cause as NodeJS.ErrnoException).code ?? ''));

describe('T55: two thousand valid and broken responses', () => {
  it('each end once, are read identically whole and in pieces, and never reach the next request', async (t) => {
    const next = numbers(20_261_126);
    const texts = Array.from({ length: CASES }, () => makeResponse(next));
    const respond = async (request: ReceivedRequest): Promise<void> => {
      const [, kind, index] = request.path.split('/');
      if (kind === 'next') {
        request.socket.write(answerOf(request.path));
        return;
      }
      const text = texts[Number(index)] ?? '';
      if (kind === 'whole') request.socket.write(text, 'latin1');
      else await writePieces(request, text, numbers(Number(index)));
      request.socket.end();
    };
    const server = await startServer(t, (request) => void respond(request));
    let read = 0;
    let crossed = 0;
    /** The server closes after each response; on a busy machine that may cross with the next request. */
    const askNext = async (client: ReturnType<typeof openClient>, path: string): Promise<ReturnType<typeof ask>> => {
      const notes = ask(client, server.origin, {}, { path });
      await notes.done;
      if (notes.log.at(-1) !== 'fail sent' || !isClosedByPeer(notes.error?.cause)) return notes;
      crossed++;
      const again = ask(client, server.origin, {}, { path });
      await again.done;
      return again;
    };
    const queue = texts.entries();
    const check = async (): Promise<void> => {
      const client = openClient(t, 1);
      for (const [index, text] of queue) {
        const outcomes: unknown[] = [];
        for (const kind of ['whole', 'pieces']) {
          const notes = ask(client, server.origin, {}, { path: `/${kind}/${index}` });
          await notes.done;
          const after = await askNext(client, `/next/${kind}/${index}`);
          assert.deepEqual([after.log, String(after.body)], [ANSWERED, `/next/${kind}/${index}`], JSON.stringify(text));
          const ends = notes.log.filter((line) => line === 'end' || line.startsWith('fail'));
          assert.equal(ends.length, 1, JSON.stringify(text));
          const isRead = notes.log.at(-1) === 'end';
          outcomes.push(isRead ? [notes.log, notes.headers, notes.body.toString('latin1')] : 'refused');
          if (isRead) read++;
          else assert.equal(notes.error?.mayHaveArrived, true);
        }
        assert.deepEqual(outcomes[0], outcomes[1], JSON.stringify(text));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, check));
    await turn();
    assert.ok(read > CASES && read < CASES * 1.6, `${read} of ${2 * CASES} were read`);
    assert.ok(crossed < CASES / 100, `${crossed} requests crossed with the end of their connection`);
  });
});
