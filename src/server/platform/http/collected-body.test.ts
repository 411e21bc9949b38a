import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { afterEach, beforeEach, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../app-error.ts';
import { MAX_COLLECTED_BYTES, RequestWithCollectedBody } from './body.ts';
import { startHttp } from './start-http-server.fixture.ts';

type Http = Awaited<ReturnType<typeof startHttp>>;

let http: Http;
let port: number;
/** Answers each request, whose body is not read yet. */
let serve: (request: RequestWithCollectedBody, response: ServerResponse) => Promise<void>;

const read = async (source: IncomingMessage): Promise<unknown> => {
  const body = await http.bodyReader.read(source, { limit: 1_000_000, budgetKey: 'a', response: new EventEmitter() });
  return body?.value;
};
const echo = async (request: RequestWithCollectedBody, response: ServerResponse): Promise<void> => {
  const value = await read(request);
  const shown = typeof value === 'string' ? value.length : JSON.stringify(value);
  response.end(`${request.isCollected ? 'collected' : 'streamed'} ${shown}`);
};

beforeEach(async () => {
  http = await startHttp({ bodyGraceMs: 600 });
  http.addFastPath((request, response) => {
    assert.ok(request instanceof RequestWithCollectedBody);
    request.collectBody(Number(request.headers['content-length']));
    serve(request, response).catch(() => response.destroy());
    return true;
  });
  port = await http.start();
  serve = echo;
});
afterEach(() => http.close(0));

const requestOf = (body: string, length = body.length): string =>
  `POST /v1/x HTTP/1.1\r\nHost: gate.example\r\nContent-Length: ${length}\r\n\r\n${body}`;

/** The bodies of chunked and fixed-length responses within the received bytes. */
const bodiesIn = (received: string): string[] =>
  [...received.matchAll(/(?:collected|streamed|refused)[^\r\nH]*/g)].map(([body]) => body);

/** Sends each piece in a packet of its own, and waits for the given number of responses. */
async function talk(pieces: readonly string[], responses = 1): Promise<string[]> {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
  });
  for (const piece of pieces) {
    socket.write(piece);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  while (bodiesIn(received).length < responses) await once(socket, 'data');
  socket.destroy();
  return bodiesIn(received);
}

async function openAndSend(bytes: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

/** The next request, before anything of it was read. */
const nextRequest = (): Promise<RequestWithCollectedBody> =>
  new Promise((resolve) => {
    serve = async (request) => resolve(request);
  });

test('a small body is collected, whether it arrives with its head or in many pieces', async () => {
  const whole = requestOf('{"a":[1,2]}');
  assert.deepEqual(await talk([whole]), ['collected {"a":[1,2]}']);
  assert.deepEqual(await talk([...whole]), ['collected {"a":[1,2]}']);
});

test('requests follow one another on a connection, even when several arrive at once', async () => {
  const numbers = Array.from({ length: 20 }, (_, index) => index);
  const expected = numbers.map((number) => `collected {"n":${number}}`);
  const requests = numbers.map((number) => requestOf(`{"n":${number}}`));
  assert.deepEqual(await talk(requests, 20), expected);
  assert.deepEqual(await talk([requests.join('')], 20), expected);
});

test('a body may be read later than it arrives', async () => {
  serve = async (request, response) => {
    while (!request.complete) await nextTurn();
    await nextTurn();
    await echo(request, response);
  };
  assert.deepEqual(await talk([requestOf('{"a":1}')]), ['collected {"a":1}']);
});

test('a body above the collection limit stays in the stream, and one of exactly the limit is collected', async () => {
  const text = 'x'.repeat(MAX_COLLECTED_BYTES - 2);
  assert.deepEqual(await talk([requestOf(`"${text}"`)]), [`collected ${text.length}`]);
  assert.deepEqual(await talk([requestOf(`"${text}x"`)]), [`streamed ${text.length + 1}`]);
});

test('a body is left in the stream when part of it is already there', async () => {
  const request = new RequestWithCollectedBody(new Socket());
  request.push(Buffer.from('{"a"'));
  request.collectBody(7);
  assert.equal(request.isCollected, false);
  request.push(Buffer.from(':1}'));
  request.push(null);
  assert.equal(Buffer.concat(await Array.fromAsync(request)).toString(), '{"a":1}');
  assert.throws(() => request.collectedBody(), /not collected/);
});

test('a response before the body leaves the connection ready for the next request', async () => {
  serve = async (_request, response) => {
    serve = echo;
    response.end('refused');
  };
  const [first = '', second = ''] = [requestOf('{"a":1}'), requestOf('{"a":2}')];
  assert.deepEqual(await talk([first.slice(0, -4), first.slice(-4), second], 2), ['refused', 'collected {"a":2}']);
});

test('bytes received after an early response are not taken for the body', async () => {
  const coming = nextRequest();
  const socket = await openAndSend(requestOf('{"a":1', 7));
  const request = await coming;
  const body = Promise.resolve(request.collectedBody());
  // Node does this with the rest of a request whose response has ended.
  (request as unknown as { _dump(): void })._dump();
  socket.write('}');
  assert.equal((await body).toString(), '{"a":1');
  socket.destroy();
});

test('a client that disconnects within the body ends the read, whether started or not', async () => {
  for (const readsFirst of [true, false]) {
    const coming = nextRequest();
    const socket = await openAndSend(requestOf('{"a"', 7));
    const request = await coming;
    const isRefused = (): Promise<void> =>
      assert.rejects(read(request), (error) => error instanceof AppError && error.code === 'invalid_json');
    const outcome = readsFirst ? isRefused() : undefined;
    socket.destroy();
    await new Promise((resolve) => request.on('close', resolve));
    await (outcome ?? isRefused());
  }
});

test('a body that is not JSON is refused like a streamed one', async () => {
  serve = async (request, response) => {
    const code = await read(request).catch((error: unknown) => (error as AppError).code);
    response.end(`refused ${code}`);
  };
  assert.deepEqual(await talk([requestOf('{"a":')]), ['refused invalid_json']);
  assert.deepEqual(await talk([requestOf('{"a":"\\u0000"}')]), ['refused invalid_text']);
});

test('T66: a collected body that stalls ends in a 408', async () => {
  const socket = await openAndSend(requestOf('{"a"', 100));
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
  });
  await once(socket, 'close');
  assert.match(received, /^HTTP\/1\.1 408 /);
});

test('a request with a collected body counts as read and closed, without stream events', async () => {
  const coming = nextRequest();
  const socket = await openAndSend(requestOf('{"a":1}'));
  const request = await coming;
  assert.deepEqual(await read(request), { a: 1 });
  assert.deepEqual([request.complete, request.readableEnded, request.aborted], [true, true, false]);
  socket.destroy();
});
