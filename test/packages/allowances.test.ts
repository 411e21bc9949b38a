import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { forEachDatabase } from '../databases.ts';
import { DAY, HOUR, openShop, type Shop } from './shop.ts';

forEachDatabase((_name, _open, freshUrl) => {
  let shop: Shop;
  before(async () => {
    shop = await openShop(await freshUrl());
  });
  after(() => shop.stop());

  it('spends the allowance first, then the wallet, and gives back where it came from', async () => {
    const person = await shop.fresh();
    await shop.root.ok('PUT', `/api/admin/users/${person.id}`, { quota_delta: 1000 });
    await shop.card({ package_code: 'daily', level: 1, daily_quota: 100 });
    await shop.activate(person, 'daily');
    const first = await shop.reserve(person, 80);
    assert.deepEqual([(await shop.own(person)).allowance_left, (await shop.own(person)).wallet], [20, 1000]);
    const both = await shop.reserve(person, 50);
    assert.deepEqual([(await shop.own(person)).allowance_left, (await shop.own(person)).wallet], [0, 970]);
    await shop.settle(both, 30);
    assert.deepEqual([(await shop.own(person)).allowance_left, (await shop.own(person)).wallet], [0, 990]);
    await shop.refund(first);
    assert.deepEqual([(await shop.own(person)).allowance_left, (await shop.own(person)).wallet], [80, 990]);
    const late = await shop.reserve(person, 80);
    await shop.passing(DAY, [person]);
    assert.equal((await shop.own(person)).allowance_left, 100);
    await shop.refund(late);
    assert.deepEqual([(await shop.own(person)).allowance_left, (await shop.own(person)).wallet], [100, 990]);
    await assert.rejects(shop.reserve(person, 1091), /quota_not_enough/);
    assert.deepEqual([(await shop.own(person)).allowance_left, (await shop.own(person)).wallet], [100, 990]);
  });

  it('never lets racing calls take more than there is', async () => {
    const person = await shop.fresh();
    await shop.card({ package_code: 'raced', level: 1, daily_quota: 100, weekly_quota_limit: 90 });
    await shop.activate(person, 'raced');
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => shop.reserve(person, 7)));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 12);
    const { windows } = await shop.own(person);
    assert.deepEqual(
      windows.map(({ kind, used, left }) => [kind, used, left]),
      [
        ['day', 84, 16],
        ['week', 84, 6],
      ],
    );
  });

  it('refreshes at midnight of the time zone, and a move buys nothing', async () => {
    const person = await shop.fresh();
    await person.ok('PUT', '/api/user/settings', { time_zone: 'Asia/Shanghai' });
    await shop.card({ package_code: 'zoned', level: 1, daily_quota: 10 });
    await shop.activate(person, 'zoned');
    await shop.reserve(person, 10);
    const [day] = (await shop.own(person)).windows;
    const midnight = (day?.refreshes_at ?? 0) * 1000;
    assert.equal(new Date(midnight).getUTCHours(), 16);
    await shop.passing(midnight - shop.clock.now() - 1000, [person]);
    assert.equal((await shop.own(person)).allowance_left, 0);
    for (const time_zone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'UTC']) {
      await person.ok('PUT', '/api/user/settings', { time_zone });
      assert.equal((await shop.own(person)).allowance_left, 0, time_zone);
      await assert.rejects(shop.reserve(person, 1), /quota_not_enough/);
    }
    await person.ok('PUT', '/api/user/settings', { time_zone: 'Asia/Shanghai' });
    await shop.passing(1000, [person]);
    await shop.reserve(person, 10);
    await shop.passing(DAY, [person]);
    await shop.reserve(person, 10);
    await person.fails(400, 'PUT', '/api/user/settings', { time_zone: 'Mars/Olympus' });
  });

  it('counts intervals and weeks from activation, to the second', async () => {
    const person = await shop.fresh();
    await shop.card({
      package_code: 'timed',
      level: 1,
      refresh_interval_seconds: 5 * 3600,
      interval_quota: 10,
      weekly_quota_limit: 25,
      daily_quota: 999,
    });
    await shop.activate(person, 'timed');
    await shop.reserve(person, 10);
    await shop.passing(5 * HOUR - 1000, [person]);
    await assert.rejects(shop.reserve(person, 1), /quota_not_enough/);
    await shop.passing(1000, [person]);
    await shop.reserve(person, 10);
    await shop.passing(5 * HOUR, [person]);
    assert.equal((await shop.own(person)).allowance_left, 5);
    await shop.reserve(person, 5);
    await assert.rejects(shop.reserve(person, 1), /quota_not_enough/);
    await shop.passing(7 * DAY - 10 * HOUR - 1000, [person]);
    await assert.rejects(shop.reserve(person, 1), /quota_not_enough/);
    await shop.passing(1000, [person]);
    await shop.reserve(person, 10);
  });
});
