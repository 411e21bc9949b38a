import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openLog } from '../platform/log.ts';
import { BatchRunner } from './batch-runner.ts';

/** More steps than a batch takes in the time of the test. */
const SPINNING = 1_000;

it('a batch that waits does not spin when it is woken while the runner looks for others', async () => {
  let steps = 0;
  const looking = Promise.withResolvers<void>();
  const looks = [['batch_1'], looking.promise.then(() => [])];
  const batch = { id: 'batch_1', status: 'in_progress', paused_at: 0, expires_at: 1 };
  let owner = '';
  const store = {
    listUnheld: async () => looks.shift() ?? [],
    lease: async (_id: string, by: string) => {
      owner = by;
      return true;
    },
    renew: async () => true,
    release: async () => {},
    listSending: async () => [],
    // Ends the batch instead of blocking the event loop of the test for good.
    findById: async () => (++steps < SPINNING ? { ...batch, lease_owner: owner } : undefined),
  };
  const dependencies = { store, clock: { now: () => 0 }, log: openLog('silent') };
  const runner = new BatchRunner(dependencies as unknown as ConstructorParameters<typeof BatchRunner>[0]);
  runner.start();
  await pause(20);
  assert.equal(steps, 1);
  runner.wake();
  await pause(20);
  assert.equal(looks.length, 0, 'the runner looks');
  assert.equal(steps, 2, 'each wake-up is one step');
  runner.wake();
  await pause(20);
  assert.equal(steps, 3);
  looking.resolve();
  await runner.stop(1_000);
});

it('a line whose outcome cannot be stored is not sent again at once', async () => {
  const input = Buffer.from(JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/videos', body: {} }));
  const batch = { id: 'batch_1', status: 'in_progress', paused_at: null, expires_at: Infinity, retry_at: 0 };
  let owner = '';
  let sends = 0;
  let steps = 0;
  let now = 1;
  const store = {
    listUnheld: async () => (owner === '' ? ['batch_1'] : []),
    lease: async (_id: string, by: string) => {
      owner = by;
      return true;
    },
    renew: async () => true,
    release: async () => {},
    async findById() {
      steps++;
      return { ...batch, endpoint: '/v1/videos', lease_owner: owner };
    },
    listSending: async () => [],
    listWaiting: async () => [],
    listEnded: async () => [],
    listUnsettled: async () => [],
    listPending: async () => [{ batch_id: 'batch_1', line: 1, start: 0, bytes: input.length }],
    countIn: async (_id: string, [state]: string[]) => (state === 'pending' ? 1 : 0),
    // The disk is full.
    changeHeld: async () => {
      throw new Error('not stored');
    },
  };
  const sender = {
    async send() {
      sends++;
      await pause(1);
      return { retryAfterMs: 1_000 };
    },
  };
  const files = { open: async () => ({ body: Readable.from([input]) }) };
  const dependencies = { store, sender, files, database: {}, clock: { now: () => now }, log: openLog('silent') };
  const runner = new BatchRunner(dependencies as unknown as ConstructorParameters<typeof BatchRunner>[0]);
  runner.start();
  while (sends < 1) await pause(1);
  for (let woken = 0; woken < 10; woken++) {
    runner.wake();
    for (const before = steps; steps === before; ) await pause(1);
  }
  assert.equal(sends, 1);
  now += 60_000;
  runner.wake();
  while (sends < 2) await pause(1);
  await runner.stop(1_000);
});
