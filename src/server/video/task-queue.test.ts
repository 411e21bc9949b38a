import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { insertAccounts } from '../../../test/accounts/insert-accounts.ts';
import { assertLedgerConsistent } from '../../../test/faults/ledger-assertions.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { openLedger } from '../../../test/ledger-fixture.ts';
import { makePoller } from '../../../test/video/poller-fixture.ts';
import { insertTask } from '../../../test/video/task-fixture.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import { AppError } from '../platform/app-error.ts';
import { manualClock } from '../platform/clock.ts';
import { openLog } from '../platform/log.ts';
import { TaskQueueStore } from './queue-store.ts';
import { TaskQueue } from './task-queue.ts';
import type { Task } from './task-store.ts';

const CHANNEL = { id: 1, credentialId: 1 };
const TIMES = { now: 10, nextPollAt: 20 };

const REQUEST = { json: '{"prompt":"a cat","images":[]}', parts: [] };

const rowOf = ({ id: task_id, user_id, token_id, vendor, model, created_at }: Task) =>
  ({ task_id, user_id, token_id, vendor, model, channels: '1', level: 0, created_at, lane: 'vendor:kling' }) as const;

/** What another process does with a video that this one is about to start. */
type OtherProcess = (queued: TaskQueueStore) => Promise<void>;

