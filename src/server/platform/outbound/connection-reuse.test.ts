import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { generate } from 'selfsigned';
import {
  ANSWERED,
  answerOf,
  answerWithPath,
  ask,
  OK,
  openClient,
  openTlsSender,
  type ReceivedRequest,
  startServer,
  turn,
  until,
} from './raw-server.fixture.ts';

describe('connections to one origin', () => {
  it('are reused, each for one request at a time', async (t) => {
    const server = await startServer(t, answerWithPath);
    const client = openClient(t);
    for (let n = 0; n < 5; n++) {
      const notes = ask(client, server.origin, {}, { path: `/${n}` });
      await notes.done;
      assert.deepEqual([notes.log, String(notes.body)], [ANSWERED, `/${n}`]);
      await turn();
    }
    assert.deepEqual(
      server.requests.map(({ connection, turn: each }) => [connection, each]),
      [0, 1, 2, 3, 4].map((n) => [0, n]),
    );
  });

  it('do not exceed the limit; further requests wait in order and never share one', async (t) => {
    const held: ReceivedRequest[] = [];
    const server = await startServer(t, (request) => void held.push(request));
    const client = openClient(t, 2);
    const paths = Array.from({ length: 9 }, (_, n) => `/${n}`);
    const asked = paths.map((path) => ask(client, server.origin, {}, { path, method: 'POST', body: path }));
    const order: string[] = [];
    while (order.length < paths.length) {
      await until(() => held.length === Math.min(2, paths.length - order.length));
      await sleep(5);
      assert.ok(held.length <= 2, 'no more are in flight than there are connections');
      assert.equal(new Set(held.map(({ connection }) => connection)).size, held.length);
      const [first] = held.splice(0, 1);
      assert.ok(first);
      order.push(first.path);
      answerWithPath(first);
    }
    await Promise.all(asked.map(({ done }) => done));
    assert.deepEqual(
      asked.map(({ body }) => String(body)),
      paths,
    );
    assert.deepEqual(
      server.requests.slice(2).map(({ path }) => path),
      paths.slice(2),
    );
    assert.equal(server.sockets.length, 2);
  });

  it('are replaced for waiting requests when one is lost, and no request is sent twice', async (t) => {
    const server = await startServer(t, (request) => {
      if (request.path === '/lost') request.socket.resetAndDestroy();
      else answerWithPath(request);
    });
    const client = openClient(t, 1);
    const lost = [1, 2].map(() => ask(client, server.origin, {}, { path: '/lost' }));
    const waiting = ask(client, server.origin);
    await waiting.done;
    for (const { log, error } of lost) assert.deepEqual([log, error?.mayHaveArrived], [['fail sent'], true]);
    assert.deepEqual([waiting.log, server.sockets.length, server.requests.length], [ANSWERED, 3, 3]);
  });

  for (const [name, act] of [
    ['sends unsolicited bytes', ({ socket }) => void socket.write(`${OK}content-length: 0\r\n\r\n`)],
    ['ends', ({ socket }) => void socket.end()],
    ['is reset', ({ socket }) => void socket.resetAndDestroy()],
  ] as [string, (request: ReceivedRequest) => void][])
    it(`are not reused when an idle one ${name}`, async (t) => {
      const server = await startServer(t, answerWithPath);
      const client = openClient(t, 1);
      await ask(client, server.origin).done;
      await turn();
      assert.ok(server.requests[0]);
      act(server.requests[0]);
      await sleep(20);
      const next = ask(client, server.origin, {}, { path: '/next' });
      await next.done;
      assert.deepEqual([next.log, String(next.body), server.sockets.length], [ANSWERED, '/next', 2]);
    });

  it('are not reused in the event loop turn in which an idle one is reset', async (t) => {
    const server = await startServer(t, answerWithPath);
    const client = openClient(t, 1);
    await ask(client, server.origin).done;
    await turn();
    const next = await new Promise<ReturnType<typeof ask>>((resolve) =>
      setImmediate(() => {
        server.sockets[0]?.resetAndDestroy();
        // The reset arrives between the two; the socket closes only afterwards.
        setImmediate(() => resolve(ask(client, server.origin)));
      }),
    );
    await next.done;
    assert.deepEqual([next.log, server.sockets.length], [ANSWERED, 2]);
  });

  it('are not reused when the end immediately follows the response, over TLS too', async (t) => {
    const { private: key, cert } = await generate([{ name: 'commonName', value: 'host.test' }]);
    const end = ({ socket, path }: ReceivedRequest): void => void socket.end(answerOf(path));
    const plain = await startServer(t, end);
    const tls = await startServer(t, end, '127.0.0.1', (accept) => createTlsServer({ key, cert }, accept));
    for (const [sender, server, origin] of [
      [openClient(t, 1), plain, plain.origin],
      [openTlsSender(t, 1), tls, `https://127.0.0.1:${tls.port}`],
    ] as const) {
      const notes = Array.from({ length: 3 }, () => ask(sender, origin));
      await Promise.all(notes.map(({ done }) => done));
      for (const { log } of notes) assert.deepEqual(log, ANSWERED);
      assert.equal(server.sockets.length, 3);
    }
  });

  it('are closed two seconds before the peer closes them', async (t) => {
    const server = await startServer(t, ({ socket }) => void socket.write(answerOf('x', 'keep-alive: timeout=3\r\n')));
    await ask(openClient(t, 1), server.origin).done;
    await until(() => server.sockets[0]?.readableEnded === true);
    assert.equal(server.sockets[0]?.readableEnded, true);
  });

  it('are opened over TLS with the name of the host, and reused', async (t) => {
    const { private: key, cert } = await generate([{ name: 'commonName', value: 'host.test' }]);
    const body = 'x'.repeat(1_000_000);
    const names: unknown[] = [];
    const server = await startServer(
      t,
      ({ socket }) => void socket.write(answerOf(body)),
      '127.0.0.1',
      (accept) =>
        createTlsServer({ key, cert }, (socket) => {
          names.push(socket.servername);
          accept(socket);
        }),
    );
    const sender = openTlsSender(t, 1);
    for (let n = 0; n < 3; n++) {
      const notes = ask(sender, `https://host.test:${server.port}`, {}, { method: 'POST', body });
      await notes.done;
      assert.deepEqual([notes.log, notes.body.length], [ANSWERED, body.length]);
      await turn();
    }
    assert.deepEqual(names, ['host.test']);
    assert.ok(server.requests.every((request) => String(request.body) === body));
  });

  it('accumulate no listeners', async (t) => {
    const warnings: Error[] = [];
    const warn = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warn);
    t.after(() => process.off('warning', warn));
    const server = await startServer(t, answerWithPath);
    const client = openClient(t, 1);
    const { signal } = new AbortController();
    const body = Buffer.alloc(200_000);
    for (let n = 0; n < 30; n++) {
      await ask(client, server.origin, {}, { method: 'POST', body, signal }).done;
      await turn();
    }
    assert.deepEqual([warnings, server.sockets.length], [[], 1]);
  });
});

