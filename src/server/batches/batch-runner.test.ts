import assert from 'node:assert/strict';
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
