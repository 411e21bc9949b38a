import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { forEachDatabase } from '../for-each-database.ts';
import { DAY, HOUR, openPlansApp, type PlansApp } from './plans-app-fixture.ts';

forEachDatabase((_name, _open, freshUrl) => {
  let plansApp: PlansApp;
  before(async () => {
    plansApp = await openPlansApp(await freshUrl());
  });
  after(() => plansApp.stop());

  it('spends the allowance first, then the wallet, and refunds each to its source', async () => {
    const person = await plansApp.fresh();
    await plansApp.root.ok('PUT', `/api/admin/users/${person.id}`, { quota_delta: 1000 });
    await plansApp.card({ package_code: 'daily', level: 1, daily_quota: 100 });
    await plansApp.activate(person, 'daily');
    const first = await plansApp.reserve(person, 80);
    assert.deepEqual([(await plansApp.own(person)).allowance_left, (await plansApp.own(person)).wallet], [20, 1000]);
    const both = await plansApp.reserve(person, 50);
    assert.deepEqual([(await plansApp.own(person)).allowance_left, (await plansApp.own(person)).wallet], [0, 970]);
    await plansApp.settle(both, 30);
    assert.deepEqual([(await plansApp.own(person)).allowance_left, (await plansApp.own(person)).wallet], [0, 990]);
    await plansApp.refund(first);
    assert.deepEqual([(await plansApp.own(person)).allowance_left, (await plansApp.own(person)).wallet], [80, 990]);
    const late = await plansApp.reserve(person, 80);
    await plansApp.passing(DAY, [person]);
    assert.equal((await plansApp.own(person)).allowance_left, 100);
    await plansApp.refund(late);
    assert.deepEqual([(await plansApp.own(person)).allowance_left, (await plansApp.own(person)).wallet], [100, 990]);
    // A call is listed once, also if its allowance has expired meanwhile.
    const { body } = await plansApp.root.send('GET', `/api/admin/ledger?net=true&user_id=${person.id}`);
    assert.deepEqual(
      (body.data as { request_id: string; plan_amount: number; steps: { kind: string }[] }[])
        .filter(({ request_id }) => request_id === late)
        .map(({ plan_amount, steps }) => [plan_amount, steps.map(({ kind }) => kind)]),
      [[-80, ['reserve', 'refund', 'expire']]],
    );
    await assert.rejects(plansApp.reserve(person, 1091), /quota_not_enough/);
    assert.deepEqual([(await plansApp.own(person)).allowance_left, (await plansApp.own(person)).wallet], [100, 990]);
  });

  it('concurrent calls never take more than the allowance', async () => {
    const person = await plansApp.fresh();
    await plansApp.card({ package_code: 'raced', level: 1, daily_quota: 100, weekly_quota_limit: 90 });
    await plansApp.activate(person, 'raced');
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => plansApp.reserve(person, 7)));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 12);
    const { windows } = await plansApp.own(person);
    assert.deepEqual(
      windows.map(({ kind, used, left }) => [kind, used, left]),
      [
        ['day', 84, 16],
        ['week', 84, 6],
      ],
    );
  });

  it('refreshes at midnight of the time zone, and changing the zone gains nothing', async () => {
    const person = await plansApp.fresh();
    await person.ok('PUT', '/api/user/settings', { time_zone: 'Asia/Shanghai' });
    await plansApp.card({ package_code: 'zoned', level: 1, daily_quota: 10 });
    await plansApp.activate(person, 'zoned');
    await plansApp.reserve(person, 10);
    const [day] = (await plansApp.own(person)).windows;
    const midnight = (day?.refreshes_at ?? 0) * 1000;
    assert.equal(new Date(midnight).getUTCHours(), 16);
    await plansApp.passing(midnight - plansApp.clock.now() - 1000, [person]);
    assert.equal((await plansApp.own(person)).allowance_left, 0);
    for (const time_zone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'UTC']) {
      await person.ok('PUT', '/api/user/settings', { time_zone });
      assert.equal((await plansApp.own(person)).allowance_left, 0, time_zone);
      await assert.rejects(plansApp.reserve(person, 1), /quota_not_enough/);
    }
    await person.ok('PUT', '/api/user/settings', { time_zone: 'Asia/Shanghai' });
    await plansApp.passing(1000, [person]);
    await plansApp.reserve(person, 10);
    await plansApp.passing(DAY, [person]);
    await plansApp.reserve(person, 10);
    for (const time_zone of ['Mars/Olympus', 'CST'])
      await person.fails(400, 'PUT', '/api/user/settings', { time_zone });
  });

  it('starts no day at the midnight of a zone that was left after a call in the new one', async () => {
    const person = await plansApp.fresh();
    await person.ok('PUT', '/api/user/settings', { time_zone: 'Asia/Shanghai' });
    await plansApp.card({ package_code: 'moved', level: 1, daily_quota: 10 });
    await plansApp.activate(person, 'moved');
    const bystander = await plansApp.fresh();
    await plansApp.activate(bystander, 'moved');
    await plansApp.reserve(bystander, 5);
    await plansApp.passing(DAY, [person, bystander]);
    await plansApp.reserve(person, 5);
    const [day] = (await plansApp.own(person)).windows;
    const midnight = (day?.refreshes_at ?? 0) * 1000;
    await person.ok('PUT', '/api/user/settings', { time_zone: 'Pacific/Kiritimati' });
    await plansApp.reserve(person, 5);
    const [extended] = (await plansApp.own(person)).windows;
    const end = (extended?.refreshes_at ?? 0) * 1000;
    assert.deepEqual([new Date(midnight).getUTCHours(), new Date(end).getUTCHours(), end > midnight], [16, 10, true]);
    const [untouched] = (await plansApp.own(bystander)).windows;
    assert.equal(untouched?.refreshes_at, (Math.floor(plansApp.clock.now() / DAY) + 1) * (DAY / 1000));
    for (const time of [midnight, end - 1000]) {
      await plansApp.passing(time - plansApp.clock.now(), [person]);
      assert.equal((await plansApp.own(person)).allowance_left, 0);
      await assert.rejects(plansApp.reserve(person, 1), /quota_not_enough/);
    }
    await plansApp.passing(1000, [person]);
    await plansApp.reserve(person, 10);
  });

  it('returns nothing to the day of a plan that has ended', async () => {
    const person = await plansApp.fresh();
    await plansApp.card({ package_code: 'ending', level: 1, daily_quota: 100, duration_days: 2 });
    await plansApp.activate(person, 'ending');
    await plansApp.passing(2 * DAY - HOUR, [person]);
    const late = await plansApp.reserve(person, 80);
    // The day of the built-in plan that follows starts at the same midnight.
    await plansApp.passing(2 * HOUR, [person]);
    assert.equal((await plansApp.own(person)).package_code, 'none');
    await plansApp.refund(late);
    const { body } = await plansApp.root.send('GET', `/api/admin/ledger?net=true&user_id=${person.id}`);
    assert.deepEqual(
      (body.data as { request_id: string; steps: { kind: string }[] }[])
        .filter(({ request_id }) => request_id === late)
        .map(({ steps }) => steps.map(({ kind }) => kind)),
      [['reserve', 'refund', 'expire']],
    );
  });

  it('charges a cost beyond the reservation to the wallet once the plan excludes the model', async () => {
    const person = await plansApp.fresh();
    await plansApp.root.ok('PUT', `/api/admin/users/${person.id}`, { quota_delta: 100 });
    const { id } = await plansApp.card({ package_code: 'narrowed', level: 1, daily_quota: 100 });
    await plansApp.activate(person, 'narrowed');
    const call = await plansApp.reserve(person, 10);
    await plansApp.root.ok('PUT', `/api/admin/package-cards/${id}`, { models: ['another'] });
    await plansApp.settle(call, 30);
    const { allowance_left, wallet } = await plansApp.own(person);
    assert.deepEqual([allowance_left, wallet], [90, 80]);
  });

  it('counts by UTC for an account whose stored time zone is none, which can choose another', async () => {
    const person = await plansApp.fresh();
    await plansApp.card({ package_code: 'nowhere', level: 1, daily_quota: 10 });
    await plansApp.activate(person, 'nowhere');
    const { kysely } = plansApp.app.database;
    // Earlier releases accepted abbreviations, with which nothing can be calculated.
    await kysely.updateTable('accounts').set({ time_zone: 'CST' }).where('id', '=', person.id).execute();
    await kysely.updateTable('allowance_accounts').set({ zone: 'CST' }).where('user_id', '=', person.id).execute();
    await plansApp.reserve(person, 10);
    const [day] = (await plansApp.own(person)).windows;
    assert.equal(new Date((day?.refreshes_at ?? 0) * 1000).getUTCHours(), 0);
    await person.ok('PUT', '/api/user/settings', { time_zone: 'Asia/Shanghai' });
    assert.equal((await plansApp.own(person)).allowance_left, 0);
    await assert.rejects(plansApp.reserve(person, 1), /quota_not_enough/);
  });

  it('counts intervals and weeks from activation, to the second', async () => {
    const person = await plansApp.fresh();
    await plansApp.card({
      package_code: 'timed',
      level: 1,
      refresh_interval_seconds: 5 * 3600,
      interval_quota: 10,
      weekly_quota_limit: 25,
      daily_quota: 999,
    });
    await plansApp.activate(person, 'timed');
    await plansApp.reserve(person, 10);
    await plansApp.passing(5 * HOUR - 1000, [person]);
    await assert.rejects(plansApp.reserve(person, 1), /quota_not_enough/);
    await plansApp.passing(1000, [person]);
    await plansApp.reserve(person, 10);
    await plansApp.passing(5 * HOUR, [person]);
    assert.equal((await plansApp.own(person)).allowance_left, 5);
    await plansApp.reserve(person, 5);
    await assert.rejects(plansApp.reserve(person, 1), /quota_not_enough/);
    await plansApp.passing(7 * DAY - 10 * HOUR - 1000, [person]);
    await assert.rejects(plansApp.reserve(person, 1), /quota_not_enough/);
    await plansApp.passing(1000, [person]);
    await plansApp.reserve(person, 10);
  });
});
