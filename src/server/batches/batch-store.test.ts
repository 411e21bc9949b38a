import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { batchRow } from '../../../test/batches/batch-row.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { type BatchRow, BatchStore } from './batch-store.ts';

const LINE = { start: 0, bytes: 1 };

describe('SQL of batches', () => {
  forEachDatabase((_name, open) => {
    /** A store with running batches `a`, of a budget of 10, and `b` of one account, each with three lines. */
    const start = async () => {
      const database = await open();
      const store = new BatchStore(database);
      await database.transaction(async (trx) => {
        for (const [index, id] of ['a', 'b'].entries()) {
          await store.insert(trx, batchRow(id, 1, { status: 'in_progress', budget: 10, created_at: index + 1 }));
          const lines = [1, 2, 3].map((line) => ({ ...LINE, line, custom_id: `${id}${line}` }));
          await store.insertLines(trx, id, lines);
        }
      });
      const row = async (id: string): Promise<BatchRow> => (await store.findById(id)) ?? assert.fail(id);
      const both = async <K extends keyof BatchRow>(key: K): Promise<BatchRow[K][]> => [
        (await row('a'))[key],
        (await row('b'))[key],
      ];
      return { database, store, both };
    };

    it('leases a batch to one process until its time is over, and each batch by itself', async () => {
      const { store, both } = await start();
      assert.deepEqual(await store.listUnheld(100, 9), ['a', 'b']);
      assert.equal(await store.lease('a', 'one', 100, 200), true);
      assert.deepEqual(await both('lease_owner'), ['one', null]);
      assert.deepEqual([await store.lease('a', 'two', 199, 300), await store.listUnheld(199, 9)], [false, ['b']]);
      assert.deepEqual([await store.renew('a', 'two', 900), await store.renew('a', 'one', 250)], [false, true]);
      assert.deepEqual(await both('lease_until'), [250, 0]);
      await store.release('a', 'two', 210);
      assert.deepEqual(await both('lease_until'), [250, 0]);
      assert.equal(await store.lease('a', 'two', 250, 300), true, 'at the end of the lease');
      assert.equal(await store.renew('a', 'one', 400), false);
      await store.release('a', 'two', 260);
      assert.deepEqual(await both('lease_until'), [260, 0]);
      assert.deepEqual([await store.listUnheld(259, 9), await store.listUnheld(260, 9)], [['b'], ['b', 'a']]);
      assert.deepEqual(await store.listUnheld(260, 1), ['b']);
    });

    it('leases no batch that has ended', async () => {
      const { database, store } = await start();
      assert.equal(await store.change(database.kysely, 'a', ['in_progress'], { status: 'completed' }), true);
      assert.deepEqual([await store.lease('a', 'one', 100, 200), await store.listUnheld(100, 9)], [false, ['b']]);
      assert.equal(await store.countUnfinished(1), 1);
      assert.equal(await store.countUnfinished(2), 0);
    });

    it('changes one batch, in one of the given statuses, and while it is held by the process if it must be', async () => {
      const { database, store, both } = await start();
      const { kysely } = database;
      assert.equal(await store.change(kysely, 'a', ['validating', 'failed'], { paused_at: 7 }), false);
      assert.equal(await store.change(kysely, 'a', ['validating', 'in_progress'], { paused_at: 7 }), true);
      assert.deepEqual(await both('paused_at'), [7, null]);
      await store.lease('a', 'one', 100, 200);
      await store.lease('b', 'one', 100, 200);
      const held = (owner: string, status: BatchRow['status']) =>
        store.changeHeld(kysely, { id: 'a', owner }, [status], { retry_at: 9 });
      assert.deepEqual(
        [await held('two', 'in_progress'), await held('one', 'failed'), await held('one', 'in_progress')],
        [false, false, true],
      );
      assert.deepEqual(await both('retry_at'), [9, 0]);
    });

    it('spends a budget to its last unit, for the process that holds the batch, while lines may start', async () => {
      const { database, store, both } = await start();
      for (const id of ['a', 'b']) await store.lease(id, 'one', 100, 200);
      const spend = (amount: number, owner = 'one') =>
        database.transaction((trx) => store.spend(trx, { id: 'a', owner }, amount));
      assert.deepEqual(
        [await spend(6, 'two'), await spend(6), await spend(5), await spend(4), await spend(1)],
        [false, true, false, true, false],
      );
      assert.deepEqual(await both('spent'), [10, 0]);
      await database.transaction((trx) => store.unspend(trx, 'a', 3));
      assert.deepEqual(await both('spent'), [7, 0]);
      await store.change(database.kysely, 'a', ['in_progress'], { status: 'cancelling' });
      assert.equal(await spend(1), false);
      await store.change(database.kysely, 'a', ['cancelling'], { status: 'in_progress', budget: null });
      assert.equal(await spend(1_000), true);
    });

    it('moves a line once, and counts its end in its own batch', async () => {
      const { database, store, both } = await start();
      const move = (from: Parameters<BatchStore['moveLine']>[2], set: Parameters<BatchStore['moveLine']>[3]) =>
        database.transaction((trx) => store.moveLine(trx, { batch_id: 'a', line: 2 }, from, set));
      const sending = { state: 'sending', owner: 'one', ref: 'r1', amount: 4 } as const;
      assert.deepEqual(
        [await move({ states: ['pending'] }, sending), await move({ states: ['pending'] }, sending)],
        [true, false],
      );
      assert.deepEqual(
        (await store.listPending('a', 0, 9)).map(({ line }) => line),
        [1, 3],
      );
      assert.deepEqual(
        (await store.listPending('a', 1, 9)).map(({ line }) => line),
        [3],
      );
      assert.deepEqual(
        (await store.listPending('b', 0, 2)).map(({ line }) => line),
        [1, 2],
      );
      assert.deepEqual(
        (await store.listSending('a', 9)).map(({ line }) => line),
        [2],
      );
      const ended = { state: 'completed', result: 'done' } as const;
      const states = ['sending'] as const;
      assert.equal(await move({ states, owner: 'two' }, ended), false);
      assert.equal(await move({ states, owner: 'one', ref: 'r2' }, ended), false);
      assert.equal(await move({ states, owner: 'one', ref: 'r1' }, ended), true);
      assert.deepEqual(
        (await store.listUnsettled('a', 9)).map(({ line }) => line),
        [2],
      );
      const settle = () => move({ states: ['completed'], isSettled: 0 }, { is_settled: 1 });
      assert.deepEqual([await settle(), await settle()], [true, false]);
      assert.deepEqual(await store.listUnsettled('a', 9), []);
      const usage = { input_tokens: 1, cached_tokens: 2, output_tokens: 3, reasoning_tokens: 4 };
      await database.transaction((trx) => store.countEnd(trx, 'a', { state: 'completed', usage, released: 0 }));
      await database.transaction((trx) => store.countEnd(trx, 'a', { state: 'failed', released: 0 }));
      assert.deepEqual(
        [await both('completed'), await both('failed')],
        [
          [1, 0],
          [1, 0],
        ],
      );
      assert.deepEqual(
        [
          await both('input_tokens'),
          await both('cached_tokens'),
          await both('output_tokens'),
          await both('reasoning_tokens'),
        ],
        [
          [1, 0],
          [2, 0],
          [3, 0],
          [4, 0],
        ],
      );
      assert.deepEqual([await store.countIn('a', ['pending']), await store.countIn('b', ['pending'])], [2, 3]);
      const failed = await database.transaction((trx) =>
        store.failPending(
          trx,
          'a',
          [1, 2].map((line) => ({ line, result: 'late' })),
        ),
      );
      assert.deepEqual([failed, await both('failed')], [1, [2, 0]]);
      assert.deepEqual(await store.listResults('a', 'completed', 0, 9), [{ line: 2, result: 'done' }]);
      assert.deepEqual(await store.listResults('a', 'completed', 2, 9), []);
      assert.deepEqual(
        (await store.listLines('a', 0, 9, ['failed', 'pending'])).map(({ line }) => line),
        [1, 3],
      );
      assert.deepEqual(
        (await store.listLines('a', 1, 9)).map(({ line }) => line),
        [2, 3],
      );
      await store.deleteLines(database.kysely, 'a');
      assert.deepEqual([await store.listLines('a', 0, 9), (await store.listLines('b', 0, 9)).length], [[], 3]);
    });

    it('lets one of two repetitions take the place of the former', async () => {
      const { database, store, both } = await start();
      const retry = (before: string | null, after: string) =>
        database.transaction((trx) => store.claimRetry(trx, { id: 'a', retried_as: before }, after));
      assert.deepEqual([await retry(null, 'x'), await retry(null, 'y'), await retry('x', 'z')], [true, false, true]);
      assert.deepEqual(await both('retried_as'), ['z', null]);
    });

    it('shows an account its own batches, newest first, and members of an organization only theirs', async () => {
      const { database, store } = await start();
      await database.transaction(async (trx) => {
        await store.insert(trx, batchRow('c', 1, { created_at: 2, actor_id: 5 }));
        await store.insert(trx, batchRow('d', 1, { created_at: 3, actor_id: 6 }));
        await store.insert(trx, batchRow('foreign', 2, { created_at: 9 }));
      });
      const ids = async (...list: Parameters<BatchStore['list']>) => (await store.list(...list)).map(({ id }) => id);
      assert.deepEqual(await ids({ userId: 1 }, undefined, 9), ['d', 'c', 'b', 'a']);
      assert.deepEqual(await ids({ userId: 1 }, 'c', 9), ['b', 'a'], 'of the same millisecond, by id');
      assert.deepEqual(await ids({ userId: 1 }, 'd', 1), ['c']);
      assert.deepEqual(await ids({ userId: 1 }, 'foreign', 9), []);
      assert.deepEqual(await ids({ userId: 1, actorId: 5 }, undefined, 9), ['c']);
      assert.equal(await store.find({ userId: 1, actorId: 5 }, 'd'), undefined);
      assert.deepEqual(await store.findOwner((await store.findById('c')) ?? assert.fail()), { userId: 1, actorId: 5 });
      assert.deepEqual(await store.findOwner((await store.findById('a')) ?? assert.fail()), { userId: 1 });
    });
  });
});
