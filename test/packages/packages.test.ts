import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { findTimeZone } from '../../src/server/accounts/store.ts';
import { makeAllowances } from '../../src/server/packages/allowances.ts';
import { type HandClock, handClock } from '../../src/server/platform/clock.ts';
import type { Quota } from '../../src/server/quota/quota.ts';
import { makeQuota } from '../../src/server/quota/service.ts';
import { QuotaStore } from '../../src/server/quota/store.ts';
import { PASSWORD, type Person } from '../accounts/person.ts';
import { forEachDatabase } from '../databases.ts';
import { type RunningApp, runApp } from '../running-app.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** A Saturday noon, UTC. */
const NOON = Date.UTC(2026, 10, 21, 12);

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

interface Own {
  readonly package_code: string;
  readonly expires_at: number;
  readonly allowance_left: number;
  readonly windows: {
    kind: string;
    limit: number;
    used: number;
    left: number;
    refreshes_at: number;
    runs_out_at: number;
  }[];
  readonly waiting: { package_code: string; starts_at: number }[];
  readonly wallet: number;
}
interface Redeemed {
  readonly outcome: string;
  readonly package_code: string;
  readonly package_expires_at: number;
  readonly quota: number;
}

forEachDatabase((_name, _open, freshUrl) => {
  let service: RunningApp;
  let clock: HandClock;
  let quota: Quota;
  let count = 0;
  before(async () => {
    clock = handClock(NOON);
    service = await runApp(await freshUrl(), {}, { clock });
    const { database } = service.app;
    quota = makeQuota(new QuotaStore(database), clock, makeAllowances({ database, clock, timeZoneIn: findTimeZone }));
  });
  after(() => service.stop());

  const fresh = () => service.person(`somebody-${count++}`);
  const card = (change: Record<string, unknown>) =>
    service.root.ok<{ id: number }>('POST', '/api/admin/package-cards', {
      package_code: `card-${count++}`,
      name: 'A card',
      level: 1,
      duration_days: 30,
      ...change,
    });
  const own = (person: Person) => person.ok<Own>('GET', '/api/user/package') as Promise<Own>;
  const activate = (person: Person, package_code: string, duration_days?: number) =>
    service.root.ok('POST', '/api/user/package/activate', {
      user_id: person.id,
      package_code,
      ...(duration_days === undefined ? {} : { duration_days }),
    });
  const codesFor = async (wish: Record<string, unknown>): Promise<string[]> =>
    (await service.root.ok<{ codes: string[] }>('POST', '/api/admin/redemption-codes', wish)).codes;
  const reserve = (person: Person, amount: number, model = 'any') => {
    const ref = `req-${count++}`;
    return service.app.database
      .transaction((trx) => quota.reserve(trx, { ref, userId: person.id, model, amount }))
      .then(() => ref);
  };
  const refund = (ref: string) => service.app.database.transaction((trx) => quota.refund(trx, ref));
  const settle = (ref: string, cost: number) => service.app.database.transaction((trx) => quota.settle(trx, ref, cost));
  const passing = async (ms: number, people: readonly Person[] = []) => {
    clock.advance(ms);
    await service.root.logIn('root', 'root-password-1');
    for (const person of people) {
      const { username } = await service.root.ok<{ username: string }>('GET', `/api/admin/users/${person.id}`);
      await person.logIn(username, PASSWORD);
    }
  };

  it('lists cards to the letter, only those to be had, by level', async () => {
    await card({ package_code: 'gold', level: 30, price_amount: 19.9, daily_quota: 5 });
    await card({ package_code: 'silver', level: 20, price_amount: 9, models: ['m1'] });
    await card({ package_code: 'gift', level: 25, purchasable: false });
    await card({ package_code: 'gone', level: 26, status: 2 });
    const nobody = await service.app.http.fastify.inject({ url: '/api/package-cards' });
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

  it('keeps cards for administrators, the built-in one for good', async () => {
    const { body } = await service.root.send('GET', '/api/admin/package-cards');
    const [none] = body.data as { id: number; package_code: string; system_builtin: boolean }[];
    assert.deepEqual([none?.package_code, none?.system_builtin], ['none', true]);
    await service.root.fails(200, 'DELETE', `/api/admin/package-cards/${none?.id}`);
    await service.root.fails(200, 'PUT', `/api/admin/package-cards/${none?.id}`, { package_code: 'some' });
    await service.root.fails(200, 'PUT', `/api/admin/package-cards/${none?.id}`, { status: 2 });
    const { id } = await card({ package_code: 'to-change', models: ['a'] });
    await service.root.fails(200, 'POST', '/api/admin/package-cards', {
      package_code: 'to-change',
      name: 'x',
      level: 1,
      duration_days: 1,
    });
    await service.root.ok('PUT', `/api/admin/package-cards/${id}`, { name: 'Renamed', models: ['b', 'c'] });
    const changed = await service.root.ok('GET', `/api/admin/package-cards/${id}`);
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
    ])
      await service.root.fails(400, 'PUT', `/api/admin/package-cards/${id}`, junk);
    await codesFor({ package_code: 'to-change', count: 1 });
    assert.match(await service.root.fails(200, 'DELETE', `/api/admin/package-cards/${id}`), /in use/);
    const unused = await card({});
    await service.root.ok('DELETE', `/api/admin/package-cards/${unused.id}`);
    await service.root.fails(200, 'GET', `/api/admin/package-cards/${unused.id}`);
    const user = await fresh();
    await user.fails(403, 'GET', '/api/admin/package-cards');
    await user.fails(403, 'POST', '/api/user/package/activate', { user_id: user.id, package_code: 'gold' });
  });

  it('redeems a code however it is typed, once', async () => {
    const person = await fresh();
    await card({ package_code: 'basic', level: 1, duration_days: 10, daily_quota: 100 });
    const [first = '', second = ''] = await codesFor({ package_code: 'basic', count: 2 });
    assert.match(first, /^[0-9A-Z]{5}(-[0-9A-Z]{5}){3}$/);
    assert.notEqual(first, second);
    const answer = await person.ok<Redeemed>('POST', '/api/user/redeem', {
      code: ` ${first.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')}\n`,
    });
    assert.deepEqual(
      [answer.outcome, answer.package_code, answer.package_expires_at],
      ['active', 'basic', (clock.now() + 10 * DAY) / 1000],
    );
    const self = await person.ok('GET', '/api/user/self');
    assert.deepEqual([self.current_package_code, self.package_expires_at], ['basic', (clock.now() + 10 * DAY) / 1000]);
    assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: first }), /used already/);
    assert.match(await (await fresh()).fails(200, 'POST', '/api/user/redeem', { code: first }), /used already/);
    for (const junk of ['nonsense', '=1+1', "' or 1=1", '🎁'])
      assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: junk }), /not valid/);
    await person.fails(400, 'POST', '/api/user/redeem', { code: 5 });
    await person.fails(400, 'POST', '/api/user/redeem', {});
    const again = await person.ok<Redeemed>('POST', '/api/user/redeem', { code: second });
    assert.deepEqual([again.outcome, again.package_expires_at], ['extended', (clock.now() + 20 * DAY) / 1000]);
  });

  it('gives a code to one of a hundred', async () => {
    const people = await Promise.all(Array.from({ length: 10 }, fresh));
    const [code = ''] = await codesFor({ quota: 777, count: 1 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        (people[i % 10] ?? service.root).send('POST', '/api/user/redeem', { code }),
      ),
    );
    assert.equal(answers.filter(({ body }) => body.success).length, 1);
    const wallets = await Promise.all(people.map(async (person) => (await own(person)).wallet));
    assert.equal(
      wallets.reduce((sum, wallet) => sum + wallet, 0),
      777,
    );
    const { body } = await service.root.send('GET', '/api/admin/redemption-codes?status=used');
    const [row] = body.data as { code: string; quota: number; used_by: number }[];
    assert.deepEqual([row?.quota, people.some(({ id }) => id === row?.used_by)], [777, true]);
    assert.ok(!JSON.stringify(body).includes(code));
  });

  it('lists codes masked, exports them without live formulas, withdraws them', async () => {
    const { id, codes } = await service.root.ok<{ id: number; codes: string[] }>(
      'POST',
      '/api/admin/redemption-codes',
      {
        quota: 5,
        count: 3,
        note: '=HYPERLINK("http://evil.example")',
      },
    );
    const { body } = await service.root.send('GET', `/api/admin/redemption-codes?batch_id=${id}`);
    const rows = body.data as { id: number; code: string; status: string }[];
    assert.equal(body.total, 3);
    for (const code of codes)
      assert.ok(!JSON.stringify(rows).includes(code) && !JSON.stringify(rows).includes(code.replaceAll('-', '')));
    const csv = await service.app.http.fastify.inject({
      url: `/api/admin/redemption-codes/export?batch_id=${id}`,
      headers: { cookie: `session=${service.root.jar.get('session')}`, 'service-api-user': String(service.root.id) },
    });
    assert.match(String(csv.headers['content-type']), /^text\/csv/);
    assert.equal(csv.body.split('\r\n').length, 5);
    assert.ok(!/(^|,|")[=+\-@\t\r]/m.test(csv.body.replaceAll('\r\n', '\n')), csv.body);
    await service.root.ok('DELETE', `/api/admin/redemption-codes/${rows[2]?.id}`);
    assert.match(await service.root.fails(200, 'DELETE', `/api/admin/redemption-codes/${rows[2]?.id}`), /withdrawn/);
    const person = await fresh();
    assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: codes[0] }), /withdrawn/);
    assert.equal((await service.root.ok('POST', '/api/admin/redemption-codes/void', { batch_id: id })).voided, 2);
    assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: codes[1] }), /withdrawn/);
    for (const junk of [
      { count: 1 },
      { quota: 1, package_code: 'gold', count: 1 },
      { quota: 1, count: 0 },
      { quota: 1, count: 100_000 },
      { quota: -1, count: 1 },
      { quota: 1, count: 1, expires_at: 5 },
    ])
      await service.root.fails(400, 'POST', '/api/admin/redemption-codes', junk);
    await service.root.fails(200, 'POST', '/api/admin/redemption-codes', { package_code: 'nowhere', count: 1 });
  });

  it('lets codes expire to the second', async () => {
    const person = await fresh();
    const end = Math.floor(clock.now() / 1000) + 60;
    const [one = '', two = ''] = await codesFor({ quota: 5, count: 2, expires_at: end });
    clock.advance(59_000);
    await person.ok('POST', '/api/user/redeem', { code: one });
    clock.advance(1_000);
    assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: two }), /expired/);
    const { body } = await service.root.send('GET', '/api/admin/redemption-codes?status=expired');
    assert.equal(body.total, 1);
  });

  it('changes until when an unused code is good, and only of those', async () => {
    const person = await fresh();
    const end = Math.floor(clock.now() / 1000) + 60;
    const wish = { quota: 5, count: 2, expires_at: end };
    const { id, codes } = await service.root.ok<{ id: number; codes: [string, string] }>(
      'POST',
      '/api/admin/redemption-codes',
      wish,
    );
    const { body } = await service.root.send('GET', `/api/admin/redemption-codes?batch_id=${id}`);
    const [second, first] = (body.data as { id: number; expires_at: number }[]).map((row) => row.id);
    clock.advance(61_000);
    assert.match(await person.fails(200, 'POST', '/api/user/redeem', { code: codes[0] }), /expired/);
    for (const junk of [{ expires_at: end }, { expires_at: 0 }, { expires_at: '9' }, { expires_at: 1.5 }])
      await service.root.fails(400, 'PUT', `/api/admin/redemption-codes/${first}`, junk);
    await service.root.ok('PUT', `/api/admin/redemption-codes/${first}`, {});
    await service.root.ok('PUT', `/api/admin/redemption-codes/${first}`, { expires_at: null });
    assert.equal((await service.root.ok('GET', `/api/admin/redemption-codes/${first}`)).expires_at, 0);
    await person.ok('POST', '/api/user/redeem', { code: codes[0] });
    assert.match(
      await service.root.fails(200, 'PUT', `/api/admin/redemption-codes/${first}`, { expires_at: null }),
      /used already/,
    );
    await service.root.ok('DELETE', `/api/admin/redemption-codes/${second}`);
    assert.match(
      await service.root.fails(200, 'PUT', `/api/admin/redemption-codes/${second}`, { expires_at: null }),
      /withdrawn/,
    );
    await service.root.fails(200, 'PUT', '/api/admin/redemption-codes/999999', { expires_at: null });
    const log = (await service.root.send('GET', '/api/admin/audit?page_size=50')).body.data as { action: string }[];
    for (const action of ['redemption-codes.create', 'redemption-code.update', 'redemption-code.void'])
      assert.ok(
        log.some((row) => row.action === action),
        action,
      );
  });

  it('extends by any card of the level that runs, whose allowance goes on', async () => {
    const person = await fresh();
    await card({ package_code: 'runs', level: 7, duration_days: 10, daily_quota: 100 });
    await card({ package_code: 'joins', level: 7, duration_days: 5, daily_quota: 1 });
    await activate(person, 'runs');
    const answer = await activate(person, 'joins');
    assert.deepEqual(
      [answer.outcome, answer.package_code, answer.package_expires_at],
      ['extended', 'runs', Math.floor((clock.now() + 15 * DAY) / 1000)],
    );
    assert.equal((await own(person)).allowance_left, 100);
  });

  it('keeps the level rule when a card changes its level', async () => {
    const person = await fresh();
    const { id } = await card({ package_code: 'promoted', level: 1, duration_days: 10 });
    await activate(person, 'promoted');
    await service.root.ok('PUT', `/api/admin/package-cards/${id}`, { level: 9 });
    assert.equal((await activate(person, 'promoted')).outcome, 'extended');
  });

  it('replaces by a higher level, queues a lower one, and returns to none', async () => {
    const person = await fresh();
    await card({ package_code: 'low', level: 1, duration_days: 5 });
    await card({ package_code: 'mid', level: 2, duration_days: 10 });
    await card({ package_code: 'high', level: 3, duration_days: 3 });
    const start = clock.now();
    assert.equal((await activate(person, 'mid')).outcome, 'active');
    assert.equal((await activate(person, 'low')).outcome, 'waiting');
    assert.equal((await activate(person, 'high')).outcome, 'active');
    const now = await own(person);
    assert.deepEqual(
      [now.package_code, now.expires_at, now.waiting.map(({ package_code }) => package_code)],
      ['high', Math.floor((start + 3 * DAY) / 1000), ['low']],
    );
    await passing(3 * DAY - 1000, [person]);
    assert.equal((await person.ok('GET', '/api/user/self')).current_package_code, 'high');
    await passing(1000, [person]);
    assert.equal((await person.ok('GET', '/api/user/self')).current_package_code, 'low');
    await service.app.sweep();
    const told = (await person.send('GET', '/api/notifications/')).body.data as { title: string; content: string }[];
    assert.match(String(told[0]?.title), /has ended/);
    assert.match(String(told[0]?.content), /runs now/);
    await passing(5 * DAY, [person]);
    const self = await person.ok('GET', '/api/user/self');
    assert.deepEqual([self.current_package_code, self.package_expires_at], ['none', 0]);
    await activate(person, 'low');
    assert.equal((await activate(person, 'none')).outcome, 'ended');
    assert.equal((await own(person)).package_code, 'none');
    await service.root.fails(200, 'POST', '/api/user/package/activate', { user_id: 999_999, package_code: 'low' });
    await service.root.fails(200, 'POST', '/api/user/package/activate', {
      user_id: person.id,
      package_code: 'nowhere',
    });
  });

  it('spends the allowance first, then the wallet, and gives back where it came from', async () => {
    const person = await fresh();
    await service.root.ok('PUT', `/api/admin/users/${person.id}`, { quota_delta: 1000 });
    await card({ package_code: 'daily', level: 1, daily_quota: 100 });
    await activate(person, 'daily');
    const first = await reserve(person, 80);
    assert.deepEqual([(await own(person)).allowance_left, (await own(person)).wallet], [20, 1000]);
    const both = await reserve(person, 50);
    assert.deepEqual([(await own(person)).allowance_left, (await own(person)).wallet], [0, 970]);
    await settle(both, 30);
    assert.deepEqual([(await own(person)).allowance_left, (await own(person)).wallet], [0, 990]);
    await refund(first);
    assert.deepEqual([(await own(person)).allowance_left, (await own(person)).wallet], [80, 990]);
    const late = await reserve(person, 80);
    await passing(DAY, [person]);
    assert.equal((await own(person)).allowance_left, 100);
    await refund(late);
    assert.deepEqual([(await own(person)).allowance_left, (await own(person)).wallet], [100, 990]);
    await assert.rejects(reserve(person, 1091), /quota_not_enough/);
    assert.deepEqual([(await own(person)).allowance_left, (await own(person)).wallet], [100, 990]);
  });

  it('never lets racing calls take more than there is', async () => {
    const person = await fresh();
    await card({ package_code: 'raced', level: 1, daily_quota: 100, weekly_quota_limit: 90 });
    await activate(person, 'raced');
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => reserve(person, 7)));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 12);
    const { windows } = await own(person);
    assert.deepEqual(
      windows.map(({ kind, used, left }) => [kind, used, left]),
      [
        ['day', 84, 16],
        ['week', 84, 6],
      ],
    );
  });

  it('refreshes at midnight of the time zone, and a move buys nothing', async () => {
    const person = await fresh();
    await person.ok('PUT', '/api/user/settings', { time_zone: 'Asia/Shanghai' });
    await card({ package_code: 'zoned', level: 1, daily_quota: 10 });
    await activate(person, 'zoned');
    await reserve(person, 10);
    const [day] = (await own(person)).windows;
    const midnight = (day?.refreshes_at ?? 0) * 1000;
    assert.equal(new Date(midnight).getUTCHours(), 16);
    await passing(midnight - clock.now() - 1000, [person]);
    assert.equal((await own(person)).allowance_left, 0);
    for (const time_zone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'UTC']) {
      await person.ok('PUT', '/api/user/settings', { time_zone });
      assert.equal((await own(person)).allowance_left, 0, time_zone);
      await assert.rejects(reserve(person, 1), /quota_not_enough/);
    }
    await person.ok('PUT', '/api/user/settings', { time_zone: 'Asia/Shanghai' });
    await passing(1000, [person]);
    await reserve(person, 10);
    await passing(DAY, [person]);
    await reserve(person, 10);
    await person.fails(400, 'PUT', '/api/user/settings', { time_zone: 'Mars/Olympus' });
  });

  it('counts intervals and weeks from activation, to the second', async () => {
    const person = await fresh();
    await card({
      package_code: 'timed',
      level: 1,
      refresh_interval_seconds: 5 * 3600,
      interval_quota: 10,
      weekly_quota_limit: 25,
      daily_quota: 999,
    });
    await activate(person, 'timed');
    await reserve(person, 10);
    await passing(5 * HOUR - 1000, [person]);
    await assert.rejects(reserve(person, 1), /quota_not_enough/);
    await passing(1000, [person]);
    await reserve(person, 10);
    await passing(5 * HOUR, [person]);
    assert.equal((await own(person)).allowance_left, 5);
    await reserve(person, 5);
    await assert.rejects(reserve(person, 1), /quota_not_enough/);
    await passing(7 * DAY - 10 * HOUR - 1000, [person]);
    await assert.rejects(reserve(person, 1), /quota_not_enough/);
    await passing(1000, [person]);
    await reserve(person, 10);
  });

  it('permits the models a card names, and all where it names none', async () => {
    const person = await fresh();
    await card({ package_code: 'narrow', level: 1, daily_quota: 10, models: ['only-this'] });
    await activate(person, 'narrow');
    await assert.rejects(reserve(person, 1, 'another'), /quota_not_enough/);
    await reserve(person, 1, 'only-this');
    const { key } = await person.ok<{ key: string }>('POST', '/api/tokens', { name: 'k' });
    const models = await person.send('GET', '/v1/models', undefined, { authorization: `Bearer ${key}` });
    assert.deepEqual(models.body.data, []);
  });

  it('warns once before the end, and again after an extension', async () => {
    const person = await fresh();
    await card({ package_code: 'ending', level: 1, duration_days: 4 });
    await activate(person, 'ending');
    const told = async () =>
      ((await person.send('GET', '/api/notifications/')).body.data as { title: string }[]).length;
    await service.app.sweep();
    assert.equal(await told(), 0);
    await passing(2 * DAY + 1000, [person]);
    await service.app.sweep();
    await service.app.sweep();
    assert.equal(await told(), 1);
    await activate(person, 'ending');
    await service.app.sweep();
    assert.equal(await told(), 1);
    await passing(4 * DAY, [person]);
    await service.app.sweep();
    assert.equal(await told(), 2);
  });

  it('limits guessing of codes', async () => {
    const person = await fresh();
    const [good = ''] = await codesFor({ quota: 1, count: 1 });
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
