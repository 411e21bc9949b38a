import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Semaphore } from '../concurrency.ts';

describe('Semaphore', () => {
  it('lets waiters queue in order, and passes a slot from one holder to the next', async () => {
    const semaphore = new Semaphore(2, 2);
    const [one, two] = [await semaphore.acquire(1_000), await semaphore.acquire(1_000)];
    assert.equal(semaphore.holders, 2);
    const order: string[] = [];
    const enter = async (name: string) => {
      const leave = await semaphore.acquire(60_000);
      order.push(name);
      return leave;
    };
    const third = enter('third');
    const fourth = enter('fourth');
    assert.equal(await semaphore.acquire(60_000), undefined, 'two may wait, and no more');
    one?.();
    one?.();
    const leaveThird = await third;
    assert.equal(semaphore.holders, 2);
    assert.deepEqual(order, ['third'], 'leaving twice frees one place');
    two?.();
    const leaveFourth = await fourth;
    leaveThird?.();
    leaveFourth?.();
    assert.deepEqual(order, ['third', 'fourth']);
    assert.equal(semaphore.holders, 0);
    assert.ok(await semaphore.acquire(0));
    assert.equal(semaphore.holders, 1);
  });

  it('loses no slot when several are released before a waiter continues', async () => {
    const semaphore = new Semaphore(2, 2);
    const [one, two] = [await semaphore.acquire(1_000), await semaphore.acquire(1_000)];
    const waiting = semaphore.acquire(60_000);
    one?.();
    two?.();
    const leave = await waiting;
    assert.equal(semaphore.holders, 1);
    leave?.();
    assert.equal(semaphore.holders, 0);
  });

  it('admits no waiter after its timeout, and keeps no slot for it', async () => {
    const semaphore = new Semaphore(1, 1);
    const leave = await semaphore.acquire(0);
    assert.equal(await semaphore.acquire(1), undefined);
    const next = semaphore.acquire(60_000);
    leave?.();
    (await next)?.();
    assert.equal(semaphore.holders, 0);
  });
});
