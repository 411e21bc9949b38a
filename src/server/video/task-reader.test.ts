import assert from 'node:assert/strict';
import { it } from 'node:test';
import { RowsLockedError } from '../platform/db/database.ts';
import { RefreshingTaskReader } from './poller.ts';
import type { Task } from './task-store.ts';

const running = { id: 'task_1', seq: 1, status: 'IN_PROGRESS', handle: '{}', data: '{}' } as Task;

const readerWith = (poll: () => Promise<unknown>): RefreshingTaskReader =>
  new RefreshingTaskReader({
    store: { findForToken: async () => running, findById: async () => running, defer: async () => {} },
    poller: { poll },
    upstreams: { adapterOf: () => ({ refreshOnQuery: true }) },
    clock: { now: () => 0 },
    stopping: new AbortController().signal,
  } as unknown as ConstructorParameters<typeof RefreshingTaskReader>[0]);

it('reads the stored state of a task whose poll result cannot be stored for now', async () => {
  const reader = readerWith(() => Promise.reject(new RowsLockedError()));
  const both = await Promise.all([1, 2].map(() => reader.readForToken({ tokenId: 1 }, 'video_1')));
  assert.deepEqual(both, [running, running]);
});

it('does not hide an unexpected error of a poll', async () => {
  const reader = readerWith(() => Promise.reject(new TypeError('a bug')));
  await assert.rejects(reader.readForToken({ tokenId: 1 }, 'video_1'), TypeError);
});
