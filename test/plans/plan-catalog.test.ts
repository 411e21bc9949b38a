import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { sql } from 'kysely';
import { migrate } from '../../src/server/platform/db/migrate.ts';
import { migrations } from '../../src/server/tables.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { openPlansApp, type PlansApp } from './plans-app-fixture.ts';

const CARD_KEYS = [
  'id',
  'package_code',
  'name',
  'description',
  'level',
  'price_amount',
  'purchasable',
  'daily_quota',
  'duration_days',
  'refresh_interval_seconds',
  'system_builtin',
  'interval_quota',
  'weekly_quota_limit',
  'status',
  'created_time',
];

forEachDatabase((_name, _open, freshUrl) => {
  let plansApp: PlansApp;
  before(async () => {
    plansApp = await openPlansApp(await freshUrl());
  });
  after(() => plansApp.stop());

  it('lists purchasable plans by level, with exactly the documented keys', async () => {
    await plansApp.card({ package_code: 'gold', level: 30, price_amount: 19.9, daily_quota: 5 });
    await plansApp.card({ package_code: 'silver', level: 20, price_amount: 9, models: ['m1'] });
    await plansApp.card({ package_code: 'gift', level: 25, purchasable: false });
    await plansApp.card({ package_code: 'gone', level: 26, status: 2 });
    const nobody = await plansApp.app.http.fastify.inject({ url: '/api/package-cards' });
    const body = nobody.json();
    assert.deepEqual(Object.keys(body), ['success', 'message', 'data']);
    assert.deepEqual(
      body.data.map(({ package_code }: { package_code: string }) => package_code),
      ['silver', 'gold'],
    );
    assert.deepEqual(Object.keys(body.data[0]), CARD_KEYS);
    assert.deepEqual(
      [body.data[1].price_amount, body.data[1].purchasable, body.data[1].system_builtin],
      [19.9, true, false],
    );
  });

  it('names a monthly limit only where a plan has one', async () => {
    const { id } = await plansApp.card({ package_code: 'capped', level: 35, monthly_quota_limit: 90 });
    const listed = (await plansApp.app.http.fastify.inject({ url: '/api/package-cards' })).json();
    const limits = listed.data.map((card: Record<string, number>) => [card.package_code, card.monthly_quota_limit]);
    assert.deepEqual(limits.at(-1), ['capped', 90]);
    await plansApp.root.send('PUT', `/api/admin/package-cards/${id}`, { monthly_quota_limit: 0 });
    const { body } = await plansApp.root.send('GET', `/api/admin/package-cards/${id}`);
    assert.equal((body.data as Record<string, unknown>).monthly_quota_limit, 0);
  });

  it('tells users where a plan is bought, if its operator set a link with https', async () => {
    await plansApp.card({ package_code: 'linked', level: 40, order_url: 'https://shop.example/studio?plan=1' });
    const body = (await plansApp.app.http.fastify.inject({ url: '/api/package-cards' })).json();
    const links = body.data.map(({ package_code, order_url }: Record<string, string>) => [package_code, order_url]);
    assert.deepEqual(links.at(-1), ['linked', 'https://shop.example/studio?plan=1']);
  });

  it('lets administrators change plans, and never remove the built-in one', async () => {
    const { body } = await plansApp.root.send('GET', '/api/admin/package-cards');
    const [none] = body.data as { id: number; package_code: string; system_builtin: boolean }[];
    assert.deepEqual([none?.package_code, none?.system_builtin], ['none', true]);
    await plansApp.root.fails(200, 'DELETE', `/api/admin/package-cards/${none?.id}`);
    await plansApp.root.fails(200, 'PUT', `/api/admin/package-cards/${none?.id}`, { package_code: 'some' });
    await plansApp.root.fails(200, 'PUT', `/api/admin/package-cards/${none?.id}`, { status: 2 });
    const { id } = await plansApp.card({ package_code: 'to-change', models: ['a'] });
    await plansApp.root.fails(200, 'POST', '/api/admin/package-cards', {
      package_code: 'to-change',
      name: 'x',
      level: 1,
      duration_days: 1,
    });
    await plansApp.root.ok('PUT', `/api/admin/package-cards/${id}`, { name: 'Renamed', models: ['b', 'c'] });
    const changed = await plansApp.root.ok('GET', `/api/admin/package-cards/${id}`);
    assert.deepEqual([changed.name, changed.models, changed.level], ['Renamed', ['b', 'c'], 1]);
    for (const junk of [
      { level: -1 },
      { level: 1.5 },
      { duration_days: 0 },
      { daily_quota: '5' },
      { models: [1] },
      { status: 3 },
      { price_amount: -1 },
      { package_code: 'A B' },
      { order_url: 'javascript:alert(1)' },
      { order_url: 'http://shop.example/' },
    ])
      await plansApp.root.fails(400, 'PUT', `/api/admin/package-cards/${id}`, junk);
    await plansApp.codesFor({ package_code: 'to-change', count: 1 });
    assert.match(await plansApp.root.fails(200, 'DELETE', `/api/admin/package-cards/${id}`), /in use/);
    const unused = await plansApp.card({});
    await plansApp.root.ok('DELETE', `/api/admin/package-cards/${unused.id}`);
    await plansApp.root.fails(200, 'GET', `/api/admin/package-cards/${unused.id}`);
    const user = await plansApp.fresh();
    await user.fails(403, 'GET', '/api/admin/package-cards');
    await user.fails(403, 'POST', '/api/user/package/activate', { user_id: user.id, package_code: 'gold' });
  });

  it('are not held by deleted accounts', async () => {
    const person = await plansApp.fresh();
    const plans = [
      await plansApp.card({ package_code: 'held', level: 2 }),
      await plansApp.card({ package_code: 'next' }),
    ];
    for (const code of ['held', 'next']) await plansApp.activate(person, code);
    for (const { id } of plans)
      assert.match(await plansApp.root.fails(200, 'DELETE', `/api/admin/package-cards/${id}`), /in use/);
    await plansApp.root.ok('DELETE', `/api/admin/users/${person.id}`);
    for (const { id } of plans) await plansApp.root.ok('DELETE', `/api/admin/package-cards/${id}`);
  });

  it('are not held by accounts that an earlier version deleted', async () => {
    const [person, holder] = [await plansApp.fresh(), await plansApp.fresh()];
    const { id } = await plansApp.card({ package_code: 'left' });
    await plansApp.activate(person, 'left');
    await plansApp.activate(holder, 'left');
    const { database } = plansApp.app;
    const accounts = database.kysely.updateTable('accounts').set({ removed_at: 1 });
    await accounts.where('id', '=', person.id).execute();
    const migration = '0126-plans-of-deleted-accounts';
    await sql`delete from schema_migrations where id = ${migration}`.execute(database.kysely);
    assert.deepEqual(await migrate(database, migrations), [migration]);
    assert.match(await plansApp.root.fails(200, 'DELETE', `/api/admin/package-cards/${id}`), /in use/);
    await plansApp.activate(holder, 'none');
    await plansApp.root.ok('DELETE', `/api/admin/package-cards/${id}`);
  });

  it('permits the models a plan names, or all if it names none', async () => {
    const person = await plansApp.fresh();
    await plansApp.card({ package_code: 'narrow', level: 1, daily_quota: 10, models: ['only-this'] });
    await plansApp.activate(person, 'narrow');
    await assert.rejects(plansApp.reserve(person, 1, 'another'), /model_not_allowed/);
    await plansApp.reserve(person, 1, 'only-this');
    const { key } = await person.ok<{ key: string }>('POST', '/api/tokens', { name: 'k' });
    const models = await person.send('GET', '/v1/models', undefined, { authorization: `Bearer ${key}` });
    assert.deepEqual(models.body.data, []);
    // Without an allowance the wallet pays, for the same models.
    const other = await plansApp.fresh();
    await plansApp.root.ok('PUT', `/api/admin/users/${other.id}`, { quota_delta: 100 });
    await plansApp.card({ package_code: 'unfunded', level: 1, models: ['only-this'] });
    await plansApp.activate(other, 'unfunded');
    await assert.rejects(plansApp.reserve(other, 1, 'another'), /model_not_allowed/);
    await plansApp.reserve(other, 1, 'only-this');
  });
});
