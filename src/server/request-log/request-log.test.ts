import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openLog } from '../platform/log.ts';
import { LiveRequestLogSubscribers, type RequestStore } from './request-log.ts';

const listener = (userId: number) => ({ userId, filter: {}, send: () => {}, keepAlive: () => {}, end: () => {} });
const isRefused = { code: 'too_many_streams' };

it('T46: an account has at most 32 live views, including those being opened', async () => {
  const store = { newestSeq: async () => 0, listWrittenAfter: async () => [] } as unknown as RequestStore;
  const views = new LiveRequestLogSubscribers(store, openLog('silent'));
  const open = (userId: number) => {
    views.assertCapacity(userId);
    return views.open(listener(userId));
  };
  const opening = Array.from({ length: 32 }, () => open(1));
  assert.throws(() => open(1), isRefused);
  await open(2);
  const [close] = await Promise.all(opening);
  assert.throws(() => open(1), isRefused);
  close?.();
  await open(1);
  views.close();
});

it('T46: a view that failed to open does not count', async () => {
  const store = { newestSeq: () => Promise.reject(new Error('down')) } as unknown as RequestStore;
  const views = new LiveRequestLogSubscribers(store, openLog('silent'));
  for (let index = 0; index < 40; index++) {
    views.assertCapacity(1);
    await assert.rejects(views.open(listener(1)), /down/);
  }
  assert.equal(views.size, 0);
});

it('a read that outlasts its views does not disturb the next one', async () => {
  const reads: number[] = [];
  let [newest, rows] = [Promise.resolve(1_000), Promise.resolve<{ seq: number }[]>([])];
  const store = {
    newestSeq: () => newest,
    listWrittenAfter: (after: number) => {
      reads.push(after);
      return rows;
    },
  } as unknown as RequestStore;
  const untilRead = async (): Promise<void> => {
    for (const { length } = reads; reads.length === length; ) await nextTurn();
  };
  const views = new LiveRequestLogSubscribers(store, openLog('silent'), 1);
  const close = await views.open(listener(1));
  const [slowRows, slowNewest] = [Promise.withResolvers<{ seq: number }[]>(), Promise.withResolvers<number>()];
  rows = slowRows.promise;
  await untilRead();
  close();
  newest = slowNewest.promise;
  const opening = views.open(listener(1));
  slowRows.resolve([{ seq: 1_001 }]);
  rows = Promise.resolve([]);
  await nextTurn();
  slowNewest.resolve(2_000);
  await opening;
  await untilRead();
  assert.equal(reads.at(-1), 1_800);
  views.close();
});
