import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { insertTask } from '../../../test/video/task-fixture.ts';

const NOW = 1_000;
const change = (status: 'IN_PROGRESS' | 'SUCCESS' | 'FAILURE') => ({ status, progress: 50, data: '{}' });

describe('poll results', () => {
  forEachDatabase((_name, open) => {
    it('T80: results for an abandoned attempt never change the task', async () => {
      const database = await open();
      const { store, task } = await insertTask(database, { status: 'SUBMITTED', attempt: 2, handle: '{}' });
      for (const status of ['IN_PROGRESS', 'SUCCESS', 'FAILURE'] as const) {
        for (const attempt of [1, 3])
          assert.equal(await store.applyChange(database.kysely, { id: task.id, attempt }, change(status), NOW), false);
      }
      assert.deepEqual(await store.findById(task.id), task);
      assert.equal(await store.applyChange(database.kysely, task, change('IN_PROGRESS'), NOW), true);
      assert.equal((await store.findById(task.id))?.status, 'IN_PROGRESS');
    });

    it('T80: a late acceptance of an abandoned attempt changes nothing', async () => {
      const database = await open();
      const { store, task } = await insertTask(database, { status: 'NOT_START', attempt: 2 });
      const acceptance = { id: task.id, public_id: task.id, handle: '{"id":1}', data: '{}', now: NOW, next: NOW };
      assert.equal(await store.markAccepted(database.kysely, { ...acceptance, attempt: 1 }), undefined);
      assert.deepEqual(await store.findById(task.id), task);
      assert.equal(await store.markAccepted(database.kysely, { ...acceptance, attempt: 2 }), task.id);
    });
  });
});
