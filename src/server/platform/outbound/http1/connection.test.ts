import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import {
  ANSWERED,
  answerOf,
  ask,
  type Hooks,
  OK,
  openAgent,
  type ReceivedRequest,
  startServer,
  turn,
  until,
} from './raw-server.fixture.ts';

type Control = Dispatcher.DispatchController;
const given = new TypeError('given up');

describe('a request that is ended by its handler', () => {
  const CHUNKS = `${OK}transfer-encoding: chunked\r\n\r\n1\r\nx\r\n1\r\ny\r\n0\r\n\r\n`;
  const answer = ({ socket }: ReceivedRequest): void => void socket.write(CHUNKS);
  const abort = (control: Control): void => {
    control.abort(given);
    control.abort(new RangeError('again'));
    control.pause();
    control.resume();
  };
  for (const [phase, hooks, log, requests, body] of [
    ['before it is written', { start: abort }, ['start', 'fail TypeError'], 0, ''],
    ['by its head', { head: abort }, ['start', 'head 200', 'fail TypeError'], 1, ''],
    ['in its body', { data: abort }, ['start', 'head 200', 'fail TypeError'], 1, 'x'],
    ['at its end, which is too late', { end: abort }, ANSWERED, 1, 'xy'],
  ] as [string, Hooks, string[], number, string][])
    it(`is told of it once: ${phase}`, async (t) => {
      const server = await startServer(t, answer);
      const agent = openAgent(t, 1);
      const notes = ask(agent, server.origin, hooks);
      await notes.done;
      const next = ask(agent, server.origin);
      await next.done;
      await turn();
      assert.deepEqual([notes.log, String(notes.body), next.log], [log, body, ANSWERED]);
      assert.equal(server.requests.length, requests + 1);
      assert.equal(server.sockets.length, log === ANSWERED || requests === 0 ? 1 : 2);
      assert.equal(agent.isBusy, false);
    });

  it('is told of it once between head and body, and before the head', async (t) => {
    const server = await startServer(t, ({ socket, path }) => {
      if (path === '/head') socket.write(`${OK}content-length: 1\r\n\r\n`);
    });
    const agent = openAgent(t);
    let control: Control | undefined;
    const start = (its: Control): void => {
      control = its;
    };
    const before = ask(agent, server.origin, { start });
    const between = ask(agent, server.origin, {}, { path: '/head' });
    (await between.begun).abort(given);
    await until(() => server.requests.length === 2);
    control?.abort(given);
    assert.deepEqual(before.log, ['start', 'fail TypeError']);
    assert.deepEqual(between.log, ['start', 'head 200', 'fail TypeError']);
    await nextTurn();
    assert.equal(agent.isBusy, false);
  });

  it('reaches the next request on its connection no more', async (t) => {
    const server = await startServer(t, ({ socket, turn: at }) => {
      if (at === 0) socket.write(answerOf('x'));
      else socket.write(`${OK}content-length: 2\r\n\r\na`);
    });
    const agent = openAgent(t, 1);
    const first = ask(agent, server.origin);
    const control = await first.begun;
    await first.done;
    const next = ask(agent, server.origin, {}, { bodyTimeout: 30_000 });
    const nextControl = await next.begun;
    control.pause();
    assert.deepEqual([control.paused, nextControl.paused], [false, false]);
    server.sockets[0]?.write('b');
    await next.done;
    const third = ask(agent, server.origin);
    const thirdControl = await third.begun;
    thirdControl.pause();
    control.resume();
    server.sockets[0]?.write('b');
    await sleep(20);
    assert.deepEqual([String(third.body), third.log], ['a', ['start', 'head 200']], 'still paused');
    control.abort(given);
    nextControl.abort(given);
    thirdControl.resume();
    await third.done;
    assert.deepEqual([first.log, next.log, third.log], [ANSWERED, ANSWERED, ANSWERED]);
    assert.deepEqual([String(next.body), String(third.body), server.sockets.length], ['ab', 'ab', 1]);
  });

  const fail = (): never => {
    throw new EvalError('thrown by the handler');
  };
  for (const [hook, log] of [
    ['head', ['start', 'head 200', 'fail EvalError']],
    ['data', ['start', 'head 200', 'fail EvalError']],
    ['end', ['start', 'head 200', 'end', 'fail EvalError']],
  ] as const)
    it(`fails once where ${hook} throws, and not the next`, async (t) => {
      const server = await startServer(t, answer);
      const agent = openAgent(t, 1);
      const notes = ask(agent, server.origin, { [hook]: fail });
      await notes.done;
      const next = ask(agent, server.origin);
      await next.done;
      assert.deepEqual([notes.log, next.log], [log, ANSWERED]);
    });
});

describe('the end of a connection', () => {
  const CUT: readonly [string, string, boolean][] = [
    ['before a head', '', false],
    ['in a head', 'HTTP/1.1 200 OK\r\na: b\r\n', false],
    ['behind an interim response', 'HTTP/1.1 100 Continue\r\n\r\n', false],
    ['in a length', `${OK}content-length: 9\r\n\r\nx`, false],
    ['in a chunk', `${OK}transfer-encoding: chunked\r\n\r\n9\r\nx`, false],
    ['before the last chunk', `${OK}transfer-encoding: chunked\r\n\r\n1\r\nx\r\n`, false],
    ['in trailers', `${OK}transfer-encoding: chunked\r\n\r\n0\r\n`, false],
    ['in a body without a length', `${OK}\r\nx`, true],
    ['behind a head without a length', `${OK}\r\n`, true],
  ];
  for (const [name, text, isEnd] of CUT)
    it(`${name} is ${isEnd ? 'the end of the response' : 'a failure'}, and a reset always a failure`, async (t) => {
      const server = await startServer(t, ({ socket, path }) => {
        if (path === '/end') socket.end(text);
        else socket.write(text, () => setTimeout(() => socket.resetAndDestroy(), 20));
      });
      const agent = openAgent(t);
      const ended = ask(agent, server.origin, {}, { path: '/end' });
      const reset = ask(agent, server.origin);
      await Promise.all([ended.done, reset.done]);
      assert.match(ended.log.at(-1) ?? '', isEnd ? /^end$/ : /^fail SocketError$/);
      assert.match(reset.log.at(-1) ?? '', /^fail Error$/);
      for (const { log } of [ended, reset]) assert.equal(log.filter((each) => /^(end|fail)/.test(each)).length, 1);
      assert.equal(agent.isBusy, false);
    });

  it('follows a response that cannot be read', async (t) => {
    const server = await startServer(t, ({ socket }) => void socket.write(`${OK}content-length: x\r\n\r\n`));
    const notes = ask(openAgent(t), server.origin);
    await notes.done;
    assert.deepEqual(notes.log, ['start', 'fail HTTPParserError']);
    const [socket] = server.sockets;
    if (socket?.readableEnded === false) await once(socket, 'end');
  });
});
