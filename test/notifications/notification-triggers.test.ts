import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sendJson } from '../call-model-api.ts';
import { startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { middayClock } from '../midday-clock.ts';

interface Told {
  readonly type: string;
  readonly title: string;
  readonly content: string;
  readonly target_url: string;
}

const KLING = { name: 'kling', model: 'kling-v1-6' } as const;

// Notifications the service creates itself, triggered only by API calls: no test here inserts a notification directly.
forEachDatabase((_name, _open, freshUrl) => {
  let service: VideoService;
  before(async () => {
    service = await startVideoService(
      await freshUrl(),
      { overrides: { clock: middayClock }, sandbox: { clock: middayClock } },
      [KLING],
    );
  });
  after(() => service.stop());

  const told = async (about: string): Promise<Told[]> =>
    (await service.operator.requestData<Told[]>('GET', '/api/notifications/?page_size=50')).filter(({ title }) =>
      title.includes(about),
    );
  const heard = async (about: string, wanted = 1): Promise<Told[]> => {
    for (let attempts = 0; attempts < 300; attempts += 1) {
      const rows = await told(about);
      if (rows.length >= wanted) return rows;
      await pause(50);
    }
    return assert.fail(`nothing was told of ${about}`);
  };
  const start = async (prompt: string): Promise<string> => {
    const request = { model: KLING.model, prompt };
    return (await service.operator.requestData<{ task_id: string }>('POST', '/api/videos', request)).task_id;
  };

  it('a finished video submitted in the console, but not one submitted by a program', async () => {
    const byProgram = await service.caller.submit({ model: KLING.model, prompt: 'by a program' });
    const id = await start('<b>a cat</b>');
    const [row] = await heard('is ready');
    assert.deepEqual([row?.type, row?.content, row?.target_url], ['system', '<b>a cat</b>', `/videos/${id}`]);
    await service.caller.waitUntilEnded(byProgram.id);
    assert.equal((await told('is ready')).length, 1);
    await service.operator.requestData('PUT', '/api/notifications/preferences', { topics: { 'task.finished': false } });
    const unheard = await start('not to be told');
    for (let attempts = 0; attempts < 300; attempts += 1) {
      const { status } = await service.operator.requestData<{ status: string }>('GET', `/api/videos/${unheard}`);
      if (status === 'SUCCESS') break;
      await pause(50);
    }
    assert.equal((await told('is ready')).length, 1);
  });

  it('a video that failed and was refunded, whichever client started it, once', async () => {
    const before = (await service.operator.quota()).quota;
    const task = await service.caller.submit({ model: KLING.model, prompt: 'a dog [fail]' });
    await Promise.all(Array.from({ length: 10 }, () => service.caller.waitUntilEnded(task.id)));
    const rows = await heard('failed');
    assert.deepEqual([rows.length, rows[0]?.target_url], [1, `/videos/${String(task.id)}`]);
    assert.match(rows[0]?.content ?? '', /It was not charged/);
    assert.equal((await service.operator.quota()).quota, before);
  });

  it('a wallet that falls below the threshold, once a day', async () => {
    const { quota } = await service.operator.quota();
    await service.operator.grantQuota(600_000 - quota);
    for (let calls = 0; calls < 2; calls += 1) await start(`costly ${calls}`);
    const rows = await heard('running low');
    assert.deepEqual([rows.length, rows[0]?.target_url], [1, '/account/overview']);
    await service.operator.grantQuota(600_000);
    for (let calls = 0; calls < 5; calls += 1) await start(`costly again ${calls}`);
    assert.ok((await service.operator.quota()).quota < 500_000);
    assert.equal((await told('running low')).length, 1);
    await service.operator.grantQuota(100_000_000);
  });

  it('the wallet of each organization that falls below the threshold, by its name', async () => {
    for (const slug of ['north', 'south']) {
      const organization = { slug, name: `Films of the ${slug}` };
      const { id } = await service.operator.requestData<{ id: number }>('POST', '/api/organizations', organization);
      await service.operator.requestData('PUT', `/api/admin/organizations/${id}`, { quota_delta: 600_000 });
      const headers = { ...service.operator.headers, 'x-organization': slug };
      const body = { model: KLING.model, prompt: slug };
      for (let calls = 0; calls < 2; calls += 1)
        assert.equal((await sendJson(`${service.baseUrl}/api/videos`, 'POST', body, headers)).statusCode, 200);
    }
    const titles = (await heard('Films of the', 2)).map(({ title }) => title).sort();
    const ends = ['north', 'south'].map((slug) => `Films of the ${slug}: Your balance is running low`);
    assert.deepEqual(titles, ends);
  });

  it('a channel whose credentials are refused, only to administrators, without the key', async () => {
    await service.operator.requestData('POST', '/api/user/register', {
      username: 'somebody',
      password: 'long enough 1',
    });
    await service.operator.addChannel({
      vendor: 'kling',
      name: 'broken',
      base_url: service.sandbox.url('kling'),
      credentials: { access_key: 'wrong', secret_key: 'wrong-secret-value' },
      models: [KLING.model],
      priority: 100,
    });
    for (let calls = 0; calls < 3; calls += 1) await start(`over the other channel ${calls}`);
    const [row, ...more] = await heard('“broken”');
    assert.deepEqual([row?.type, row?.target_url, more], ['system', '/admin/channels', []]);
    assert.match(row?.content ?? '', /rejects its credentials/);
    assert.ok(!JSON.stringify(row).includes('wrong-secret-value'));
    const rows = await service.app.database.kysely.selectFrom('notifications').select(['user_id', 'topic']).execute();
    const owners = rows.filter(({ topic }) => topic === 'channel.resting').map(({ user_id }) => user_id);
    assert.deepEqual(owners, [service.operator.id]);
    const topics = await service.operator.requestData<{ topic: string }[]>('GET', '/api/notifications/preferences');
    assert.ok(topics.some(({ topic }) => topic === 'channel.resting'));
  });
});
