import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { insertTask } from '../../../test/video/task-fixture.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import type { Channel, ResolvedModel } from '../channels/directory.ts';
import { systemClock } from '../platform/clock.ts';
import { type Database, DatabaseUnavailableError } from '../platform/db/database.ts';
import { openLog } from '../platform/log.ts';
import { NO_TRACING } from '../platform/tracing/tracing.ts';
import type { Tables } from '../tables.ts';
import { UpstreamCalls } from '../upstreams/upstream.ts';
import type { VendorAdapter } from '../vendors/adapter.ts';
import { AttemptRunner, FailedAttemptRecorder, type SubmitJob } from './attempts.ts';
import { TaskAdminStore } from './task-reports.ts';
import { TaskStore } from './task-store.ts';

const CHANNEL = { id: 1, credentialId: 1, baseUrl: 'http://vendor.test', credentials: {}, options: {}, private: false };
const HANDLE = { id: 'job_1' };

type MarkAccepted = TaskStore['markAccepted'];

/** Submits a task whose vendor accepts it; `around` wraps the store’s own write of the acceptance. */
async function submit(
  database: Database<Tables>,
  around: (write: MarkAccepted, store: TaskStore) => MarkAccepted,
  stopping = new AbortController(),
) {
  const { store, task } = await insertTask(database);
  const flaky = new TaskStore(database);
  flaky.markAccepted = around(store.markAccepted.bind(store), store);
  const log = openLog('silent');
  const adminStore = new TaskAdminStore(database);
  const accept = async () => ({ kind: 'accepted' as const, handle: HANDLE, upstreamId: HANDLE.id, raw: {} });
  const runner = new AttemptRunner({
    database,
    store: flaky,
    channels: { report: () => {} },
    upstreamCalls: new UpstreamCalls({} as ConstructorParameters<typeof UpstreamCalls>[0], systemClock),
    completion: {} as ConstructorParameters<typeof AttemptRunner>[0]['completion'],
    failedAttemptRecorder: new FailedAttemptRecorder(adminStore, systemClock, log, stopping.signal),
    slots: { take: async () => true },
    clock: systemClock,
    log,
    tracing: NO_TRACING,
    syncPeriodMs: HOUR_MS,
    ambiguousTtlMs: HOUR_MS,
    stopping: stopping.signal,
    faultPoint: () => {},
  });
  const job = {
    task,
    request: { taskId: task.id, model: 'film', prompt: task.prompt, images: [], metadata: {}, extraFields: [] },
    adapter: { submit: accept } as unknown as VendorAdapter,
    model: { id: 'film', upstreamName: 'film' } as unknown as ResolvedModel,
    candidates: [CHANNEL as unknown as Channel],
    remixOf: undefined,
  } as SubmitJob;
  const result = runner.run(job);
  return { result, store, adminStore, task };
}

const away = (): never => {
  throw new DatabaseUnavailableError('away');
};

describe('a job accepted by its vendor while the database is unavailable', () => {
  forEachDatabase((_name, open) => {
    it('is stored once the database is back', async () => {
      const database = await open();
      let tries = 0;
      const { result, store, adminStore, task } = await submit(database, (write) => async (...given) => {
        tries += 1;
        return tries < 3 ? away() : write(...given);
      });
      assert.equal((await result).task.status, 'SUBMITTED');
      const stored = await store.findById(task.id);
      assert.deepEqual([stored?.status, stored?.handle], ['SUBMITTED', JSON.stringify(HANDLE)]);
      assert.equal(tries, 3);
      assert.deepEqual(await adminStore.failedAttempts(task.id), []);
    });

    it('is not a late acceptance if its write was committed unnoticed and a poll has since advanced the task', async () => {
      const database = await open();
      let isFirst = true;
      const { result, store, adminStore, task } = await submit(database, (write, own) => async (...given) => {
        const publicId = await write(...given);
        if (!isFirst) return publicId;
        isFirst = false;
        const change = { status: 'IN_PROGRESS', progress: 50, data: '{}' } as const;
        assert.ok(await own.applyChange(database.kysely, { id: given[1].id, attempt: given[1].attempt }, change, 1));
        return away();
      });
      assert.equal((await result).task.public_id, task.id);
      assert.equal((await store.findById(task.id))?.status, 'IN_PROGRESS');
      assert.deepEqual(await adminStore.failedAttempts(task.id), []);
    });

    it('is a late acceptance when its task has failed in the meantime', async () => {
      const database = await open();
      const { result, store, adminStore, task } = await submit(database, (write, own) => async (...given) => {
        const change = { status: 'FAILURE', progress: 100, data: '{}' } as const;
        if (await own.applyChange(database.kysely, { id: given[1].id, attempt: given[1].attempt }, change, 1)) away();
        return write(...given);
      });
      await result;
      assert.equal((await store.findById(task.id))?.status, 'FAILURE');
      assert.deepEqual(
        (await adminStore.failedAttempts(task.id)).map(({ outcome }) => outcome),
        ['late'],
      );
    });

    it('is abandoned on shutdown; its task stays unconfirmed until it is recovered or refunded', async () => {
      const database = await open();
      const stopping = new AbortController();
      let tries = 0;
      const { result, store, task } = await submit(
        database,
        () => async () => {
          tries += 1;
          stopping.abort();
          return away();
        },
        stopping,
      );
      await assert.rejects(result, DatabaseUnavailableError);
      assert.equal(tries, 2, 'a last try');
      assert.equal((await store.findById(task.id))?.status, 'NOT_START');
    });
  });
});
