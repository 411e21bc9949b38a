import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ANSWERED, ask, OK, openAgent, startServer } from './raw-server.fixture.ts';

describe('the time of a response', () => {
  it('is over where no head comes, and where the body stops', async (t) => {
    const server = await startServer(t, ({ socket, path }) => {
      if (path !== '/silent') socket.write(`${OK}content-length: 9\r\n\r\nx`);
      if (path === '/dripping') {
        const timer = setInterval(() => socket.write('x'), 100);
        socket.on('close', () => clearInterval(timer));
      }
    });
    const agent = openAgent(t);
    const begunAt = performance.now();
    const bounds = { headersTimeout: 400, bodyTimeout: 400 };
    const silent = ask(agent, server.origin, {}, { ...bounds, path: '/silent', bodyTimeout: 60_000 });
    const stopped = ask(agent, server.origin, {}, { ...bounds, path: '/stopped', headersTimeout: 60_000 });
    const dripping = ask(agent, server.origin, {}, { ...bounds, path: '/dripping' });
    const long = ask(agent, server.origin);
    const paused = ask(agent, server.origin, { head: (control) => control.pause() }, { bodyTimeout: 700 });
    await Promise.all([silent.done, stopped.done]);
    const tookMs = performance.now() - begunAt;
    assert.ok(tookMs >= 400 && tookMs < 1_400, String(tookMs));
    assert.deepEqual(silent.log, ['start', 'fail HeadersTimeoutError']);
    assert.deepEqual(stopped.log, ['start', 'head 200', 'fail BodyTimeoutError']);
    await dripping.done;
    assert.deepEqual([dripping.log, String(dripping.body)], [ANSWERED, 'xxxxxxxxx']);
    assert.deepEqual(long.log, ['start', 'head 200']);
    await sleep(Math.max(0, begunAt + 1_250 - performance.now()));
    assert.deepEqual([paused.log, paused.body.length], [['start', 'head 200'], 0], 'pausing suspends the time');
    const resumedAt = performance.now();
    (await paused.begun).resume();
    await paused.done;
    assert.deepEqual([paused.log.at(-1), paused.body.length], ['fail BodyTimeoutError', 1]);
    assert.ok(performance.now() - resumedAt > 690, 'which begins anew with resume');
  });

  it('for its head is not longer where that comes in drips', async (t) => {
    const server = await startServer(t, ({ socket }) => {
      socket.write(OK);
      const timer = setInterval(() => socket.write('a: b\r\n'), 100);
      socket.on('close', () => clearInterval(timer));
    });
    const notes = ask(openAgent(t), server.origin, {}, { headersTimeout: 300 });
    await Promise.race([notes.done, sleep(1_500)]);
    assert.deepEqual(notes.log, ['start', 'fail HeadersTimeoutError']);
  });
});
