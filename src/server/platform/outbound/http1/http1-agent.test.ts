import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, it } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { generate } from 'selfsigned';
import { guardedConnector } from '../guard.ts';
import type { DispatchRequest } from '../outbound.ts';
import {
  ANSWERED,
  answerOf,
  ask,
  connector,
  OK,
  openAgent,
  type ReceivedRequest,
  startServer,
  turn,
  until,
} from './raw-server.fixture.ts';
import { READ_INTO_ONE_BUFFER } from './socket-read-buffer.ts';

const answer = ({ socket, path, body }: ReceivedRequest): void => void socket.write(answerOf(`${path} ${body.length}`));

describe('an agent', () => {
  it('keeps the connections of each origin apart', async (t) => {
    const servers = [await startServer(t, answer), await startServer(t, answer)];
    const agent = openAgent(t, 1);
    for (let n = 0; n < 2; n++)
      for (const { origin } of servers) {
        await ask(agent, origin).done;
        await turn();
      }
    for (const { sockets, requests } of servers) assert.deepEqual([sockets.length, requests.length], [1, 2]);
  });

  it('reports what is wrong with a request to its handler, and nothing is connected', async (t) => {
    let connects = 0;
    const agent = openAgent(t, 1, () => void connects++);
    for (const more of [
      { path: 'x' },
      { headers: { host: 'x' } },
      { method: 'PUT' },
      { headers: { a: '\n' } },
    ] as Partial<DispatchRequest>[])
      assert.deepEqual(ask(agent, 'http://127.0.0.1:9', {}, more).log, ['fail InvalidArgumentError']);
    assert.deepEqual([connects, agent.isBusy], [0, false]);
  });

  it('speaks to a host that is an IPv6 address', async (t) => {
    const server = await startServer(t, answer, '::1');
    const targets: unknown[] = [];
    const real = connector();
    const agent = openAgent(t, 1, (target, callback) => {
      targets.push({ ...target });
      real(target, callback);
    });
    const notes = ask(agent, server.origin);
    await notes.done;
    assert.deepEqual(notes.log, ANSWERED);
    const port = String(server.port);
    assert.deepEqual(targets, [{ protocol: 'http:', host: `[::1]:${port}`, hostname: '::1', port }]);
  });

  it('speaks TLS, in both ways of reading, and uses connections again', async (t) => {
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
    const lookup = (_name: string, _options: object, found: (...result: unknown[]) => void): void =>
      found(null, [{ address: '127.0.0.1', family: 4 }]);
    for (const reading of [{}, { onread: undefined }]) {
      const options = { rejectUnauthorized: false, lookup, autoSelectFamily: true, ...reading } as object;
      const agent = openAgent(t, 1, connector(options));
      for (let n = 0; n < 3; n++) {
        const notes = ask(agent, `https://host.test:${server.port}`, {}, { method: 'POST', body });
        await notes.done;
        assert.deepEqual([notes.log, notes.body.length], [ANSWERED, body.length]);
        await turn();
      }
    }
    assert.deepEqual(names, ['host.test', 'host.test']);
    assert.ok(server.requests.every((request) => String(request.body) === body));
  });

  it('uses no connection again whose end comes with the response that was to keep it', async (t) => {
    const { private: key, cert } = await generate([{ name: 'commonName', value: 'host.test' }]);
    // TLS tells of both in one read; with plain sockets the end is only seen in the next turn of the event loop.
    const end = ({ socket, path }: ReceivedRequest): void => void socket.end(answerOf(path));
    const server = await startServer(t, end, '127.0.0.1', (accept) => createTlsServer({ key, cert }, accept));
    const agent = openAgent(t, 1, connector({ rejectUnauthorized: false }));
    const notes = Array.from({ length: 3 }, () => ask(agent, `https://127.0.0.1:${server.port}`));
    await Promise.all(notes.map(({ done }) => done));
    for (const { log } of notes) assert.deepEqual(log, ANSWERED);
    assert.equal(server.sockets.length, 3);
  });

  it('sends a large body whole, as text and as bytes', async (t) => {
    const server = await startServer(t, answer);
    const agent = openAgent(t, 1);
    const bytes = Buffer.from(Array.from({ length: 5_000_000 }, (_, at) => at % 253));
    const text = 'grüße 你好 '.repeat(200_000);
    for (const body of [bytes, text]) {
      const notes = ask(agent, server.origin, {}, { method: 'POST', body });
      await notes.done;
      assert.deepEqual(notes.log, ANSWERED);
      await turn();
    }
    assert.ok(server.requests[0]?.body.equals(bytes));
    assert.equal(String(server.requests[1]?.body), text);
    assert.equal(server.sockets.length, 1);
  });

  it('takes a response that comes while the body is still being written, and closes that connection', async (t) => {
    const accepted: { destroy(): void }[] = [];
    const received: string[] = [];
    const server = createServer((socket) => {
      accepted.push(socket);
      socket.on('error', () => {});
      // Reads the beginning alone.
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
    const agent = openAgent(t, 1);
    const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    const early = ask(agent, origin, {}, { method: 'POST', body: Buffer.alloc(30_000_000) });
    const next = ask(agent, origin);
    await next.done;
    for (const notes of [early, next]) assert.deepEqual([notes.log, String(notes.body)], [ANSWERED, 'early']);
    assert.deepEqual([accepted.length, received], [2, ['POST', 'GET ']]);
  });

  it('fails what is under way and what waits when it is destroyed, and all that is asked afterwards', async (t) => {
    const server = await startServer(t, ({ socket, path }) => {
      if (path === '/head') socket.write(`${OK}\r\n`);
    });
    const agent = openAgent(t, 2);
    const head = ask(agent, server.origin, {}, { path: '/head' });
    const sent = ask(agent, server.origin);
    const waiting = [ask(agent, server.origin), ask(agent, server.origin)];
    await head.begun;
    await until(() => server.requests.length === 2);
    agent.destroy();
    agent.destroy();
    assert.deepEqual(head.log, ['start', 'head 200', 'fail ClientDestroyedError']);
    assert.deepEqual(sent.log, ['start', 'fail ClientDestroyedError']);
    for (const { log } of [...waiting, ask(agent, server.origin)]) assert.deepEqual(log, ['fail ClientDestroyedError']);
    await turn();
    assert.deepEqual([server.requests.length, agent.isBusy], [2, false]);
  });

  it('fails a request whose handler destroys it right before it is written', async (t) => {
    const server = await startServer(t, answer);
    const agent = openAgent(t, 1);
    const notes = ask(agent, server.origin, { start: () => agent.destroy() });
    await until(() => notes.log.length > 1, 300);
    assert.deepEqual(notes.log, ['start', 'fail ClientDestroyedError']);
    assert.equal(server.requests.length, 0);
  });

  it('fails what is being connected when it is destroyed along with the signal of its connector', async (t) => {
    const closing = new AbortController();
    const connect = guardedConnector({
      resolve: () => new Promise(() => {}),
      allows: () => true,
      timeoutMs: 60_000,
      signal: closing.signal,
      reading: READ_INTO_ONE_BUFFER,
    });
    const agent = openAgent(t, 1, connect);
    const notes = [ask(agent, 'http://host.test'), ask(agent, 'http://host.test')];
    closing.abort();
    agent.destroy();
    await until(() => notes.every(({ log }) => log.length > 0), 300);
    for (const { log } of notes) assert.equal(log.length, 1, 'told once, and at once');
    assert.equal(agent.isBusy, false);
  });
});