describe('request', () => {
  for (const size of [65_536, 65_537, 1_000_000])
    it(`arrives complete, as text and as bytes: ${size} bytes`, async (t) => {
      const server = await startServer(t, answerWithPath);
      const client = openClient(t, 1);
      const bytes = Buffer.from(Array.from({ length: size }, (_, at) => at % 253));
      const text = '你好 '.repeat(size).slice(0, size);
      for (const body of [bytes, text]) {
        const notes = ask(client, server.origin, {}, { method: 'POST', body });
        await notes.done;
        assert.deepEqual(notes.log, ANSWERED);
        await turn();
      }
      assert.ok(server.requests[0]?.body.equals(bytes));
      assert.equal(String(server.requests[1]?.body), text);
      assert.equal(server.sockets.length, 1);
    });

  it('closes its connection when the response arrives before its body has been sent', async (t) => {
    const accepted: { destroy(): void }[] = [];
    const received: string[] = [];
    const server = createServer((socket) => {
      accepted.push(socket);
      socket.on('error', () => {});
      // Reads only the start.
      socket.once('data', (bytes: Buffer) => {
        received.push(String(bytes.subarray(0, 4)));
        socket.pause();
        socket.write(answerOf('early'));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      for (const socket of accepted) socket.destroy();
      server.close();
    });
    const client = openClient(t, 1);
    const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    const early = ask(client, origin, {}, { method: 'POST', body: Buffer.alloc(30_000_000) });
    const next = ask(client, origin);
    await next.done;
    for (const notes of [early, next]) assert.deepEqual([notes.log, String(notes.body)], [ANSWERED, 'early']);
    assert.deepEqual([accepted.length, received], [2, ['POST', 'GET ']]);
  });

  it('times out when the peer does not read its body', async (t) => {
    const server = await startServer(
      t,
      () => {},
      '127.0.0.1',
      () => createServer((socket) => void socket.pause()),
    );
    const more = { method: 'POST', body: Buffer.alloc(30_000_000), headersTimeoutMs: 200 } as const;
    const notes = ask(openClient(t), server.origin, {}, more);
    await notes.done;
    assert.deepEqual([notes.log, notes.error?.mayHaveArrived], [['fail sent'], true]);
  });

  it("keeps the timeout's code, by which callers recognize it", async (t) => {
    const server = await startServer(t, ({ socket, path }) => {
      if (path === '/body') socket.write(`${OK}content-length: 2\r\n\r\nx`);
    });
    const client = openClient(t);
    const limits = { headersTimeoutMs: 200, idleTimeoutMs: 200 };
    const body = ask(client, server.origin, {}, { ...limits, path: '/body', headersTimeoutMs: 60_000 });
    const head = ask(client, server.origin, {}, limits);
    await Promise.all([body.done, head.done]);
    const codeOf = ({ error }: typeof body): unknown => (error?.cause as { code?: unknown } | undefined)?.code;
    assert.deepEqual([body.log, codeOf(body)], [['head 200', 'fail body'], 'UND_ERR_BODY_TIMEOUT']);
    // The exchange's own timer has no cause, if undici's fired late.
    assert.match(`${head.log} ${codeOf(head)}`, /^fail sent (UND_ERR_HEADERS_TIMEOUT|undefined)$/);
  });

  it('is refused before connecting if it cannot be written', async (t) => {
    const server = await startServer(t, answerWithPath);
    const client = openClient(t, 1);
    const values = ['\r', '\n', 'a\r\nb: c', '\0', '\x01', '\x7f', '\u0100', '你'].map((a) => ({ a }));
    const own = ['connection', 'expect', 'Host', 'keep-alive', 'Transfer-Encoding', 'upgrade'];
    const names = ['', ' a', 'a:', 'a\r\nb', 'a b', 'ä', ...own].map((name) => ({ [name]: 'x' }));
    for (const headers of [...values, ...names] as Record<string, string>[]) {
      const notes = ask(client, server.origin, {}, { headers });
      await notes.done;
      assert.deepEqual([notes.log, notes.error?.mayHaveArrived], [['fail blocked'], false], JSON.stringify(headers));
    }
    assert.equal(server.sockets.length, 0);
    const next = ask(client, server.origin);
    await next.done;
    assert.deepEqual(next.log, ANSWERED, 'and takes no connection from the next');
  });

  it('may have non-ASCII bytes in its headers', async (t) => {
    const heads: string[] = [];
    const server = await startServer(
      t,
      () => {},
      '127.0.0.1',
      () =>
        createServer((socket) => {
          socket.on('data', (bytes: Buffer) => {
            heads.push(bytes.toString('latin1'));
            socket.end(answerOf('x'));
          });
        }),
    );
    await ask(openClient(t), server.origin, {}, { method: 'POST', body: 'ü', headers: { a: 'x\x80\xff' } }).done;
    assert.match(heads.join(), /\r\na: x\x80\xff\r\n/);
    assert.ok(heads.join().endsWith('\r\ncontent-length: 2\r\n\r\n\xc3\xbc'));
  });

  it('is aborted once, together with its connection: at its head, in its body and before its head', async (t) => {
    const server = await startServer(t, ({ socket, path }) => {
      if (path !== '/silent') socket.write(`${OK}transfer-encoding: chunked\r\n\r\n1\r\nx\r\n1\r\ny\r\n`);
    });
    const client = openClient(t);
    const abort = (control: { abort(): void; pause(): void; resume(): void }): void => {
      control.abort();
      control.abort();
      control.pause();
      control.resume();
    };
    const controller = new AbortController();
    const byHead = ask(client, server.origin, { head: abort });
    const inBody = ask(client, server.origin, { chunk: abort });
    const silent = ask(client, server.origin, {}, { path: '/silent', signal: controller.signal });
    await until(() => server.requests.length === 3);
    controller.abort();
    await Promise.all([byHead, inBody, silent].map(({ done }) => done));
    assert.deepEqual(
      [byHead.log, inBody.log, silent.log],
      [['head 200', 'fail aborted'], ['head 200', 'fail aborted'], ['fail aborted']],
    );
    assert.equal(String(inBody.body), 'x');
    await until(() => server.sockets.every(({ readableEnded }) => readableEnded));
    assert.ok(server.sockets.every(({ readableEnded }) => readableEnded));
  });

  it('no longer reaches the next request on its connection', async (t) => {
    const server = await startServer(t, ({ socket, turn: at }) => {
      socket.write(at === 0 ? answerOf('x') : `${OK}content-length: 2\r\n\r\na`);
    });
    const client = openClient(t, 1);
    const first = ask(client, server.origin);
    const control = await first.begun;
    await first.done;
    await turn();
    const next = ask(client, server.origin);
    const nextControl = await next.begun;
    nextControl.pause();
    control.pause();
    control.resume();
    control.abort();
    server.sockets[0]?.write('b');
    await sleep(20);
    assert.deepEqual(next.log, ['head 200']);
    nextControl.resume();
    await next.done;
    assert.deepEqual([first.log, next.log, String(next.body), server.sockets.length], [ANSWERED, ANSWERED, 'ab', 1]);
  });

  it('fails in the phase in which the client is closed', async (t) => {
    const server = await startServer(t, ({ socket, path }) => {
      if (path === '/head') socket.write(`${OK}\r\n`);
    });
    const client = openClient(t, 2);
    const head = ask(client, server.origin, {}, { path: '/head' });
    const sent = ask(client, server.origin);
    const waiting = ask(client, server.origin);
    await head.begun;
    await until(() => server.requests.length === 2);
    await client.close();
    const late = ask(client, server.origin);
    await Promise.all([head, sent, waiting, late].map(({ done }) => done));
    assert.deepEqual([head.log, sent.log], [['head 200', 'fail body'], ['fail sent']]);
    assert.deepEqual([waiting.log, late.log], [['fail connect'], ['fail connect']]);
    assert.equal(server.requests.length, 2);
  });
});
