import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import { manualClock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import { type ClaimKeyInTransaction, Idempotency, type IdempotencyClaim } from './idempotency.ts';
import type { SubmitResult, Task } from './task-store.ts';

const CLAIM: IdempotencyClaim = { scope: 7, key: 'once', requestHash: 'a' };
const SECOND_MS = 1_000;

/** The end of the only key's lease, Unix milliseconds. */
const aliveUntil = async ({ kysely }: Database<Tables>): Promise<number> =>
  (await kysely.selectFrom('idempotency_keys').select('alive_until').executeTakeFirstOrThrow()).alive_until;

describe('Idempotency-Key', () => {
  forEachDatabase((_name, open) => {
    /** Two processes on one database, whose tasks are in `stored`, and a function that submits a video. */
    const start = async () => {
      const database = await open();
      const clock = manualClock();
      const stored = new Map<string, Task>();
      const tasks = { findById: async (id: string) => stored.get(id) };
      const processes = [0, 1].map(() => new Idempotency(database, tasks, clock));
      const [here, there] = processes as [Idempotency, Idempotency];
      let count = 0;
      /** Claims the key, as a submit does, and finishes with `finish`. */
      const submitting = (finish: (id: string) => Promise<SubmitResult> | SubmitResult) => {
        const id = `task_${++count}`;
        return async (claimKey: ClaimKeyInTransaction): Promise<SubmitResult> => {
          await database.transaction((trx) => claimKey(trx, id));
          return finish(id);
        };
      };
      const submit = async (claim = CLAIM, on = here): Promise<string> =>
        (await on.runOnce(claim, submitting(resultOf))).task.public_id;
      return { database, clock, stored, here, there, submitting, submit };
    };
    const resultOf = (public_id: string): SubmitResult => ({
      task: {
        ...{ public_id, vendor: 'kling', model: 'm', status: 'SUBMITTED', created_at: 1 },
        ...{ handle: null, external_id: null },
      },
      raw: null,
    });

    it('returns the first result for a day, and starts anew afterwards', async () => {
      const { clock, here, there, submit } = await start();
      assert.equal(await submit(), 'task_1');
      clock.advance(DAY_MS - 1);
      await here.removeExpired();
      assert.equal(await submit(), 'task_1');
      assert.equal(await submit(CLAIM, there), 'task_1');
      await assert.rejects(submit({ ...CLAIM, requestHash: 'b' }, there), /idempotency_mismatch/);
      clock.advance(1);
      assert.equal(await submit(), 'task_5');
      assert.equal(await submit(CLAIM, there), 'task_5');
    });

    it('deletes keys that have expired, and no others', async () => {
      const { database, clock, here, submit } = await start();
      await submit();
      clock.advance(2);
      await submit({ ...CLAIM, key: 'later' });
      clock.advance(DAY_MS - 1);
      await here.removeExpired();
      const left = await database.kysely.selectFrom('idempotency_keys').select('key').execute();
      assert.deepEqual(left, [{ key: 'later' }]);
    });

    it('keeps keys of other scopes and shorter lifetimes apart', async () => {
      const { clock, submit } = await start();
      const brief = { ...CLAIM, key: 'brief', ttlMs: 10 * SECOND_MS };
      const ids = [await submit(), await submit({ ...CLAIM, scope: 8 }), await submit(brief)];
      assert.equal(new Set(ids).size, 3);
      clock.advance(10 * SECOND_MS);
      assert.notEqual(await submit(brief), ids[2]);
      assert.deepEqual([await submit(), await submit({ ...CLAIM, scope: 8 })], ids.slice(0, 2));
    });

    it('refuses a repetition in another process while the first is in progress, and not much longer', async (t) => {
      t.mock.timers.enable({ apis: ['setInterval'] });
      const { database, clock, stored, here, there, submitting, submit } = await start();
      const sent = Promise.withResolvers<SubmitResult>();
      const claimed = Promise.withResolvers<void>();
      const first = here.runOnce(
        CLAIM,
        submitting((id) => {
          stored.set(id, { ...resultOf(id).task, status: 'SUBMITTED' } as Task);
          claimed.resolve();
          return sent.promise;
        }),
      );
      await claimed.promise;
      const refused = { code: 'idempotency_in_progress', options: { retryAfterSeconds: 2 } };
      await assert.rejects(submit(CLAIM, there), refused);
      // The lease is renewed while the process lives.
      for (let round = 0; round < 5; round++) {
        clock.advance(3 * SECOND_MS);
        t.mock.timers.tick(3 * SECOND_MS);
        while ((await aliveUntil(database)) <= clock.now() + 5 * SECOND_MS) await new Promise(setImmediate);
        await assert.rejects(submit(CLAIM, there), refused);
      }
      // A process that renews nothing any more has died; its task may have been started.
      clock.advance(8 * SECOND_MS - 1);
      await assert.rejects(submit(CLAIM, there), refused);
      clock.advance(1);
      assert.equal(await submit(CLAIM, there), 'task_1');
      sent.resolve(resultOf('task_1'));
      assert.equal((await first).task.public_id, 'task_1');
      const renewed = mock.fn(clock.now);
      clock.now = renewed;
      t.mock.timers.tick(60 * SECOND_MS);
      assert.equal(renewed.mock.callCount(), 0, 'a finished submit renews nothing');
    });

    it('is free again after a submit that failed, but not while its task may succeed', async () => {
      const { database, here, submitting, submit } = await start();
      const fail = () => Promise.reject(new Error('refused'));
      await submit({ ...CLAIM, key: 'another' });
      await assert.rejects(here.runOnce(CLAIM, submitting(fail)), /refused/);
      assert.equal(await submit(), 'task_3');
      const keys = await database.kysely.selectFrom('idempotency_keys').select('task_id').orderBy('task_id').execute();
      assert.deepEqual(keys, [{ task_id: 'task_1' }, { task_id: 'task_3' }]);
    });

    it('gives all repetitions in one process the result of the first, or its error', async () => {
      const { here, submitting } = await start();
      const all = await Promise.all([1, 2, 3].map(() => here.runOnce(CLAIM, submitting(resultOf))));
      assert.deepEqual([...new Set(all.map(({ task }) => task.public_id))], ['task_1']);
    });
  });
});
