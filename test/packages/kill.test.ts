import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, it } from 'node:test';
import { migrations } from '../../src/server/migrations.ts';
import { type HandClock, handClock } from '../../src/server/platform/clock.ts';
import { type Database, openDatabase } from '../../src/server/platform/db/database.ts';
import { migrate } from '../../src/server/platform/db/migrate.ts';
import { checkBooks } from '../../src/server/quota/books-store.ts';
import type { Tables } from '../../src/server/tables.ts';
import { forEachDatabase } from '../databases.ts';
import { assertAllowances } from './allowance-books.ts';
import { ACTOR, addCard, type Desk, openDesk } from './desk.ts';
import type { KillOrder, Point } from './kill.fixture.ts';

const DAY = 86_400_000;
const TABLES = ['package_holdings', 'allowance_use', 'redemption_codes', 'ledger', 'wallets', 'holds'] as const;

/** What is left of the allowance, the wallet and the package's end (days from activation) after the work was done once. */
interface After {
  readonly left: number;
  readonly wallet: number;
  readonly days: number;
}

forEachDatabase((_name, _open, freshUrl) => {
  let databaseUrl: string;
  let database: Database<Tables>;
  let clock: HandClock;
  let desk: Desk;
  let userId = 0;
  before(async () => {
    databaseUrl = await freshUrl();
    database = openDatabase<Tables>(databaseUrl);
    await migrate(database, migrations);
    clock = handClock(Date.UTC(2026, 10, 21, 12));
    desk = openDesk(database, clock);
    await addCard(desk, { package_code: 'daily', daily_quota: 100, duration_days: 10 });
  });
  after(() => database.close());

  /** Somebody with 10 days of the package and 500 in the wallet. */
  const begin = async (): Promise<number> => {
    userId += 1;
    await desk.ledger.open(userId, 500);
    await desk.plans.activate(ACTOR, { userId, code: 'daily' });
    return clock.now();
  };
  const oneCode = async (wish: { packageCode?: string; quota?: number }): Promise<string> =>
    (await desk.codes.make(ACTOR, { ...wish, count: 1 })).codes[0] ?? '';
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
    const child = spawn(process.execPath, [`${import.meta.dirname}/kill.fixture.ts`, JSON.stringify(order)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [, signal] = await once(child, 'exit');
    assert.equal(signal, 'SIGKILL');
  };
  /** Dies in the middle, which must change nothing; then does it, which must change everything, once. */
  const holds = async (point: Point, what: string, work: () => Promise<unknown>, begun: number, expected: After) => {
    const untouched = await everything();
    await dieAt(point, what);
    assert.deepEqual(await everything(), untouched);
    await work();
    const { running, windows } = await desk.allowances.look(userId, 'UTC');
    assert.deepEqual(
      {
        left: Math.min(...windows.map(({ limit, used }) => limit - used)),
        wallet: (await desk.ledger.quota.wallet(userId)).balance,
        days: Math.max(0, (running.timeline.current?.expires_at ?? 0) - begun) / DAY,
      },
      expected,
    );
    assert.deepEqual(await checkBooks(database), []);
    await assertAllowances(database);
  };

  for (const point of ['redeem.taken', 'redeem.granted'] as const)
    it(`${point}: the code is as good as before, and works once`, async () => {
      const begun = await begin();
      const code = await oneCode({ packageCode: 'daily' });
      const redeem = () => desk.redeem(userId, '10.0.0.1', code);
      await holds(point, code, redeem, begun, { left: 100, wallet: 500, days: 20 });
      await assert.rejects(redeem(), { code: 'code_used' });
    });

  for (const point of ['credit.taken', 'credit.granted'] as const)
    it(`${point}: the money comes once`, async () => {
      const begun = await begin();
      const code = await oneCode({ quota: 77 });
      const redeem = () => desk.redeem(userId, '10.0.0.1', code);
      await holds(point, code, redeem, begun, { left: 100, wallet: 577, days: 10 });
      await assert.rejects(redeem(), { code: 'code_used' });
    });

  it('activate.granted: no package without its line in the audit log', async () => {
    const begun = await begin();
    const activate = () => desk.plans.activate(ACTOR, { userId, code: 'daily' });
    await holds('activate.granted', 'daily', activate, begun, { left: 100, wallet: 500, days: 20 });
  });

  it('reserve.taken: no allowance is gone without a reservation', async () => {
    const begun = await begin();
    const ref = `task_${userId}`;
    const reserve = () => desk.ledger.reserve(ref, userId, 30);
    await holds('reserve.taken', ref, reserve, begun, { left: 70, wallet: 500, days: 10 });
  });

  it('refund.returned: nothing comes back twice', async () => {
    const begun = await begin();
    const ref = `task_${userId}`;
    await desk.ledger.reserve(ref, userId, 130);
    const refund = () => desk.ledger.refund(ref);
    await holds('refund.returned', ref, refund, begun, { left: 100, wallet: 500, days: 10 });
    assert.equal(await refund(), false);
  });

  it('sweep.ended: a package that has ended ends once, and what waits begins when it would have', async () => {
    await begin();
    await addCard(desk, { package_code: 'after', level: 0, daily_quota: 9, duration_days: 4 });
    await desk.plans.activate(ACTOR, { userId, code: 'after' });
    const ended = clock.now() + 10 * DAY;
    clock.advance(11 * DAY);
    const sweep = () => desk.plans.sweep();
    await holds('sweep.ended', '', sweep, ended, { left: 9, wallet: 500, days: 4 });
    assert.equal((await desk.plans.planOf(userId)).code, 'after');
  });
});
