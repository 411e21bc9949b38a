import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { forEachDatabase } from '../for-each-database.ts';
import { DAY, type GrantResponse, openPlansApp, type PlansApp } from './plans-app-fixture.ts';

forEachDatabase((_name, _open, freshUrl) => {
  let plansApp: PlansApp;
  before(async () => {
    plansApp = await openPlansApp(await freshUrl());
  });
  after(() => plansApp.stop());

  it('redeems a code once, however it is typed', async () => {
    const person = await plansApp.fresh();
    await plansApp.card({ package_code: 'basic', level: 1, duration_days: 10, daily_quota: 100 });
    const [first = '', second = ''] = await plansApp.codesFor({ package_code: 'basic', count: 2 });
    assert.match(first, /^[0-9A-Z]{5}(-[0-9A-Z]{5}){3}$/);
    assert.notEqual(first, second);
    const answer = await person.ok<GrantResponse>('POST', '/api/user/redeem', {
      code: ` ${first.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')}\n`,
    });
    assert.deepEqual(
      [answer.outcome, answer.package_code, answer.package_expires_at],
      ['active', 'basic', (plansApp.clock.now() + 10 * DAY) / 1000],
    );
    const self = await person.ok('GET', '/api/user/self');
    assert.deepEqual(
      [self.current_package_code, self.package_expires_at],
      ['basic', (plansApp.clock.now() + 10 * DAY) / 1000],
    );
    assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: first }), /used already/);
    assert.match(
      await (await plansApp.fresh()).fails(200, 'POST', '/api/user/redeem', { code: first }),
      /used already/,
    );
    for (const junk of ['nonsense', '=1+1', "' or 1=1", '🎁'])
      assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: junk }), /not valid/);
    await person.fails(400, 'POST', '/api/user/redeem', { code: 5 });
    await person.fails(400, 'POST', '/api/user/redeem', {});
    const again = await person.ok<GrantResponse>('POST', '/api/user/redeem', { code: second });
    assert.deepEqual([again.outcome, again.package_expires_at], ['extended', (plansApp.clock.now() + 20 * DAY) / 1000]);
  });

  it('T83: redeems a code for exactly one of a hundred concurrent attempts', async () => {
    const people = await Promise.all(Array.from({ length: 10 }, () => plansApp.fresh()));
    const [code = ''] = await plansApp.codesFor({ quota: 777, count: 1 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        (people[i % 10] ?? plansApp.root).send('POST', '/api/user/redeem', { code }),
      ),
    );
    assert.equal(answers.filter(({ body }) => body.success).length, 1);
    const wallets = await Promise.all(people.map(async (person) => (await plansApp.own(person)).wallet));
    assert.equal(
      wallets.reduce((sum, wallet) => sum + wallet, 0),
      777,
    );
    const { body } = await plansApp.root.send('GET', '/api/admin/redemption-codes?status=used');
    const [row] = body.data as { code: string; quota: number; used_by: number }[];
    assert.deepEqual([row?.quota, people.some(({ id }) => id === row?.used_by)], [777, true]);
    assert.ok(!JSON.stringify(body).includes(code));
  });

  it('lists codes masked, exports them with formulas escaped, and revokes them', async () => {
    const { id, codes } = await plansApp.root.ok<{ id: number; codes: string[] }>(
      'POST',
      '/api/admin/redemption-codes',
      {
        quota: 5,
        count: 3,
        note: '=HYPERLINK("http://evil.example")',
      },
    );
    const { body } = await plansApp.root.send('GET', `/api/admin/redemption-codes?batch_id=${id}`);
    const rows = body.data as { id: number; code: string; status: string }[];
    assert.equal(body.total, 3);
    for (const code of codes)
      assert.ok(!JSON.stringify(rows).includes(code) && !JSON.stringify(rows).includes(code.replaceAll('-', '')));
    const csv = await plansApp.app.http.fastify.inject({
      url: `/api/admin/redemption-codes/export?batch_id=${id}`,
      headers: {
        cookie: `session=${plansApp.root.cookies.get('session')}`,
        'service-api-user': String(plansApp.root.id),
      },
    });
    assert.match(String(csv.headers['content-type']), /^text\/csv/);
    assert.equal(csv.body.split('\r\n').length, 5);
    assert.ok(!/(^|,|")[=+\-@\t\r]/m.test(csv.body.replaceAll('\r\n', '\n')), csv.body);
    await plansApp.root.ok('DELETE', `/api/admin/redemption-codes/${rows[2]?.id}`);
    assert.match(await plansApp.root.fails(200, 'DELETE', `/api/admin/redemption-codes/${rows[2]?.id}`), /revoked/);
    const person = await plansApp.fresh();
    assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: codes[0] }), /revoked/);
    assert.equal((await plansApp.root.ok('POST', '/api/admin/redemption-codes/void', { batch_id: id })).voided, 2);
    assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: codes[1] }), /revoked/);
    for (const junk of [
      { count: 1 },
      { quota: 1, package_code: 'gold', count: 1 },
      { quota: 1, count: 0 },
      { quota: 1, count: 100_000 },
      { quota: -1, count: 1 },
      { quota: 1, count: 1, expires_at: 5 },
    ])
      await plansApp.root.fails(400, 'POST', '/api/admin/redemption-codes', junk);
    await plansApp.root.fails(200, 'POST', '/api/admin/redemption-codes', { package_code: 'nowhere', count: 1 });
  });

  it('lists batches by what their codes give, the newest first', async () => {
    await plansApp.card({ package_code: 'batched', level: 1, duration_days: 10, daily_quota: 100 });
    await plansApp.codesFor({ quota: 55, count: 3, note: 'Spring' });
    await plansApp.codesFor({ package_code: 'batched', count: 2 });
    const answer = await plansApp.root.send('GET', '/api/admin/redemption-batches?page_size=2');
    const [plan, credits] = answer.body.data as { id: number; count: number; created_time: number }[];
    const { body } = await plansApp.root.send('GET', `/api/admin/redemption-codes?batch_id=${credits?.id}`);
    assert.equal((body.data as unknown[]).length, 3);
    const created_time = Math.floor(plansApp.clock.now() / 1000);
    assert.deepEqual(
      [plan, credits],
      [
        { id: plan?.id, note: '', package_code: 'batched', quota: 0, count: 2, created_time },
        { id: credits?.id, note: 'Spring', package_code: '', quota: 55, count: 3, created_time },
      ],
    );
    assert.ok(Number(answer.body.total) >= 2);
    await (await plansApp.fresh()).fails(403, 'GET', '/api/admin/redemption-batches');
  });

  it('expires codes to the second', async () => {
    const person = await plansApp.fresh();
    const end = Math.floor(plansApp.clock.now() / 1000) + 60;
    const [one = '', two = ''] = await plansApp.codesFor({ quota: 5, count: 2, expires_at: end });
    plansApp.clock.advance(59_000);
    await person.ok('POST', '/api/user/redeem', { code: one });
    plansApp.clock.advance(1_000);
    assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: two }), /expired/);
    const { body } = await plansApp.root.send('GET', '/api/admin/redemption-codes?status=expired');
    assert.equal(body.total, 1);
  });

  it('changes the expiry only of unused codes', async () => {
    const person = await plansApp.fresh();
    const end = Math.floor(plansApp.clock.now() / 1000) + 60;
    const request = { quota: 5, count: 2, expires_at: end };
    const { id, codes } = await plansApp.root.ok<{ id: number; codes: [string, string] }>(
      'POST',
      '/api/admin/redemption-codes',
      request,
    );
    const { body } = await plansApp.root.send('GET', `/api/admin/redemption-codes?batch_id=${id}`);
    const [second, first] = (body.data as { id: number; expires_at: number }[]).map((row) => row.id);
    plansApp.clock.advance(61_000);
    assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: codes[0] }), /expired/);
    for (const junk of [{ expires_at: end }, { expires_at: 0 }, { expires_at: '9' }, { expires_at: 1.5 }])
      await plansApp.root.fails(400, 'PUT', `/api/admin/redemption-codes/${first}`, junk);
    await plansApp.root.ok('PUT', `/api/admin/redemption-codes/${first}`, {});
    await plansApp.root.ok('PUT', `/api/admin/redemption-codes/${first}`, { expires_at: null });
    assert.equal((await plansApp.root.ok('GET', `/api/admin/redemption-codes/${first}`)).expires_at, 0);
    await person.ok('POST', '/api/user/redeem', { code: codes[0] });
    assert.match(
      await plansApp.root.fails(200, 'PUT', `/api/admin/redemption-codes/${first}`, { expires_at: null }),
      /used already/,
    );
    await plansApp.root.ok('DELETE', `/api/admin/redemption-codes/${second}`);
    assert.match(
      await plansApp.root.fails(200, 'PUT', `/api/admin/redemption-codes/${second}`, { expires_at: null }),
      /revoked/,
    );
    await plansApp.root.fails(200, 'PUT', '/api/admin/redemption-codes/999999', { expires_at: null });
    const log = (await plansApp.root.send('GET', '/api/admin/audit?page_size=50')).body.data as { action: string }[];
    for (const action of ['redemption-codes.create', 'redemption-code.update', 'redemption-code.void'])
      assert.ok(
        log.some((row) => row.action === action),
        action,
      );
  });

  it('lets no administrator redeem a code that he or another administrator created', async () => {
    const admins = await Promise.all([plansApp.fresh(), plansApp.fresh()]);
    const user = await plansApp.fresh();
    for (const { id } of admins) await plansApp.root.ok('PUT', `/api/admin/users/${id}`, { role: 'admin' });
    // A change of role ends the account's sessions.
    await plansApp.passing(0, admins);
    await plansApp.card({ package_code: 'self-made', daily_quota: 1_000 });
    const [maker] = admins;
    for (const brings of [{ quota: 500 }, { package_code: 'self-made' }]) {
      const { codes } = await maker.ok<{ codes: [string] }>('POST', '/api/admin/redemption-codes', {
        ...brings,
        count: 1,
      });
      const [code] = codes;
      for (const admin of admins) {
        assert.match(await admin.fails(403, 'POST', '/api/user/redeem', { code }), /role does not permit/);
        const { wallet, package_code } = await plansApp.own(admin);
        assert.deepEqual([wallet, package_code], [0, 'none']);
      }
      await user.ok('POST', '/api/user/redeem', { code });
    }
    const [fromRoot = ''] = await plansApp.codesFor({ quota: 7, count: 1 });
    await maker.ok('POST', '/api/user/redeem', { code: fromRoot });
    assert.equal((await plansApp.own(maker)).wallet, 7);
  });

  it('limits attempts to guess codes', async () => {
    const person = await plansApp.fresh();
    const [good = ''] = await plansApp.codesFor({ quota: 1, count: 1 });
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
