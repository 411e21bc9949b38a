import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { idOf, startVideoService } from '../flows/video-fixture.ts';

it('an edit that waited, whose vendor never received it, is sent again to its own vendor', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rg-lost-'));
  const env = { ARTIFACTS: 'disk', ARTIFACTS_DIR: folder, ARTIFACTS_MIN_FREE_GB: '0' };
  const service = await startVideoService(`sqlite:${join(folder, 'test.db')}`, { env }, [
    { name: 'hailuo', model: 'MiniMax-H3' },
    { name: 'kling', model: 'kling-v3-omni' },
  ]);
  const { caller, operator } = service;
  const { kysely } = service.app.database;
  try {
    const source = idOf(await caller.submit({ model: 'MiniMax-H3', prompt: 'a boat' }));
    await caller.waitUntilEnded(source);
    const channels = await operator.requestData<{ id: number; vendor: string }[]>('GET', '/api/admin/channels');
    const channel = channels.find(({ vendor }) => vendor === 'kling')?.id ?? 0;
    await operator.requestData('PUT', `/api/admin/channels/${channel}`, { max_concurrent_tasks: 1 });
    await caller.submit({ model: 'kling-v3-omni', prompt: 'running' });
    const edit = { model: 'kling-v3-omni', prompt: 'at night', video: { id: source } };
    const waiting = await caller.submit(edit, '/v1/videos/edits');
    assert.ok(waiting.queue !== undefined, JSON.stringify(waiting));
    const id = idOf(waiting);
    // A process took the video out of its lane and was killed before it sent it; its deadline has passed.
    const started = { channel_id: channel, credential_id: 1, submit_time: 1, next_poll_at: 1 };
    await kysely.deleteFrom('queued_tasks').where('task_id', '=', id).execute();
    await kysely.updateTable('tasks').set(started).where('id', '=', id).execute();
    assert.equal((await caller.waitUntilEnded(id)).status, 'completed');
    const { channel_id: served } = await kysely
      .selectFrom('tasks')
      .select('channel_id')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    assert.equal(served, channel);
    assert.equal(service.job('kling', 'at night').prompt, 'at night');
  } finally {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }
});
