import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { forEachDatabase } from '../databases.ts';
import { startTestService, type TestService } from '../test-service.ts';

forEachDatabase((_name, _open, freshUrl) => {
  let service: TestService;
  before(async () => {
    service = await startTestService(await freshUrl());
    const channel = { vendor: 'vidu', credentials: { api_key: 'key' }, base_url: 'https://vidu.example', options: {} };
    for (const [name, priority, models] of [
      ['beta', 2, ['viduq2']],
      ['alpha', 9, ['viduq1']],
      ['gamma', 5, ['viduq1']],
    ] as const)
      await service.root.ok('POST', '/api/admin/channels', { ...channel, name, priority, models });
    for (const [name, expires_at] of [
      ['b', 2_000_000_000],
      ['a', undefined],
      ['c', 1_900_000_000],
    ] as const)
      await service.root.ok('POST', '/api/tokens', { name, expires_at });
  });
  after(() => service.stop());

  const names = async (path: string): Promise<string[]> =>
    (await service.root.ok<{ name?: string; id: string }[]>('GET', path)).map(({ name, id }) => name ?? id);

  it('sorts channels by a column before it cuts the page', async () => {
    const list = (query: string) => names(`/api/admin/channels${query}`);
    assert.deepEqual(await list(''), ['gamma', 'alpha', 'beta']);
    assert.deepEqual(await list('?sort=name'), ['alpha', 'beta', 'gamma']);
    assert.deepEqual(await list('?sort=-priority'), ['alpha', 'gamma', 'beta']);
    assert.deepEqual(await list('?sort=-priority&page_size=1&page=2'), ['gamma']);
    await service.root.fails(400, 'GET', '/api/admin/channels?sort=credentials');
  });

  it('sorts models by name in both directions', async () => {
    const sorted = await names('/api/admin/models?sort=name&page_size=50&vendor=vidu');
    assert.ok(sorted.length > 2);
    assert.deepEqual(
      sorted,
      [...sorted].sort((one, other) => one.localeCompare(other)),
    );
    assert.deepEqual((await names('/api/admin/models?sort=-name&page_size=50&vendor=vidu')).toReversed(), sorted);
  });

  it('sorts API keys; those without the value are last in both directions', async () => {
    const list = (query: string) => names(`/api/tokens${query}`);
    assert.deepEqual(await list(''), ['c', 'a', 'b']);
    assert.deepEqual(await list('?sort=created'), ['b', 'a', 'c']);
    assert.deepEqual(await list('?sort=-name'), ['c', 'b', 'a']);
    assert.deepEqual(await list('?sort=expires'), ['c', 'b', 'a']);
    assert.deepEqual(await list('?sort=-expires'), ['b', 'c', 'a']);
    await service.root.fails(400, 'GET', '/api/tokens?sort=hash');
  });

  it('lists users and the audit log from the oldest on, page by page', async () => {
    for (const name of ['one', 'two']) await service.signUp(name);
    const idsOf = async (path: string): Promise<number[]> =>
      (await service.root.ok<{ id: number }[]>('GET', path)).map(({ id }) => id);
    for (const path of ['/api/admin/users', '/api/admin/audit', '/api/admin/logins']) {
      const newest = await idsOf(`${path}?page_size=50`);
      const oldest = await idsOf(`${path}?page_size=50&sort=time`);
      assert.deepEqual(oldest, newest.toReversed(), path);
      const first = oldest[0];
      assert.deepEqual(await idsOf(`${path}?page_size=50&sort=time&after=${first}`), oldest.slice(1), path);
      assert.deepEqual(await idsOf(`${path}?page_size=1&page=2&sort=time`), oldest.slice(1, 2), path);
    }
  });
});
