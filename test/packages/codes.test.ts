import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { forEachDatabase } from '../databases.ts';
import { DAY, openShop, type Redeemed, type Shop } from './shop.ts';

forEachDatabase((_name, _open, freshUrl) => {
  let shop: Shop;
  before(async () => {
    shop = await openShop(await freshUrl());
  });
  after(() => shop.stop());

  it('redeems a code however it is typed, once', async () => {
    const person = await shop.fresh();
    await shop.card({ package_code: 'basic', level: 1, duration_days: 10, daily_quota: 100 });
    const [first = '', second = ''] = await shop.codesFor({ package_code: 'basic', count: 2 });
    assert.match(first, /^[0-9A-Z]{5}(-[0-9A-Z]{5}){3}$/);
    assert.notEqual(first, second);
    const answer = await person.ok<Redeemed>('POST', '/api/user/redeem', {
      code: ` ${first.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')}\n`,
    });
    assert.deepEqual(
      [answer.outcome, answer.package_code, answer.package_expires_at],
      ['active', 'basic', (shop.clock.now() + 10 * DAY) / 1000],
    );
    const self = await person.ok('GET', '/api/user/self');
    assert.deepEqual(
      [self.current_package_code, self.package_expires_at],
      ['basic', (shop.clock.now() + 10 * DAY) / 1000],
    );
    assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: first }), /used already/);
    assert.match(await (await shop.fresh()).fails(200, 'POST', '/api/user/redeem', { code: first }), /used already/);
    for (const junk of ['nonsense', '=1+1', "' or 1=1", '🎁'])
      assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: junk }), /not valid/);
    await person.fails(400, 'POST', '/api/user/redeem', { code: 5 });
    await person.fails(400, 'POST', '/api/user/redeem', {});
    const again = await person.ok<Redeemed>('POST', '/api/user/redeem', { code: second });
    assert.deepEqual([again.outcome, again.package_expires_at], ['extended', (shop.clock.now() + 20 * DAY) / 1000]);
  });

  it('gives a code to one of a hundred', async () => {
    const people = await Promise.all(Array.from({ length: 10 }, () => shop.fresh()));
    const [code = ''] = await shop.codesFor({ quota: 777, count: 1 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => (people[i % 10] ?? shop.root).send('POST', '/api/user/redeem', { code })),
    );
    assert.equal(answers.filter(({ body }) => body.success).length, 1);
    const wallets = await Promise.all(people.map(async (person) => (await shop.own(person)).wallet));
    assert.equal(
      wallets.reduce((sum, wallet) => sum + wallet, 0),
      777,
    );
    const { body } = await shop.root.send('GET', '/api/admin/redemption-codes?status=used');
    const [row] = body.data as { code: string; quota: number; used_by: number }[];
    assert.deepEqual([row?.quota, people.some(({ id }) => id === row?.used_by)], [777, true]);
    assert.ok(!JSON.stringify(body).includes(code));
  });

  it('lists codes masked, exports them without live formulas, withdraws them', async () => {
    const { id, codes } = await shop.root.ok<{ id: number; codes: string[] }>('POST', '/api/admin/redemption-codes', {
      quota: 5,
      count: 3,
      note: '=HYPERLINK("http://evil.example")',
    });
    const { body } = await shop.root.send('GET', `/api/admin/redemption-codes?batch_id=${id}`);
    const rows = body.data as { id: number; code: string; status: string }[];
    assert.equal(body.total, 3);
    for (const code of codes)
      assert.ok(!JSON.stringify(rows).includes(code) && !JSON.stringify(rows).includes(code.replaceAll('-', '')));
    const csv = await shop.app.http.fastify.inject({
      url: `/api/admin/redemption-codes/export?batch_id=${id}`,
      headers: { cookie: `session=${shop.root.jar.get('session')}`, 'service-api-user': String(shop.root.id) },
    });
    assert.match(String(csv.headers['content-type']), /^text\/csv/);
    assert.equal(csv.body.split('\r\n').length, 5);
    assert.ok(!/(^|,|")[=+\-@\t\r]/m.test(csv.body.replaceAll('\r\n', '\n')), csv.body);
    await shop.root.ok('DELETE', `/api/admin/redemption-codes/${rows[2]?.id}`);
    assert.match(await shop.root.fails(200, 'DELETE', `/api/admin/redemption-codes/${rows[2]?.id}`), /withdrawn/);
    const person = await shop.fresh();
    assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: codes[0] }), /withdrawn/);
    assert.equal((await shop.root.ok('POST', '/api/admin/redemption-codes/void', { batch_id: id })).voided, 2);
    assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: codes[1] }), /withdrawn/);
    for (const junk of [
      { count: 1 },
      { quota: 1, package_code: 'gold', count: 1 },
      { quota: 1, count: 0 },
      { quota: 1, count: 100_000 },
      { quota: -1, count: 1 },
      { quota: 1, count: 1, expires_at: 5 },
    ])
      await shop.root.fails(400, 'POST', '/api/admin/redemption-codes', junk);
    await shop.root.fails(200, 'POST', '/api/admin/redemption-codes', { package_code: 'nowhere', count: 1 });
  });

  it('lets codes expire to the second', async () => {
    const person = await shop.fresh();
    const end = Math.floor(shop.clock.now() / 1000) + 60;
    const [one = '', two = ''] = await shop.codesFor({ quota: 5, count: 2, expires_at: end });
    shop.clock.advance(59_000);
    await person.ok('POST', '/api/user/redeem', { code: one });
    shop.clock.advance(1_000);
    assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: two }), /expired/);
    const { body } = await shop.root.send('GET', '/api/admin/redemption-codes?status=expired');
    assert.equal(body.total, 1);
  });

  it('changes until when an unused code is good, and only of those', async () => {
    const person = await shop.fresh();
    const end = Math.floor(shop.clock.now() / 1000) + 60;
    const wish = { quota: 5, count: 2, expires_at: end };
    const { id, codes } = await shop.root.ok<{ id: number; codes: [string, string] }>(
      'POST',
      '/api/admin/redemption-codes',
      wish,
    );
    const { body } = await shop.root.send('GET', `/api/admin/redemption-codes?batch_id=${id}`);
    const [second, first] = (body.data as { id: number; expires_at: number }[]).map((row) => row.id);
    shop.clock.advance(61_000);
    assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: codes[0] }), /expired/);
    for (const junk of [{ expires_at: end }, { expires_at: 0 }, { expires_at: '9' }, { expires_at: 1.5 }])
      await shop.root.fails(400, 'PUT', `/api/admin/redemption-codes/${first}`, junk);
    await shop.root.ok('PUT', `/api/admin/redemption-codes/${first}`, {});
    await shop.root.ok('PUT', `/api/admin/redemption-codes/${first}`, { expires_at: null });
    assert.equal((await shop.root.ok('GET', `/api/admin/redemption-codes/${first}`)).expires_at, 0);
    await person.ok('POST', '/api/user/redeem', { code: codes[0] });
    assert.match(
      await shop.root.fails(200, 'PUT', `/api/admin/redemption-codes/${first}`, { expires_at: null }),
      /used already/,
    );
    await shop.root.ok('DELETE', `/api/admin/redemption-codes/${second}`);
    assert.match(
      await shop.root.fails(200, 'PUT', `/api/admin/redemption-codes/${second}`, { expires_at: null }),
      /withdrawn/,
    );
    await shop.root.fails(200, 'PUT', '/api/admin/redemption-codes/999999', { expires_at: null });
    const log = (await shop.root.send('GET', '/api/admin/audit?page_size=50')).body.data as { action: string }[];
    for (const action of ['redemption-codes.create', 'redemption-code.update', 'redemption-code.void'])
      assert.ok(
        log.some((row) => row.action === action),
        action,
      );
  });

  it('limits guessing of codes', async () => {
    const person = await shop.fresh();
    const [good = ''] = await shop.codesFor({ quota: 1, count: 1 });
    const used = await Promise.all(
      Array.from({ length: 150 }, () => person.send('POST', '/api/user/redeem', { code: good })),
    );
    assert.equal(used.filter(({ body }) => body.success).length, 1);
    for (let i = 0; i < 100; i++)
      assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: `WRONG${i}` }), /not valid/);
    const refused = await person.send('POST', '/api/user/redeem', { code: 'WRONG' });
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers['retry-after']) > 0);
  });
});
