import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { forEachDatabase } from '../databases.ts';
import { DAY, openShop, type Shop } from './shop.ts';

forEachDatabase((_name, _open, freshUrl) => {
  let shop: Shop;
  before(async () => {
    shop = await openShop(await freshUrl());
  });
  after(() => shop.stop());

  it('extends by any card of the level that runs, whose allowance goes on', async () => {
    const person = await shop.fresh();
    await shop.card({ package_code: 'runs', level: 7, duration_days: 10, daily_quota: 100 });
    await shop.card({ package_code: 'joins', level: 7, duration_days: 5, daily_quota: 1 });
    await shop.activate(person, 'runs');
    const answer = await shop.activate(person, 'joins');
    assert.deepEqual(
      [answer.outcome, answer.package_code, answer.package_expires_at],
      ['extended', 'runs', Math.floor((shop.clock.now() + 15 * DAY) / 1000)],
    );
    assert.equal((await shop.own(person)).allowance_left, 100);
  });

  it('keeps the level rule when a card changes its level', async () => {
    const person = await shop.fresh();
    const { id } = await shop.card({ package_code: 'promoted', level: 1, duration_days: 10 });
    await shop.activate(person, 'promoted');
    await shop.root.ok('PUT', `/api/admin/package-cards/${id}`, { level: 9 });
    assert.equal((await shop.activate(person, 'promoted')).outcome, 'extended');
  });

  it('replaces by a higher level, queues a lower one, and returns to none', async () => {
    const person = await shop.fresh();
    await shop.card({ package_code: 'low', level: 1, duration_days: 5 });
    await shop.card({ package_code: 'mid', level: 2, duration_days: 10 });
    await shop.card({ package_code: 'high', level: 3, duration_days: 3 });
    const start = shop.clock.now();
    assert.equal((await shop.activate(person, 'mid')).outcome, 'active');
    assert.equal((await shop.activate(person, 'low')).outcome, 'waiting');
    assert.equal((await shop.activate(person, 'high')).outcome, 'active');
    const now = await shop.own(person);
    assert.deepEqual(
      [now.package_code, now.expires_at, now.waiting.map(({ package_code }) => package_code)],
      ['high', Math.floor((start + 3 * DAY) / 1000), ['low']],
    );
    await shop.passing(3 * DAY - 1000, [person]);
    assert.equal((await person.ok('GET', '/api/user/self')).current_package_code, 'high');
    await shop.passing(1000, [person]);
    assert.equal((await person.ok('GET', '/api/user/self')).current_package_code, 'low');
    await shop.app.sweep();
    const told = (await person.send('GET', '/api/notifications/')).body.data as { title: string; content: string }[];
    assert.match(String(told[0]?.title), /has ended/);
    assert.match(String(told[0]?.content), /runs now/);
    await shop.passing(5 * DAY, [person]);
    const self = await person.ok('GET', '/api/user/self');
    assert.deepEqual([self.current_package_code, self.package_expires_at], ['none', 0]);
    await shop.activate(person, 'low');
    assert.equal((await shop.activate(person, 'none')).outcome, 'ended');
    const none = await shop.own(person);
    assert.deepEqual([none.package_code, none.allowance_left, none.windows], ['none', 0, []]);
    await shop.root.fails(200, 'POST', '/api/user/package/activate', { user_id: 999_999, package_code: 'low' });
    await shop.root.fails(200, 'POST', '/api/user/package/activate', {
      user_id: person.id,
      package_code: 'nowhere',
    });
  });

  it('warns once before the end, and again after an extension', async () => {
    const person = await shop.fresh();
    await shop.card({ package_code: 'ending', level: 1, duration_days: 4 });
    await shop.activate(person, 'ending');
    await shop.card({ package_code: 'following', level: 0, name: 'Follower' });
    const news = async () =>
      (await person.send('GET', '/api/notifications/')).body.data as { content: string; target_url: string }[];
    const told = async () => (await news()).length;
    await shop.app.sweep();
    assert.equal(await told(), 0);
    await shop.passing(2 * DAY + 1000, [person]);
    await shop.app.sweep();
    await shop.app.sweep();
    assert.equal(await told(), 1);
    assert.match((await news())[0]?.content ?? '', /in 48 hours\. Redeem|in 2 days\. Redeem/);
    assert.equal((await news())[0]?.target_url, '/packages');
    await shop.activate(person, 'ending');
    await shop.activate(person, 'following');
    await shop.app.sweep();
    assert.equal(await told(), 1);
    await shop.passing(4 * DAY, [person]);
    await shop.app.sweep();
    assert.equal(await told(), 2);
    assert.match((await news())[0]?.content ?? '', /“Follower” follows\.$/);
  });
});
