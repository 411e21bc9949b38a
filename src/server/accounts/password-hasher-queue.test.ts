import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { it } from 'node:test';
import { CHEAP_PASSWORD_HASHING } from '../../../test/cheap-password-hashing.ts';
import { AppError } from '../platform/app-error.ts';
import { PasswordHasher } from './passwords.ts';

it('hashes a few passwords at a time, queues others in order and rejects those beyond the queue', async () => {
  const hasher = new PasswordHasher(CHEAP_PASSWORD_HASHING);
  const gate = Promise.withResolvers<void>();
  const order: number[] = [];
  let running = 0;
  let most = 0;
  const enter = (index: number) =>
    hasher.withPermit(async () => {
      running += 1;
      most = Math.max(most, running);
      await gate.promise;
      order.push(index);
      running -= 1;
    });
  const outcomes: Promise<unknown>[] = [];
  const refused: unknown[] = [];
  for (let index = 0; refused.length === 0; index++) {
    assert.ok(index < 1_000, 'there is a bound');
    outcomes.push(enter(index).catch((error: unknown) => refused.push(error)));
    await Promise.resolve();
    await Promise.resolve();
  }
  const permits = running;
  assert.ok(permits >= 1 && permits <= availableParallelism());
  assert.equal(outcomes.length - 1 - permits, 64, 'so many may wait');
  const [error] = refused;
  assert.ok(error instanceof AppError && error.code === 'unavailable' && error.options.retryAfterSeconds === 2);
  gate.resolve();
  await Promise.all(outcomes);
  assert.equal(most, permits);
  assert.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
  );
  assert.equal(order.length, permits + 64);
  await enter(-1);
  assert.equal(await hasher.verify('x', await hasher.hash('x')), true, 'the places are free again');
});
