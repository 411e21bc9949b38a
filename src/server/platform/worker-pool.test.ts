import assert from 'node:assert/strict';
import { it } from 'node:test';
import { WorkerPool } from '../accounts/passwords.ts';

const MODULE = `data:text/javascript,${encodeURIComponent(`
import { threadId } from 'node:worker_threads';
export function work(how) {
  if (how === 'throw') throw new RangeError('too much');
  if (how === 'crash') setImmediate(() => { throw new Error('crashed'); });
  return how === 'crash' ? new Promise(() => {}) : threadId;
}`)}`;
const makePool = (maxThreads: number) =>
  new WorkerPool<[how: string], number>({ module: MODULE, name: 'work', maxThreads });

it('runs calls on at most the given number of other threads', async () => {
  const pool = makePool(2);
  const threads = await Promise.all(Array.from({ length: 20 }, () => pool.run('answer')));
  assert.ok(threads.every((thread) => thread > 0));
  assert.ok(new Set(threads).size <= 2);
  assert.ok(threads.includes(await pool.run('answer')), 'an idle thread is used again');
});

it('rejects with the error of the function, and keeps the thread', async () => {
  const pool = makePool(1);
  const thread = await pool.run('answer');
  await assert.rejects(pool.run('throw'), RangeError);
  assert.equal(await pool.run('answer'), thread);
});

it('rejects the call of a thread that ends, and serves the waiting ones with another', async () => {
  const pool = makePool(1);
  const crashed = assert.rejects(pool.run('crash'), /crashed/);
  const waiting = pool.run('answer');
  await crashed;
  assert.ok((await waiting) > 0);
});
