import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ANSWERED,
  answerOf,
  answerWithPath,
  ask,
  OK,
  openAgent,
  type ReceivedRequest,
  startServer,
  turn,
  until,
} from './raw-server.fixture.ts';

describe('connections to one origin', () => {
  it('are used again, each for one request at a time', async (t) => {
    const server = await startServer(t, answerWithPath);
    const agent = openAgent(t);
    for (let n = 0; n < 5; n++) {
      const notes = ask(agent, server.origin, {}, { path: `/${n}` });
      await notes.done;
      assert.deepEqual([notes.log, String(notes.body)], [ANSWERED, `/${n}`]);
      await turn();
    }
    assert.deepEqual(
      server.requests.map(({ connection, turn: each }) => [connection, each]),
      [0, 1, 2, 3, 4].map((n) => [0, n]),
    );
  });

  it('are those used last before those used long ago', async (t) => {
    const held: ReceivedRequest[] = [];
    const server = await startServer(t, (request) => void held.push(request));
    const agent = openAgent(t);
    const both = [ask(agent, server.origin), ask(agent, server.origin)];
    await until(() => held.length === 2);
    for (const [at, request] of held.splice(0).entries()) {
      answerWithPath(request);
      await both[at]?.done;
      await turn();
    }
    ask(agent, server.origin);
    await until(() => held.length === 1);
    assert.deepEqual([held[0]?.connection, server.sockets.length], [1, 2]);
  });

  it('are as many as allowed; further requests wait in order and never share one', async (t) => {
    const held: ReceivedRequest[] = [];
    const server = await startServer(t, (request) => void held.push(request));
    const agent = openAgent(t, 2);
    const paths = Array.from({ length: 9 }, (_, n) => `/${n}`);
    const asked = paths.map((path) => ask(agent, server.origin, {}, { path, method: 'POST', body: path }));
    const order: string[] = [];
    while (order.length < paths.length) {
      await until(() => held.length === Math.min(2, paths.length - order.length));
      await sleep(5);
      assert.ok(held.length <= 2, 'no more are under way than there are connections');
      assert.equal(new Set(held.map(({ connection }) => connection)).size, held.length);
      assert.equal(agent.isBusy, true);
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
    await turn();
    assert.equal(agent.isBusy, false);
  });

  it('are counted as busy while a request waits for one that has just become free', async (t) => {
    const server = await startServer(t, answerWithPath);
    const agent = openAgent(t, 1);
    const seen: boolean[] = [];
    ask(agent, server.origin, { end: () => queueMicrotask(() => seen.push(agent.isBusy)) });
    await ask(agent, server.origin).done;
    assert.deepEqual(seen, [true]);
  });

  it('carry no request given up while it waited, and the next ones all the same', async (t) => {
    const server = await startServer(t, answerWithPath);
    const agent = openAgent(t, 1);
    const givenUp = { start: (control: { abort(reason: Error): void }) => control.abort(new TypeError('given up')) };
    const first = ask(agent, server.origin, {}, { path: '/first' });
    const never = [ask(agent, server.origin, givenUp), ask(agent, server.origin, givenUp)];
    const last = ask(agent, server.origin, {}, { path: '/last' });
    await last.done;
    assert.deepEqual(first.log, ANSWERED);
    for (const { log } of never) assert.deepEqual(log, ['start', 'fail TypeError']);
    assert.deepEqual(
      server.requests.map(({ path, connection }) => [path, connection]),
      [
        ['/first', 0],
        ['/last', 0],
      ],
    );
  });

  it('are kept where the request they were opened for was given up', async (t) => {
    const server = await startServer(t, answerWithPath);
    const agent = openAgent(t, 1);
    const given = ask(agent, server.origin, { start: (control) => control.abort(new TypeError('given up')) });
    await given.done;
    await turn();
    assert.equal(agent.isBusy, false);
    await ask(agent, server.origin, {}, { path: '/next' }).done;
    assert.deepEqual([server.sockets.length, server.requests.length], [1, 1]);
  });

  it('are opened again for those that wait where one is lost', async (t) => {
    const server = await startServer(t, (request) => {
      if (request.path === '/lost') request.socket.resetAndDestroy();
      else answerWithPath(request);
    });
    const agent = openAgent(t, 1);
    const lost = ask(agent, server.origin, {}, { path: '/lost' });
    const again = ask(agent, server.origin, {}, { path: '/lost' });
    const waiting = ask(agent, server.origin);
    await waiting.done;
    assert.match(lost.log.join(), /^start,fail /);
    assert.match(again.log.join(), /^start,fail /);
    assert.deepEqual([waiting.log, server.sockets.length, server.requests.length], [ANSWERED, 3, 3]);
  });

  for (const [name, text] of [
    ['says close', answerOf('x', 'connection: close\r\n')],
    ['is of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx'],
    ['is kept too short by the other side', answerOf('x', 'keep-alive: timeout=2\r\n')],
    ['has bytes behind it', `${answerOf('x')}HTTP/1.1 200 OK\r\n`],
    ['has a second response behind it', `${answerOf('x')}${answerOf('other')}`],
  ] as const)
    it(`are not used again where the response ${name}`, async (t) => {
      const closed: number[] = [];
      const server = await startServer(t, ({ socket, connection }) => {
        socket.on('close', () => closed.push(connection)).on('end', () => socket.end());
        socket.write(text);
      });
      const agent = openAgent(t, 1);
      for (let n = 0; n < 3; n++) {
        const notes = ask(agent, server.origin);
        await notes.done;
        assert.deepEqual([notes.log, String(notes.body)], [ANSWERED, 'x']);
      }
      await until(() => closed.length === 3);
      assert.deepEqual([closed.length, server.sockets.length], [3, 3]);
      assert.equal(agent.isBusy, false);
    });

  for (const [name, act] of [
    ['sends bytes nobody has asked for', ({ socket }) => void socket.write(`${OK}content-length: 0\r\n\r\n`)],
    ['ends', ({ socket }) => void socket.end()],
    ['is reset', ({ socket }) => void socket.resetAndDestroy()],
  ] as [string, (request: ReceivedRequest) => void][])
    it(`are not used again where an idle one ${name}`, async (t) => {
      const server = await startServer(t, answerWithPath);
      const agent = openAgent(t, 1);
      await ask(agent, server.origin).done;
      await turn();
      assert.ok(server.requests[0]);
      act(server.requests[0]);
      await sleep(20);
      const next = ask(agent, server.origin, {}, { path: '/next' });
      await next.done;
      assert.deepEqual([next.log, String(next.body), server.sockets.length], [ANSWERED, '/next', 2]);
    });

  it('are not used again in the turn of the event loop in which one has been reset', async (t) => {
    const server = await startServer(t, answerWithPath);
    const agent = openAgent(t, 1);
    await ask(agent, server.origin).done;
    await turn();
    const next = await new Promise<ReturnType<typeof ask>>((resolve) =>
      setImmediate(() => {
        server.sockets[0]?.resetAndDestroy();
        // The reset is received between both; only the close of the socket follows behind.
        setImmediate(() => resolve(ask(agent, server.origin)));
      }),
    );
    await next.done;
    assert.deepEqual([next.log, server.sockets.length], [ANSWERED, 2]);
  });

  it('are closed when they have been idle for the time the other side keeps them, less two seconds', async (t) => {
    const server = await startServer(t, ({ socket }) => void socket.write(answerOf('x', 'keep-alive: timeout=3\r\n')));
    const agent = openAgent(t, 1);
    await ask(agent, server.origin).done;
    const idleSince = performance.now();
    let closedAfter = 0;
    server.sockets[0]?.on('end', () => {
      closedAfter = performance.now() - idleSince;
    });
    await sleep(700);
    await ask(agent, server.origin).done;
    assert.equal(server.sockets.length, 1, 'the time begins anew with each response');
    await until(() => closedAfter > 0, 2_500);
    assert.ok(closedAfter > 1_600 && closedAfter < 2_400, String(closedAfter));
  });
});
