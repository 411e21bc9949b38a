import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/databases.ts';
import { freshTask } from '../../../test/video/fresh-task.ts';
import { handClock } from '../platform/clock.ts';
import { isAppError } from '../platform/errors.ts';
import { Idempotency } from './idempotency.ts';
import { TaskStore } from './store.ts';
import type { Alongside } from './submit.ts';

const BODY = Buffer.from('a cat');

describe('a submit whose answer goes wrong', () => {
  forEachDatabase((_name, open) => {
    async function setUp() {
      const database = await open();
      const clock = handClock();
      const submits: string[] = [];
      /** Writes a task with its key, in the state it has when the answer goes wrong. */
      const submit = (id: string, status: 'NOT_START' | 'SUBMITTED' | 'FAILURE') => async (alongside: Alongside) => {
        submits.push(id);
        await freshTask(database, { id, status });
        await database.transaction((trx) => alongside(trx, id));
        throw new Error('the database went away');
      };
      const once = (work: (alongside: Alongside) => Promise<string>) =>
        new Idempotency(database, new TaskStore(database), clock).once(1, 'key', BODY, work);
      return { database, clock, submits, submit, once };
    }

    it('keeps its key while its task may come to something, so that a second try begins nothing', async () => {
      const { clock, submits, submit, once } = await setUp();
      await assert.rejects(once(submit('task_a', 'SUBMITTED')), /went away/);
      const again = () => once(submit('task_b', 'SUBMITTED'));
      await assert.rejects(again(), (error) => isAppError(error, 'idempotency_in_progress'));
      clock.advance(121_000);
      assert.equal(((await again()) as unknown as { id: string }).id, 'task_a');
      assert.deepEqual(submits, ['task_a']);
    });

    it('leaves no key behind when its task failed', async () => {
      const { submits, submit, once } = await setUp();
      await assert.rejects(once(submit('task_a', 'FAILURE')), /went away/);
      await assert.rejects(once(submit('task_b', 'FAILURE')), /went away/);
      assert.deepEqual(submits, ['task_a', 'task_b']);
    });

    it('never touches the key another submit has noted meanwhile', async () => {
      const { database, submits, submit, once } = await setUp();
      const undone = async (alongside: Alongside) => {
        await database
          .transaction(async (trx) => {
            await alongside(trx, 'task_undone');
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
