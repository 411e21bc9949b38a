import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { HOUR_MS } from '../../src/contract/time-units.ts';
import { manualClock } from '../../src/server/platform/clock.ts';
import { auditLedger } from '../../src/server/quota/ledger-audit.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { assertAllowancesConsistent } from './assert-allowances-consistent.ts';
import { addPlan, openPlansFixture, setAllowanceWithoutPlan } from './plans-fixture.ts';
import { ReferenceModel, type ReferencePlan } from './reference-model.ts';

const DAY = 24 * HOUR_MS;
const NOON = Date.UTC(2026, 10, 21, 12);

const NO_LIMITS = { daily_quota: 0, refresh_interval_seconds: 0, interval_quota: 0, weekly_quota_limit: 0 };
const NONE: ReferencePlan = { ...NO_LIMITS, package_code: 'none', level: 0, daily_quota: 3, weekly_quota_limit: 9 };
const CARDS: readonly ReferencePlan[] = [
  { ...NO_LIMITS, package_code: 'daily', level: 1, daily_quota: 50 },
  { ...NO_LIMITS, package_code: 'nothing', level: 1 },
  {
    ...NO_LIMITS,
    package_code: 'five-hours',
    level: 2,
    refresh_interval_seconds: 18_000,
    interval_quota: 30,
    weekly_quota_limit: 70,
  },
  { ...NO_LIMITS, package_code: 'capped', level: 2, daily_quota: 40, weekly_quota_limit: 60 },
  { ...NO_LIMITS, package_code: 'top', level: 3, daily_quota: 20, refresh_interval_seconds: 60, interval_quota: 7 },
];

/** PostgreSQL runs the same statements, but each query takes longer. */
const RUNS = { sqlite: 150, postgres: 30 } as const;

const ref = fc.integer({ min: 0, max: 9 });
const amount = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 0, max: 70 }) },
  { weight: 1, arbitrary: fc.constant(2 ** 40) },
);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant('reserve' as const), ref, amount }) },
  fc.record({ does: fc.constant('settle' as const), ref, amount }),
  fc.record({ does: fc.constant('refund' as const), ref }),
  fc.record({
    does: fc.constant('grant' as const),
    card: fc.constantFrom(...CARDS),
    days: fc.constantFrom(1, 2, 9, 30),
  }),
  fc.record({
    does: fc.constant('pass' as const),
    ms: fc.constantFrom(
      1,
      HOUR_MS,
      HOUR_MS,
      5 * HOUR_MS - 1,
      5 * HOUR_MS,
      12 * HOUR_MS,
      DAY,
      3 * DAY,
      6 * DAY,
      7 * DAY,
    ),
  }),
  fc.record({ does: fc.constant('sweep' as const) }),
);

forEachDatabase((name, open) => {
  it('matches a reference model step by step, and the ledger audit finds no mismatch', async () => {
    const clock = manualClock(NOON);
    const database = await open();
    const fixture = openPlansFixture(database, clock);
    await setAllowanceWithoutPlan(fixture, { daily_quota: 3, weekly_quota_limit: 9 });
    const ids = new Map<string, number>();
    for (const card of CARDS) ids.set(card.package_code, await addPlan(fixture, card));
    let userId = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 60 }),
        fc.array(step, { minLength: 10, maxLength: 30, size: 'max' }),
        async (wallet, steps) => {
          userId += 1;
          await fixture.ledger.open(userId, wallet);
          const model = new ReferenceModel(NONE, clock.now(), wallet);
          for (const each of steps) {
            if (each.does === 'pass') {
              clock.advance(each.ms);
              model.pass(each.ms);
            } else if (each.does === 'sweep') {
              await fixture.subscriptions.processExpirations();
            } else if (each.does === 'grant') {
              const id = ids.get(each.card.package_code) ?? 0;
              await database.transaction((trx) => fixture.subscriptions.grant(trx, userId, id, 'test', each.days));
              model.grant(each.card, each.days);
            } else {
              const task = `task_${userId}_${each.ref}`;
              if (each.does === 'reserve') {
                if ((await find(task)) !== undefined) continue;
                assert.equal(await fixture.ledger.reserve(task, userId, each.amount), model.reserve(task, each.amount));
              } else if (each.does === 'settle')
                assert.equal(await fixture.ledger.settle(task, each.amount), model.end(task, each.amount));
              else assert.equal(await fixture.ledger.refund(task), model.end(task, 0) !== undefined);
            }
            const { current: plan, windows } = await fixture.allowances.currentUsage(userId, 'UTC');
            const { current, waiting } = plan.timeline;
            assert.deepEqual(
              {
                code: plan.plan.package_code,
                until: current?.expires_at ?? 0,
                waiting: waiting.map(({ plan }) => plan.package_code),
                left: Math.min(...windows.map(({ limit, used }) => limit - used)),
                wallet: (await fixture.ledger.quota.wallet(userId)).balance,
              },
              { code: model.code, until: model.until, waiting: model.waiting, left: model.left, wallet: model.wallet },
            );
          }
          await assertAllowancesConsistent(database, userId);
        },
      ),
      { numRuns: RUNS[name] },
    );
    assert.deepEqual(await auditLedger(database), []);

    async function find(task: string) {
      return database.kysely.selectFrom('ledger').select('id').where('ref', '=', task).executeTakeFirst();
    }
  });
});
