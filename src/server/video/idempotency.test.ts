import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { insertTask } from '../../../test/video/task-fixture.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import { isAppError } from '../platform/app-error.ts';
import { manualClock } from '../platform/clock.ts';
import { type ClaimKeyInTransaction, Idempotency, type IdempotencyClaim } from './idempotency.ts';
import { type SubmitResult, TaskStore } from './task-store.ts';

const CLAIM = { scope: 1, key: 'key', requestHash: 'hash of a cat' };

describe('a submit whose response fails', () => {
  forEachDatabase((_name, open) => {
    async function setUp() {
      const database = await open();
      const clock = manualClock();
      const submits: string[] = [];
      /** Stores a task with its key, in the state it has when the response fails. */
      const submit =
        (id: string, status: 'NOT_START' | 'SUBMITTED' | 'FAILURE') => async (claimKey: ClaimKeyInTransaction) => {
          submits.push(id);
          await insertTask(database, { id, status });
          await database.transaction((trx) => claimKey(trx, id));
          throw new Error('the database went away');
        };
      const once = (work: (claimKey: ClaimKeyInTransaction) => Promise<SubmitResult>) =>
        new Idempotency(database, new TaskStore(database), clock).runOnce(CLAIM, work);
      return { database, clock, submits, submit, once };
    }

    it('T84: keeps its key while its task may still succeed, so that a second submit starts nothing', async () => {
      const { clock, submits, submit, once } = await setUp();
      await assert.rejects(once(submit('task_a', 'SUBMITTED')), /went away/);
      const again = () => once(submit('task_b', 'SUBMITTED'));
      await assert.rejects(again(), (error) => isAppError(error, 'idempotency_in_progress'));
      clock.advance(8_001);
      assert.equal((await again()).task.public_id, 'task_a');
      assert.deepEqual(submits, ['task_a']);
    });

    it('counts as in progress while its process renews the lease, however long it takes', async (t) => {
      const { database, clock, once, submit } = await setUp();
      t.mock.timers.enable({ apis: ['setInterval'] });
      const vendor = Promise.withResolvers<SubmitResult>();
      const began = Promise.withResolvers<void>();
      const slow = once(async (claimKey) => {
        await insertTask(database, { id: 'task_slow', status: 'NOT_START' });
        await database.transaction((trx) => claimKey(trx, 'task_slow'));
        began.resolve();
        return vendor.promise;
      });
      await began.promise;
      const aliveUntil = async () =>
        (await database.kysely.selectFrom('idempotency_keys').select('alive_until').executeTakeFirstOrThrow())
          .alive_until;
      for (let passed = 0; passed < 30_000; passed += 2_500) {
        clock.advance(2_500);
        t.mock.timers.tick(2_500);
        while ((await aliveUntil()) < clock.now() + 8_000) await nextTurn();
      }
      // Acts as another process.
      const other = new Idempotency(database, new TaskStore(database), clock);
      const again = other.runOnce(CLAIM, submit('task_b', 'SUBMITTED'));
      await assert.rejects(again, (error) => isAppError(error, 'idempotency_in_progress'));
      vendor.reject(new Error('the vendor went away'));
      await assert.rejects(slow, /vendor went away/);
    });

    it('counts for the time of its claim', async () => {
      const { database, clock, submits, submit } = await setUp();
      const claim = { ...CLAIM, ttlMs: 600_000 };
      const once = (id: string) =>
        new Idempotency(database, new TaskStore(database), clock).runOnce(claim, submit(id, 'SUBMITTED'));
      await assert.rejects(once('task_a'), /went away/);
      clock.advance(599_999);
      assert.equal((await once('task_b')).task.public_id, 'task_a');
      clock.advance(1);
      await assert.rejects(once('task_c'), /went away/);
      assert.deepEqual(submits, ['task_a', 'task_c']);
    });

    it('leaves no key behind when its task failed', async () => {
      const { submits, submit, once } = await setUp();
      await assert.rejects(once(submit('task_a', 'FAILURE')), /went away/);
      await assert.rejects(once(submit('task_b', 'FAILURE')), /went away/);
      assert.deepEqual(submits, ['task_a', 'task_b']);
    });

    it('never changes the key when another submit has claimed it in the meantime', async () => {
      const { database, submits, submit, once } = await setUp();
      const undone = async (claimKey: ClaimKeyInTransaction) => {
        await database
          .transaction(async (trx) => {
            await claimKey(trx, 'task_undone');
            throw new Error('rolled back');
          })
          .catch(() => {});
        await assert.rejects(once(submit('task_b', 'NOT_START')), /went away/);
        throw new Error('and told late');
      };
      await assert.rejects(once(undone), /told late/);
      await assert.rejects(once(submit('task_c', 'NOT_START')), (error) => isAppError(error));
      assert.deepEqual(submits, ['task_b']);
    });
  });
});

describe('an Idempotency-Key', () => {
  forEachDatabase((_name, open) => {
    const resultOf = (public_id: string): SubmitResult => ({
      task: {
        ...{ public_id, vendor: 'kling', model: 'm', status: 'SUBMITTED', created_at: 1 },
        ...{ handle: null, external_id: null },
      },
      raw: null,
    });
    async function setUp() {
      const database = await open();
      const clock = manualClock();
      const keys = new Idempotency(database, new TaskStore(database), clock);
      let count = 0;
      /** Submits a video and returns the id of its task, which are numbered. */
      const submit = async (claim: IdempotencyClaim = CLAIM): Promise<string> => {
        const { task } = await keys.runOnce(claim, async (claimKey) => {
          const id = `task_${++count}`;
          await database.transaction((trx) => claimKey(trx, id));
          return resultOf(id);
        });
        return task.public_id;
      };
      return { database, clock, keys, submit };
    }

    it('returns the first result for a day, and then belongs to a new submit', async () => {
      const { clock, keys, submit } = await setUp();
      assert.deepEqual([await submit(), await submit()], ['task_1', 'task_1']);
      clock.advance(DAY_MS - 1);
      await keys.removeExpired();
      assert.equal(await submit(), 'task_1');
      await assert.rejects(submit({ ...CLAIM, requestHash: 'hash of a dog' }), /idempotency_mismatch/);
      clock.advance(1);
      assert.deepEqual([await submit(), await submit()], ['task_2', 'task_2']);
    });

    it('is independent of other keys and of those of other owners, in use, expiry and deletion', async () => {
      const { database, clock, keys, submit } = await setUp();
      const claims = [CLAIM, { ...CLAIM, scope: 2 }, { ...CLAIM, key: 'other' }, { ...CLAIM, key: 'brief', ttlMs: 9 }];
      const submitAll = async () => {
        const ids: string[] = [];
        for (const claim of claims) ids.push(await submit(claim));
        return ids;
      };
      assert.deepEqual(await submitAll(), ['task_1', 'task_2', 'task_3', 'task_4']);
      clock.advance(9);
      assert.deepEqual(await submitAll(), ['task_1', 'task_2', 'task_3', 'task_5']);
      clock.advance(DAY_MS - 8);
      await keys.removeExpired();
      const left = await database.kysely.selectFrom('idempotency_keys').select('task_id').execute();
      assert.deepEqual(left, [{ task_id: 'task_5' }]);
    });
  });
});
