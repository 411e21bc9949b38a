import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { DAY_MS } from '../../src/contract/time-units.ts';
import { isAppError } from '../../src/server/platform/app-error.ts';
import { type ManualClock, manualClock } from '../../src/server/platform/clock.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { migrate } from '../../src/server/platform/db/migrate.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import { auditLedger } from '../../src/server/quota/ledger-audit.ts';
import { migrations, type Tables } from '../../src/server/tables.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { assertAllowancesConsistent } from './assert-allowances-consistent.ts';
import { ACTOR, addPlan, asUser, openPlansFixture, type PlansFixture } from './plans-fixture.ts';

/** `npm run hammer` sets more. */
const ROUNDS = Number(process.env.RACE_ROUNDS ?? '12');
const CODES_OF_AN_ACCOUNT = 50;

/** The result, or the code of the failure. */
const outcome = async <T>(work: Promise<T>): Promise<T | string> => {
  try {
    return await work;
  } catch (error) {
    if (isAppError(error)) return error.code;
    throw error;
  }
};
const times = <T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));

forEachDatabase((name, _open, freshUrl) => {
  let clock: ManualClock;
  let databases: Database<Tables>[];
  /** On PostgreSQL two fixtures, standing for processes that share the database. */
  let fixtures: PlansFixture[];
  let notices: string[];
  /** An account that cannot be notified. */
  let unreachable = 0;
  let count = 0;
  before(async () => {
    const url = await freshUrl();
    clock = manualClock(Date.UTC(2026, 10, 21, 12));
    notices = [];
    databases = Array.from({ length: name === 'postgres' ? 2 : 1 }, () => openDatabase<Tables>(url));
    for (const database of databases) await migrate(database, migrations);
    const notifier = {
      notify: async (_trx: unknown, notice: { userId: number; deduplicationKey?: string }) => {
        if (notice.userId === unreachable) throw new Error('no inbox');
        notices.push(`${notice.deduplicationKey}`);
      },
    };
    fixtures = databases.map((database) => openPlansFixture(database, clock, { notifier }));
  });
  after(async () => {
    for (const database of databases) await database.close();
  });

  const fixture = (index: number): PlansFixture => fixtures[index % fixtures.length] ?? assert.fail();
  const database = () => databases[0] ?? assert.fail();
  const account = async (wallet = 0): Promise<number> => {
    const id = ++count;
    await fixture(0).ledger.open(id, wallet);
    return id;
  };
  const plan = async (change: object = {}): Promise<string> => {
    const package_code = `raced-${++count}`;
    await addPlan(fixture(0), { package_code, duration_days: 10, daily_quota: 100, ...change });
    return package_code;
  };
  const codesFor = async (packageCode: string, howMany: number) =>
    (await fixture(0).codes.create(ACTOR, { packageCode, count: howMany })).codes;
  const assertConsistent = async () => {
    assert.deepEqual(await auditLedger(database()), []);
    await assertAllowancesConsistent(database());
  };

  it('T83: redeems a plan code for exactly one of a hundred attempts by different accounts', async () => {
    const people = await times(20, () => account());
    const [code = ''] = await codesFor(await plan(), 1);
    const outcomes = await times(100, (i) =>
      outcome(fixture(i).codeRedemption.redeem(asUser(people[i % 20] ?? 0), `10.0.${i}.1`, code)),
    );
    assert.equal(outcomes.filter((each) => typeof each === 'object').length, 1);
    assert.equal(outcomes.filter((each) => each === 'code_used').length, 99);
    const held = await database().kysely.selectFrom('subscriptions').select('user_id').execute();
    const used = await database().kysely.selectFrom('redemption_codes').select('used_by').execute();
    assert.deepEqual(
      held.map(({ user_id }) => user_id),
      used.map(({ used_by }) => used_by),
    );
  });

  it('adds up the days of codes redeemed concurrently', async () => {
    const userId = await account();
    const codes = await codesFor(await plan(), 20);
    await times(20, (i) => fixture(i).codeRedemption.redeem(asUser(userId), '10.1.0.1', codes[i] ?? ''));
    assert.equal((await fixture(0).subscriptions.currentPlan(userId)).expiresAt * 1000, clock.now() + 200 * DAY_MS);
    const rows = await database()
      .kysely.selectFrom('subscriptions')
      .select(['state', 'duration_days'])
      .where('user_id', '=', userId)
      .execute();
    assert.deepEqual(rows, [{ state: 'active', duration_days: 200 }]);
  });

  it('keeps the highest of many levels active, and loses no days of lower levels', async () => {
    const userId = await account();
    const levels = [1, 2, 3, 4, 5];
    const codes = await Promise.all(levels.map(async (level) => (await codesFor(await plan({ level }), 1))[0] ?? ''));
    const outcomes = await times(5, (i) =>
      fixture(i).codeRedemption.redeem(asUser(userId), '10.1.0.2', codes[i] ?? ''),
    );
    const { current } = await fixture(0).allowances.currentUsage(userId, 'UTC');
    assert.equal(current.plan.level, 5);
    const waited = outcomes.filter((each) => each.outcome === 'waiting').length;
    assert.deepEqual(current.timeline.waiting.length, waited);
  });

  it('either redeems or revokes a code, never both', async () => {
    const codes = await codesFor(await plan(), ROUNDS);
    const { rows } = await fixture(0).codes.list({}, { page: 1, pageSize: ROUNDS, offset: 0 });
    const ids = rows.map(({ id }) => id).reverse();
    // The number of attempts per hour is limited for an account and for an address.
    for (let first = 0; first < ROUNDS; first += CODES_OF_AN_ACCOUNT) {
      const userId = await account();
      const ends = await times(Math.min(CODES_OF_AN_ACCOUNT, ROUNDS - first), async (i) =>
        Promise.all([
          outcome(
            fixture(i).codeRedemption.redeem(
              asUser(userId),
              `10.2.0.${1 + first / CODES_OF_AN_ACCOUNT}`,
              codes[first + i] ?? '',
            ),
          ),
          outcome(fixture(i + 1).codes.void(ACTOR, ids[first + i] ?? 0)),
        ]),
      );
      for (const [redeemed, withdrawn] of ends)
        assert.ok(
          (typeof redeemed === 'object' && withdrawn === 'code_used') ||
            (redeemed === 'code_expired' && withdrawn === undefined),
          JSON.stringify([redeemed, withdrawn]),
        );
      const days = ends.filter(([redeemed]) => typeof redeemed === 'object').length * 10;
      const { expiresAt } = await fixture(0).subscriptions.currentPlan(userId);
      assert.equal(expiresAt === 0 ? 0 : (expiresAt * 1000 - clock.now()) / DAY_MS, days);
    }
  });

  it('never removes a plan while an account is being subscribed to it', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const userId = await account();
      const code = await plan();
      const { rows } = await fixture(0).catalog.list({ page: 1, pageSize: 1_000, offset: 0 });
      const id = rows.find((row) => row.package_code === code)?.id ?? 0;
      const [given, removed] = await Promise.all([
        outcome(fixture(0).subscriptions.assignByAdmin(ACTOR, { userId, code })),
        // Every second round delays the later operation, so that each of the two sometimes runs first.
        (round % 2 === 0 ? Promise.resolve() : setImmediate()).then(() =>
          outcome(fixture(1).catalog.remove(ACTOR, id)),
        ),
      ]);
      const current = (await fixture(0).subscriptions.currentPlan(userId)).code;
      if (typeof given === 'object') assert.deepEqual([removed, current], ['in_use', code]);
      else assert.deepEqual([removed, current], [undefined, 'none']);
    }
  });

  it('takes exactly the allowance from concurrent processes', async () => {
    const userId = await account(95);
    await fixture(0).subscriptions.assignByAdmin(ACTOR, { userId, code: await plan({ weekly_quota_limit: 60 }) });
    const outcomes = await times(60, (i) => fixture(i).ledger.reserve(`task_${userId}_${i}`, userId, 10));
    assert.equal(outcomes.filter((each) => each === undefined).length, 15);
    assert.equal((await fixture(0).ledger.quota.wallet(userId)).balance, 5);
    await assertConsistent();
  });

  it('keeps the ledger consistent while subscriptions start and end during reservations', async () => {
    const people = [await account(1_000), await account(1_000)];
    const [low, high] = [await plan({ level: 1 }), await plan({ level: 2, weekly_quota_limit: 150 })];
    await times(120, async (i) => {
      const userId = people[i % 2] ?? 0;
      const ref = `task_${userId}_${i}`;
      if (i % 8 === 0) await fixture(i).subscriptions.assignByAdmin(ACTOR, { userId, code: i % 16 === 0 ? low : high });
      if (i % 30 === 0) await fixture(i).subscriptions.assignByAdmin(ACTOR, { userId, code: 'none' });
      if (i % 20 === 7) clock.advance(DAY_MS / 2);
      const reserved: unknown = await fixture(i).ledger.reserve(ref, userId, 10 + (i % 5) * 7);
      if (reserved !== undefined) return;
      if (i % 3 === 0) await Promise.all([fixture(i).ledger.refund(ref), fixture(i + 1).ledger.settle(ref, 3)]);
      else if (i % 3 === 1) await fixture(i + 1).ledger.settle(ref, i % 2 === 0 ? 100 : 5);
    });
    await assertConsistent();
  });

  it('notifies of an expiry once, whichever process finds it', async () => {
    const userId = await account();
    await fixture(0).subscriptions.assignByAdmin(ACTOR, { userId, code: await plan({ duration_days: 1 }) });
    clock.advance(DAY_MS);
    notices.length = 0;
    await times(6, (i) => fixture(i).subscriptions.processExpirations());
    const { id } = await database()
      .kysely.selectFrom('subscriptions')
      .select('id')
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow();
    assert.equal(notices.filter((each) => each === `package.ended:${id}`).length, 1);
  });

  it('ends and announces the plans of the other accounts while those of one fail', async () => {
    const [first, second, third] = [await account(), await account(), await account()];
    const assign = async (userId: number, days: number) =>
      fixture(0).subscriptions.assignByAdmin(ACTOR, { userId, code: await plan({ duration_days: days }) });
    await assign(first, 1);
    await assign(second, 2);
    await assign(third, 4);
    clock.advance(2 * DAY_MS);
    unreachable = first;
    notices.length = 0;
    await assert.rejects(fixture(0).subscriptions.processExpirations(), /no inbox/);
    assert.deepEqual(
      notices.map((each) => each.replace(/:.*/, '')),
      ['package.ended', 'package.expiring'],
    );
    unreachable = 0;
    await fixture(0).subscriptions.processExpirations();
    assert.equal(notices.length, 3);
  });

  it('announces no end that has passed, when more plans have ended than one run stores', async () => {
    const planId = await addPlan(fixture(0), { package_code: `raced-${++count}` });
    const [starts_at, expires_at] = [clock.now() - 30 * DAY_MS, clock.now() - 1];
    const common = { plan_id: planId, state: 'active' as const, duration_days: 30, expiry_notified: 0, source: 'test' };
    const rows = Array.from({ length: 250 }, (_, index) => ({
      ...{ user_id: 1_000_000 + index, starts_at, expires_at, created_at: starts_at },
      ...common,
    }));
    await database().kysely.insertInto('subscriptions').values(rows).execute();
    notices.length = 0;
    await fixture(0).subscriptions.processExpirations();
    assert.deepEqual([...new Set(notices.map((each) => each.replace(/:.*/, '')))], ['package.ended']);
    await fixture(0).subscriptions.processExpirations();
    assert.equal(notices.length, 250);
  });
});