forEachDatabase((_name, open) => {
  /** A queue that looks at its only video just when another process has started it. */
  const startsTogether = async (thenOther: OtherProcess) => {
    const database = await open();
    const { store, task } = await insertTask(database, { channel_id: null, next_poll_at: null });
    const queued = new TaskQueueStore(database);
    const { id: task_id } = task;
    await database.transaction((trx) => queued.insert(trx, rowOf(task), REQUEST));
    const [head] = await queued.findAll([task_id]);
    assert.ok(head !== undefined);
    const looked = Promise.withResolvers<void>();
    const findById = async (id: string): Promise<Task | undefined> => {
      await database.transaction(async (trx) => {
        assert.ok(await queued.take(trx, head));
        assert.ok(await queued.start(trx, task_id, CHANNEL, TIMES));
      });
      const found = await store.findById(id);
      await thenOther(queued);
      looked.resolve();
      return found;
    };
    const stopped = () => {
      throw new Error('the video is another process’s to start');
    };
    const queue = new TaskQueue({
      ...{ database, store: { findById }, clock: { now: () => 30 }, log: openLog('silent') },
      completion: { onEnded: () => {}, failWaiting: stopped },
      channels: { model: stopped },
    } as unknown as ConstructorParameters<typeof TaskQueue>[0]);
    const putBack = () =>
      database.transaction(async (trx) => {
        assert.ok(await queued.stop(trx, task_id, 1, 25));
        await queued.putBack(trx, head, 0);
      });
    return { queue, queued, task_id, looked: looked.promise, putBack };
  };

  it('refunds a video that waits but lost its place, and none that has one', async () => {
    const database = await open();
    await insertAccounts(database, [1]);
    const clock = manualClock();
    const ledger = openLedger(database, undefined, clock);
    await ledger.open(1, 10_000);
    const created_at = clock.now();
    const waiting = { channel_id: null, next_poll_at: null, price: 700, created_at };
    const queued = new TaskQueueStore(database);
    for (const id of ['task_1', 'task_2']) {
      await ledger.reserve(id, 1, 700);
      const { task } = await insertTask(database, { ...waiting, id });
      if (id === 'task_2') await database.transaction((trx) => queued.insert(trx, rowOf(task), REQUEST));
    }
    const { completion, store } = makePoller(database, ledger.quota, clock);
    const queue = new TaskQueue({
      ...{ database, store, clock, completion, log: openLog('silent') },
    } as unknown as ConstructorParameters<typeof TaskQueue>[0]);
    const states = async () => [(await store.findById('task_1'))?.status, (await store.findById('task_2'))?.status];
    await queue.maintain();
    assert.deepEqual(await states(), ['NOT_START', 'NOT_START'], 'a video that is just being stored');
    clock.advance(2 * HOUR_MS);
    await queue.maintain();
    assert.deepEqual(await states(), ['FAILURE', 'NOT_START']);
    await assertLedgerConsistent(database);
    assert.equal((await ledger.store.openRefs(clock.now(), 'task_', 10)).length, 1);
  });

  it('sends a video later whose files cannot be read for now', async () => {
    const database = await open();
    await insertAccounts(database, [1]);
    const { store, task } = await insertTask(database, { channel_id: null, next_poll_at: null });
    const queued = new TaskQueueStore(database);
    const { id: task_id, vendor, model } = task;
    await database.transaction((trx) => queued.insert(trx, rowOf(task), REQUEST));
    const clock = manualClock();
    const errors = [new AppError('unavailable'), new Error('the disk has failed')];
    const renewed: number[] = [];
    let failed = false;
    const sent = Promise.withResolvers<void>();
    const queue = new TaskQueue({
      ...{ database, store, clock, log: openLog('silent'), syncPeriodMs: 1_000 },
      completion: {
        onEnded: () => {},
        fail: async () => {
          failed = true;
        },
      },
      channels: { model: async () => ({ id: model, vendor }), candidates: async () => [CHANNEL] },
      vendors: { get: () => ({ models: [] }) },
      slots: { take: async () => true },
      limits: { keyLimits: async () => undefined, limitsOf: async () => ({}), findExceeded: async () => undefined },
      findPlanTerms: async () => undefined,
      inputs: {
        renew: async (each: unknown) => {
          renewed.push(clock.now());
          const error = errors.shift();
          if (error !== undefined) throw error;
          return each;
        },
      },
      attempts: {
        run: async () => {
          sent.resolve();
          return { task: { handle: '"job"' } };
        },
      },
    } as unknown as ConstructorParameters<typeof TaskQueue>[0]);
    queue.start();
    for (const tries of [1, 2]) {
      const waitsAgain = async () => renewed.length === tries && (await queued.findAll([task_id])).length === 1;
      while (!failed && !(await waitsAgain())) await pause(10);
      assert.ok(!failed, 'the failure passes');
      clock.advance(60_000);
    }
    await sent.promise;
    await queue.stop();
    assert.equal(renewed.length, 3);
    assert.equal(await queued.readRequest(task_id), undefined);
  });

  it('starts the videos behind one whose start fails unexpectedly, and tries that one again later', async () => {
    const database = await open();
    await insertAccounts(database, [1, 2]);
    const waiting = { channel_id: null, next_poll_at: null };
    const { store, task: broken } = await insertTask(database, { ...waiting, id: 'task_1', user_id: 1 });
    const { task: sound } = await insertTask(database, { ...waiting, id: 'task_2', user_id: 2 });
    const queued = new TaskQueueStore(database);
    for (const task of [broken, sound]) await database.transaction((trx) => queued.insert(trx, rowOf(task), REQUEST));
    const clock = manualClock();
    const sent: string[] = [];
    let plans = 0;
    const queue = new TaskQueue({
      ...{ database, store, clock, log: openLog('silent'), syncPeriodMs: 1_000 },
      completion: { onEnded: () => {} },
      channels: {
        model: async () => ({ id: broken.model, vendor: broken.vendor }),
        candidates: async () => [CHANNEL],
      },
      vendors: { get: () => ({ models: [] }) },
      slots: { take: async () => true },
      limits: { keyLimits: async () => undefined, limitsOf: async () => ({}), findExceeded: async () => undefined },
      findPlanTerms: async (userId: number) => {
        if (userId === 1 && plans++ === 0) throw new Error('a defect');
      },
      inputs: { renew: async (each: unknown) => each },
      attempts: {
        run: async ({ task }: { readonly task: Task }) => {
          sent.push(task.id);
          return { task: { handle: '"job"' } };
        },
      },
    } as unknown as ConstructorParameters<typeof TaskQueue>[0]);
    queue.start();
    while (sent.length < 1) await pause(10);
    assert.deepEqual(sent, ['task_2']);
    clock.advance(60_000);
    while (sent.length < 2) await pause(10);
    await queue.stop();
    assert.deepEqual(sent, ['task_2', 'task_1']);
  });

  it('keeps the request of a video that another process has just started, for a later attempt', async () => {
    const { queue, queued, task_id, looked } = await startsTogether(async () => {});
    queue.start();
    await looked;
    await queue.stop();
    assert.equal((await queued.readRequest(task_id))?.json, REQUEST.json);
  });

  it('keeps a video waiting that another process started and whose vendor had no room', async () => {
    let putBack = async () => {};
    const together = await startsTogether(() => putBack());
    const { queue, queued, task_id, looked } = together;
    putBack = together.putBack;
    queue.start();
    await looked;
    await queue.stop();
    assert.equal((await queued.findAll([task_id])).length, 1);
    assert.equal((await queued.readRequest(task_id))?.json, REQUEST.json);
  });
});
