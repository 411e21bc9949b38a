import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { KeyedByteBudget } from './body.ts';

const { signal } = new AbortController();

it('blocks only the exhausted key, keeps its order, and admits a single oversized item alone', async () => {
  const budget = new KeyedByteBudget(10, 100);
  const order: string[] = [];
  const take = async (name: string, key: string, bytes: number) => {
    const release = await budget.acquire(key, bytes, signal);
    order.push(name);
    return release;
  };
  const first = await take('first', 'a', 30);
  const second = take('second', 'a', 6);
  const third = take('third', 'a', 6);
  (await take('other', 'b', 5))();
  assert.deepEqual(order, ['first', 'other']);
  first();
  first();
  const release = await second;
  await nextTurn();
  assert.deepEqual(order, ['first', 'other', 'second']);
  release();
  (await third)();
  assert.deepEqual(order, ['first', 'other', 'second', 'third']);
});

it('limits all keys together, and drops waiters that left', async () => {
  const budget = new KeyedByteBudget(10, 15);
  const release = await budget.acquire('a', 10, signal);
  const leaving = new AbortController();
  const left = budget.acquire('b', 10, leaving.signal);
  leaving.abort(new Error('gone'));
  await assert.rejects(left, /gone/);
  const next = budget.acquire('c', 10, signal);
  release();
  (await next)();
  (await budget.acquire('b', 15, signal))();
});

it('counts the bytes a key still holds, and reports whether any request waits', async () => {
  const budget = new KeyedByteBudget(10, 100);
  const [first] = [await budget.acquire('a', 4, signal), await budget.acquire('a', 4, signal)];
  first();
  let isTaken = false;
  assert.equal(budget.isWaitedFor, false);
  const leaving = new AbortController();
  const waiting = budget.acquire('a', 7, leaving.signal).then(() => {
    isTaken = true;
  });
  await nextTurn();
  assert.deepEqual([isTaken, budget.isWaitedFor], [false, true]);
  leaving.abort(new Error('gone'));
  await assert.rejects(waiting, /gone/);
  assert.equal(budget.isWaitedFor, false);
  await assert.rejects(budget.acquire('b', 1, AbortSignal.abort(new Error('gone before'))), /gone before/);
});

it('admits items of a key in order even if a later one would fit, and an oversized one alone', async () => {
  const budget = new KeyedByteBudget(10, 20);
  const alone = await budget.acquire('a', 30, signal);
  const started: string[] = [];
  const acquire = async (name: string, key: string, bytes: number) => {
    const release = await budget.acquire(key, bytes, signal);
    started.push(name);
    return release;
  };
  const [half, large, small] = [acquire('half', 'b', 6), acquire('large', 'b', 8), acquire('small', 'b', 2)];
  await nextTurn();
  assert.deepEqual(started, []);
  alone();
  const releaseHalf = await half;
  await nextTurn();
  assert.deepEqual(started, ['half']);
  releaseHalf();
  await Promise.all([large, small]);
  assert.deepEqual(started, ['half', 'large', 'small']);
});
