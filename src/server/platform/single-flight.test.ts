import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SingleFlight } from './concurrency.ts';

it('shares a running operation and does not cache failures', async () => {
  const flight = new SingleFlight<number>();
  let runs = 0;
  const work = async (): Promise<number> => {
    await new Promise((resolve) => setImmediate(resolve));
    return ++runs;
  };
  assert.deepEqual(await Promise.all([flight.run('a', work), flight.run('a', work), flight.run('b', work)]), [1, 1, 2]);
  assert.equal(await flight.run('a', work), 3);
  await assert.rejects(
    flight.run('a', async () => Promise.reject(new Error('once'))),
    /once/,
  );
  assert.equal(await flight.run('a', work), 4);
});
