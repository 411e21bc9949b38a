import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';

forEachDatabase((_name, _open, freshUrl) => {
  let service: VideoService;
  before(async () => {
    service = await startVideoService(await freshUrl(), {}, [{ name: 'kling', model: 'kling-v1-6' }]);
  });
  after(() => service.stop());

  it('a ticket references a video of its owner, and no other', async () => {
    const request = { model: 'kling-v1-6', prompt: 'a cat' };
    const own = await service.operator.requestData<{ task_id: string }>('POST', '/api/videos', request);
    const ask = (task_id: string) =>
      service.operator.request<{ id: number }>('POST', '/api/tickets', {
        title: 'Too dark',
        content: 'See it.',
        task_id,
      });
    const made = await ask(own.task_id);
    const { id } = made.data;
    const read = () =>
      service.operator.requestData<{ task_id: string; replies: { task_id: string }[] }>('GET', `/api/tickets/${id}`);
    assert.equal((await read()).task_id, own.task_id);
    const more = { content: 'And this.', task_id: own.task_id };
    await service.operator.requestData('POST', `/api/tickets/${id}/replies`, more);
    assert.equal((await read()).replies[0]?.task_id, own.task_id);

    await service.app.database.transaction((trx) =>
      trx.updateTable('tasks').set({ user_id: 999 }).where('public_id', '=', own.task_id).execute(),
    );
    for (const foreign of [own.task_id, 'task_none', "' or 1=1 --"]) {
      assert.equal((await ask(foreign)).success, false, foreign);
      const reply = { ...more, task_id: foreign };
      assert.equal((await service.operator.request('POST', `/api/tickets/${id}/replies`, reply)).success, false);
    }
    assert.deepEqual(
      [(await service.operator.request('GET', '/api/tickets')).total, (await read()).replies.length],
      [1, 1],
    );
  });
});
