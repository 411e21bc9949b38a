import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, it } from 'node:test';
import { DAY_MS } from '../../src/contract/time-units.ts';
import { type ManualClock, manualClock } from '../../src/server/platform/clock.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { migrate } from '../../src/server/platform/db/migrate.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import { auditLedger } from '../../src/server/quota/ledger-audit.ts';
import { migrations, type Tables } from '../../src/server/tables.ts';
import { fixtureProgram } from '../fixture-programs.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { assertAllowancesConsistent } from './assert-allowances-consistent.ts';
import type { KillOrder, Point } from './plan-kills.fixture.ts';
import { ACTOR, addPlan, asUser, openPlansFixture, type PlansFixture } from './plans-fixture.ts';

const PROGRAM = fixtureProgram('test/plans/plan-kills.fixture.ts');

const TABLES = ['subscriptions', 'allowance_usage', 'redemption_codes', 'ledger', 'wallets', 'reservations'] as const;

/** The remaining allowance, the wallet and the plan's end (days from activation) after the operation ran once. */
interface After {
  readonly left: number;
  readonly wallet: number;
  readonly days: number;
}

forEachDatabase((_name, _open, freshUrl) => {
  let databaseUrl: string;
  let database: Database<Tables>;
  let clock: ManualClock;
  let fixture: PlansFixture;
  let userId = 0;
  before(async () => {
    databaseUrl = await freshUrl();
    database = openDatabase<Tables>(databaseUrl);
    await migrate(database, migrations);
    clock = manualClock(Date.UTC(2026, 10, 21, 12));
    fixture = openPlansFixture(database, clock);
    await addPlan(fixture, { package_code: 'daily', daily_quota: 100, duration_days: 10 });
  });
  after(() => database.close());

  /** An account with 10 days of the plan and 500 in the wallet. */
  const begin = async (): Promise<number> => {
    userId += 1;
    await fixture.ledger.open(userId, 500);
    await fixture.subscriptions.assignByAdmin(ACTOR, { userId, code: 'daily' });
    return clock.now();
  };
  const oneCode = async (request: { packageCode?: string; quota?: number }): Promise<string> =>
    (await fixture.codes.create(ACTOR, { ...request, count: 1 })).codes[0] ?? '';
  const everything = async () =>
    Object.fromEntries(
      await Promise.all(
        TABLES.map(async (table) => [
          table,
          (await database.kysely.selectFrom(table).selectAll().execute()).map((row) => JSON.stringify(row)).sort(),
        ]),
      ),
    ) as Record<string, string[]>;
  const dieAt = async (point: Point, what: string) => {
    const order: KillOrder = { databaseUrl, now: clock.now(), point, userId, what };
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify(order)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [, signal] = await once(child, 'exit');
    assert.equal(signal, 'SIGKILL');
  };
  /** Asserts that dying in the middle changes nothing, and that the operation then takes effect exactly once. */
  const holds = async (point: Point, what: string, work: () => Promise<unknown>, begun: number, expected: After) => {
    const untouched = await everything();
    await dieAt(point, what);
    assert.deepEqual(await everything(), untouched);
    await work();
    const { current, windows } = await fixture.allowances.currentUsage(userId, 'UTC');
    assert.deepEqual(
      {
        left: Math.min(...windows.map(({ limit, used }) => limit - used)),
        wallet: (await fixture.ledger.quota.wallet(userId)).balance,
        days: Math.max(0, (current.timeline.current?.expires_at ?? 0) - begun) / DAY_MS,
      },
      expected,
    );
    assert.deepEqual(await auditLedger(database), []);
    await assertAllowancesConsistent(database);
  };

  for (const point of ['redeem.taken', 'redeem.granted'] as const)
    it(`${point}: the code is still unused, and can be redeemed once`, async () => {
      const begun = await begin();
      const code = await oneCode({ packageCode: 'daily' });
      const redeem = () => fixture.codeRedemption.redeem(asUser(userId), '10.0.0.1', code);
      await holds(point, code, redeem, begun, { left: 100, wallet: 500, days: 20 });
      await assert.rejects(redeem(), { code: 'code_used' });
    });

  for (const point of ['credit.taken', 'credit.granted'] as const)
    it(`${point}: the quota is credited once`, async () => {
      const begun = await begin();
      const code = await oneCode({ quota: 77 });
      const redeem = () => fixture.codeRedemption.redeem(asUser(userId), '10.0.0.1', code);
      await holds(point, code, redeem, begun, { left: 100, wallet: 577, days: 10 });
      await assert.rejects(redeem(), { code: 'code_used' });
    });

  it('activate.granted: no subscription without its entry in the audit log', async () => {
    const begun = await begin();
    const activate = () => fixture.subscriptions.assignByAdmin(ACTOR, { userId, code: 'daily' });
    await holds('activate.granted', 'daily', activate, begun, { left: 100, wallet: 500, days: 20 });
  });

  it('reserve.taken: no allowance is lost without a reservation', async () => {
    const begun = await begin();
    const ref = `task_${userId}`;
    const reserve = () => fixture.ledger.reserve(ref, userId, 30);
    await holds('reserve.taken', ref, reserve, begun, { left: 70, wallet: 500, days: 10 });
  });

  it('refund.returned: nothing is refunded twice', async () => {
    const begun = await begin();
    const ref = `task_${userId}`;
    await fixture.ledger.reserve(ref, userId, 130);
    const refund = () => fixture.ledger.refund(ref);
    await holds('refund.returned', ref, refund, begun, { left: 100, wallet: 500, days: 10 });
    assert.equal(await refund(), false);
  });

  it('sweep.ended: an expired subscription ends once, and the queued one starts at that moment', async () => {
    await begin();
    await addPlan(fixture, { package_code: 'after', level: 0, daily_quota: 9, duration_days: 4 });
    await fixture.subscriptions.assignByAdmin(ACTOR, { userId, code: 'after' });
    const ended = clock.now() + 10 * DAY_MS;
    clock.advance(11 * DAY_MS);
    const sweep = () => fixture.subscriptions.processExpirations();
    await holds('sweep.ended', '', sweep, ended, { left: 9, wallet: 500, days: 4 });
    assert.equal((await fixture.subscriptions.currentPlan(userId)).code, 'after');
  });
});
