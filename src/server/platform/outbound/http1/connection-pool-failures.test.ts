import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Connector } from '../undici-without-fetch.ts';
import { ANSWERED, answerWithPath, ask, connector, openAgent, startServer, turn, until } from './raw-server.fixture.ts';

describe('a connection that cannot be opened', () => {
  const target = 'http://127.0.0.1:9';
  const refused = new RangeError('refused');
  for (const [name, connect] of [
    ['fails later', (_, callback) => setImmediate(callback, refused, null)],
    ['fails at once', (_, callback) => callback(refused, null)],
    [
      'throws',
      () => {
        throw refused;
      },
    ],
  ] as [string, Connector][])
    it(`fails its request and no other, and takes no place: it ${name}`, async (t) => {
      const server = await startServer(t, answerWithPath);
      let attempts = 0;
      const real = connector();
      const agent = openAgent(t, 1, (to, callback) => (++attempts <= 3 ? connect(to, callback) : real(to, callback)));
      const notes = Array.from({ length: 6 }, (_, n) => ask(agent, server.origin, {}, { path: `/${n}` }));
      await Promise.all(notes.map(({ done }) => done));
      for (const { log } of notes.slice(0, 3)) assert.deepEqual(log, ['fail RangeError']);
      for (const { log } of notes.slice(3)) assert.deepEqual(log, ANSWERED);
      assert.deepEqual([attempts, server.sockets.length], [4, 1]);
      await turn();
      assert.equal(agent.isBusy, false);
    });

  it('is given up with the agent, with those that wait for it', async (t) => {
    const agent = openAgent(t, 1, () => {});
    const notes = [ask(agent, target), ask(agent, target)];
    assert.equal(agent.isBusy, true);
    agent.destroy();
    for (const { log } of notes) assert.deepEqual(log, ['fail ClientDestroyedError']);
  });

  it('is closed where it is opened only after the agent was destroyed', async (t) => {
    const server = await startServer(t, answerWithPath);
    const real = connector();
    const agent = openAgent(t, 1, (to, callback) =>
      real(to, (...result) => {
        agent.destroy();
        callback(...result);
      }),
    );
    const notes = ask(agent, server.origin);
    await notes.done;
    await until(() => server.sockets[0]?.readableEnded === true);
    assert.deepEqual([notes.log, server.sockets[0]?.readableEnded], [['fail ClientDestroyedError'], true]);
  });
});
