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

  it('extends the active subscription by any plan of its level and keeps its allowance', async () => {
    const person = await plansApp.fresh();
    await plansApp.card({ package_code: 'runs', level: 7, duration_days: 10, daily_quota: 100 });
    await plansApp.card({ package_code: 'joins', level: 7, duration_days: 5, daily_quota: 1 });
    await plansApp.activate(person, 'runs');
    const answer = await plansApp.activate(person, 'joins');
    assert.deepEqual(
      [answer.outcome, answer.package_code, answer.package_expires_at],
      ['extended', 'runs', Math.floor((plansApp.clock.now() + 15 * DAY) / 1000)],
    );
    assert.equal((await plansApp.own(person)).allowance_left, 100);
  });

  it('applies the level rule when a plan changes its level', async () => {
    const person = await plansApp.fresh();
    const { id } = await plansApp.card({ package_code: 'promoted', level: 1, duration_days: 10 });
    await plansApp.activate(person, 'promoted');
    await plansApp.root.ok('PUT', `/api/admin/package-cards/${id}`, { level: 9 });
    assert.equal((await plansApp.activate(person, 'promoted')).outcome, 'extended');
  });

  it('replaces by a higher level, queues a lower one, and returns to the built-in plan', async () => {
    const person = await plansApp.fresh();
    await plansApp.card({ package_code: 'low', level: 1, duration_days: 5 });
    await plansApp.card({ package_code: 'mid', level: 2, duration_days: 10 });
    await plansApp.card({ package_code: 'high', level: 3, duration_days: 3 });
    const start = plansApp.clock.now();
    assert.equal((await plansApp.activate(person, 'mid')).outcome, 'active');
    assert.equal((await plansApp.activate(person, 'low')).outcome, 'waiting');
    assert.equal((await plansApp.activate(person, 'high')).outcome, 'active');
    const now = await plansApp.own(person);
    assert.deepEqual(
      [now.package_code, now.expires_at, now.waiting.map(({ package_code }) => package_code)],
      ['high', Math.floor((start + 3 * DAY) / 1000), ['low']],
    );
    await plansApp.passing(3 * DAY - 1000, [person]);
    assert.equal((await person.ok('GET', '/api/user/self')).current_package_code, 'high');
    await plansApp.passing(1000, [person]);
    assert.equal((await person.ok('GET', '/api/user/self')).current_package_code, 'low');
    await plansApp.app.runMaintenance();
    const told = (await person.send('GET', '/api/notifications/')).body.data as { title: string; content: string }[];
    assert.match(String(told[0]?.title), /has expired/);
    assert.match(String(told[0]?.content), /active now/);
    await plansApp.passing(5 * DAY, [person]);
    const self = await person.ok('GET', '/api/user/self');
    assert.deepEqual([self.current_package_code, self.package_expires_at], ['none', 0]);
    await plansApp.activate(person, 'low');
    assert.equal((await plansApp.activate(person, 'none')).outcome, 'ended');
    const none = await plansApp.own(person);
    assert.deepEqual([none.package_code, none.allowance_left, none.windows], ['none', 0, []]);
    await plansApp.root.fails(200, 'POST', '/api/user/package/activate', { user_id: 999_999, package_code: 'low' });
    await plansApp.root.fails(200, 'POST', '/api/user/package/activate', {
      user_id: person.id,
      package_code: 'nowhere',
    });
  });

  it('assigns a plan once per Idempotency-Key, however often the request is repeated', async () => {
    const person = await plansApp.fresh();
    await plansApp.card({ package_code: 'paid', level: 6, duration_days: 10 });
    const pay = (change: Record<string, unknown> = {}, key = 'pay_1') =>
      plansApp.root.send(
        'POST',
        '/api/user/package/activate',
        { user_id: person.id, package_code: 'paid', ...change },
        { 'idempotency-key': key },
      );
    const expiresIn = async () => ((await plansApp.own(person)).expires_at * 1000 - plansApp.clock.now()) / DAY;
    const answers = await Promise.all(Array.from({ length: 8 }, () => pay()));
    const outcomeOf = ({ body }: (typeof answers)[number]) => (body.data as GrantResponse | undefined)?.outcome;
    assert.deepEqual([...new Set(answers.map(outcomeOf))], ['active'], 'a repetition gets the first result');
    assert.equal(await expiresIn(), 10);
    for (const other of [{ duration_days: 5 }, { package_code: 'none' }]) {
      const { status, body } = await pay(other);
      assert.partialDeepStrictEqual(
        { status, body },
        { status: 422, body: { success: false, code: 'idempotency_mismatch' } },
      );
      assert.match(String(body.message), /used with another request/);
    }
    assert.equal(outcomeOf(await pay({}, 'pay_2')), 'extended');
    assert.equal(await expiresIn(), 20);
    assert.match(String((await pay({ package_code: 'missing' }, 'pay_3')).body.message), /No such/);
    await pay({ duration_days: 3 }, 'pay_3');
    assert.equal(await expiresIn(), 23, 'a refused assignment leaves its key free');
    const another = await plansApp.fresh();
    await pay({ user_id: another.id });
    assert.equal((await plansApp.own(another)).package_code, 'paid');
    assert.match(String((await pay({}, 'two words')).body.message), /Idempotency-Key must be/);
  });

  it('notifies once before the end, and again after an extension', async () => {
    const person = await plansApp.fresh();
    await plansApp.card({ package_code: 'ending', level: 1, duration_days: 4 });
    await plansApp.activate(person, 'ending');
    await plansApp.card({ package_code: 'following', level: 0, name: 'Follower' });
    const news = async () =>
      (await person.send('GET', '/api/notifications/')).body.data as { content: string; target_url: string }[];
    const told = async () => (await news()).length;
    await plansApp.app.runMaintenance();
    assert.equal(await told(), 0);
    await plansApp.passing(2 * DAY + 1000, [person]);
    await plansApp.app.runMaintenance();
    await plansApp.app.runMaintenance();
    assert.equal(await told(), 1);
    assert.match((await news())[0]?.content ?? '', /in 48 hours\. Redeem|in 2 days\. Redeem/);
    assert.equal((await news())[0]?.target_url, '/packages');
    await plansApp.activate(person, 'ending');
    await plansApp.activate(person, 'following');
    await plansApp.app.runMaintenance();
    assert.equal(await told(), 1);
    await plansApp.passing(4 * DAY, [person]);
    await plansApp.app.runMaintenance();
    assert.equal(await told(), 2);
    assert.match((await news())[0]?.content ?? '', /“Follower” follows\.$/);
  });

  it('grants no plan that is disabled, and keeps the code that names it', async () => {
    const [person, other] = [await plansApp.fresh(), await plansApp.fresh()];
    const { id } = await plansApp.card({ package_code: 'paused', level: 1, duration_days: 4 });
    const [code = ''] = await plansApp.codesFor({ count: 1, package_code: 'paused' });
    await plansApp.activate(other, 'paused');
    await plansApp.root.ok('PUT', `/api/admin/package-cards/${id}`, { status: 2 });
    const assign = { user_id: person.id, package_code: 'paused' };
    for (const refused of [
      await plansApp.root.send('POST', '/api/user/package/activate', assign),
      await person.send('POST', '/api/user/redeem', { code }),
    ])
      assert.match(String(refused.body.message), /^This plan is disabled/);
    assert.equal((await plansApp.own(person)).package_code, 'none');
    assert.equal((await plansApp.own(other)).package_code, 'paused', 'it lasts for those who have it');
    await plansApp.root.ok('PUT', `/api/admin/package-cards/${id}`, { status: 1 });
    assert.equal(
      (await person.ok<{ package_code: string }>('POST', '/api/user/redeem', { code })).package_code,
      'paused',
    );
  });
});
