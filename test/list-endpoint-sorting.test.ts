import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { forEachDatabase } from './for-each-database.ts';
import { startTestService, type TestService } from './test-service.ts';

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

  /**
   * One field of each row.
   * @param except rows that always exist
   */
  const valuesOf = async (field: string, path: string, except: readonly string[] = []): Promise<string[]> =>
    (await service.root.ok<Record<string, string>[]>('GET', path))
      .map((row) => row[field] ?? '')
      .filter((value) => !except.includes(value));

  it('sorts channels by a column before cutting the page', async () => {
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

  it('sorts API keys, those without the value last in both directions', async () => {
    const list = (query: string) => names(`/api/tokens${query}`);
    assert.deepEqual(await list(''), ['c', 'a', 'b']);
    assert.deepEqual(await list('?sort=created'), ['b', 'a', 'c']);
    assert.deepEqual(await list('?sort=-name'), ['c', 'b', 'a']);
    assert.deepEqual(await list('?sort=expires'), ['c', 'b', 'a']);
    assert.deepEqual(await list('?sort=-expires'), ['b', 'c', 'a']);
    await service.root.fails(400, 'GET', '/api/tokens?sort=hash');
  });

  it('sorts plans and codes', async () => {
    for (const [package_code, name, level, price_amount, duration_days] of [
      ['silver', 'b', 2, 5, 30],
      ['gold', 'a', 3, 9.5, 7],
      ['bronze', 'c', 1, 1, 365],
    ] as const)
      await service.root.ok('POST', '/api/admin/package-cards', {
        package_code,
        name,
        level,
        price_amount,
        duration_days,
        daily_quota: 1,
      });
    const plans = (query: string) => valuesOf('package_code', `/api/admin/package-cards${query}`, ['none']);
    assert.deepEqual(await plans(''), ['bronze', 'silver', 'gold']);
    assert.deepEqual(await plans('?sort=name'), ['gold', 'silver', 'bronze']);
    assert.deepEqual(await plans('?sort=-price'), ['gold', 'silver', 'bronze']);
    assert.deepEqual(await plans('?sort=-duration'), ['bronze', 'silver', 'gold']);
    assert.deepEqual(await plans('?sort=-level&page_size=1&page=2'), ['silver']);
    await service.root.fails(400, 'GET', '/api/admin/package-cards?sort=models');

    for (const [note, expires_at] of [
      ['late', 2_000_000_000],
      ['endless', null],
      ['soon', 1_950_000_000],
    ] as const)
      await service.root.ok('POST', '/api/admin/redemption-codes', { quota: 5, count: 1, note, expires_at });
    const codes = (query: string) => valuesOf('note', `/api/admin/redemption-codes${query}`);
    assert.deepEqual(await codes(''), ['soon', 'endless', 'late']);
    assert.deepEqual(await codes('?sort=batch'), ['late', 'endless', 'soon']);
    assert.deepEqual(await codes('?sort=expires'), ['soon', 'late', 'endless']);
    assert.deepEqual(await codes('?sort=-expires'), ['late', 'soon', 'endless']);
    assert.deepEqual(await codes('?sort=-used&page_size=2&page=2'), ['late']);
  });

  it('sorts tickets, applications, announcements and device clients', async () => {
    const person = await service.signUp('asker');
    const { root } = service;
    const ids: number[] = [];
    for (const title of ['first', 'second', 'third'])
      ids.push((await person.ok<{ id: number }>('POST', '/api/tickets', { title, content: 'x' })).id);
    for (const id of [ids[0], ids[0], ids[1]])
      await root.ok('POST', `/api/admin/tickets/${id}/replies`, { content: 'seen' });
    const tickets = (query: string) => valuesOf('title', `/api/admin/tickets${query}`);
    assert.deepEqual(await tickets(''), ['third', 'second', 'first']);
    assert.deepEqual(await tickets('?sort=created&status=open'), ['first', 'second', 'third']);
    assert.deepEqual(await tickets('?sort=-replies'), ['first', 'second', 'third']);
    assert.deepEqual(await tickets('?sort=replies&page_size=1&page=2'), ['second']);
    assert.equal((await tickets('?sort=-updated')).at(-1), 'third');
    await root.fails(400, 'GET', '/api/admin/tickets?sort=content');

    for (const feature of ['boards', 'audio'])
      await person.ok('POST', '/api/beta-applications', { feature, reason: 'film' });
    const applications = (query: string) => valuesOf('feature', `/api/admin/beta-applications${query}`);
    assert.deepEqual(await applications(''), ['audio', 'boards']);
    assert.deepEqual(await applications('?sort=-feature'), ['boards', 'audio']);

    for (const title of ['old', 'new']) await root.ok('POST', '/api/admin/announcements', { title, content: 'x' });
    const announcements = (query: string) => valuesOf('title', `/api/admin/announcements${query}`);
    assert.deepEqual(await announcements(''), ['new', 'old']);
    assert.deepEqual(await announcements('?sort=created'), ['old', 'new']);

    for (const [client_id, name] of [
      ['one-client', 'zeta'],
      ['two-client', 'eta'],
    ] as const)
      await root.ok('POST', '/api/admin/device-clients', { client_id, name });
    const clients = (query: string) =>
      valuesOf('name', `/api/admin/device-clients${query}`, ['Reelgate CLI', 'Claude Code']);
    assert.deepEqual(await clients(''), ['zeta', 'eta']);
    const byName = await clients('?sort=name');
    assert.ok(byName.indexOf('eta') < byName.indexOf('zeta'), byName.join());
    assert.deepEqual(await clients('?sort=-name'), byName.toReversed());
    await root.fails(400, 'GET', '/api/admin/device-clients?sort=secret');
  });

  it('lists users and the audit log from the oldest entry, page by page', async () => {
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
