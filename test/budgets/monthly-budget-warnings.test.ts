import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DAY_MS } from '../../src/contract/time-units.ts';
import type { BudgetInfo } from '../../src/sdk/plans.ts';
import { TokenStore } from '../../src/server/accounts/tokens.ts';
import { manualClock } from '../../src/server/platform/clock.ts';
import type { TestUser } from '../accounts/test-user-client.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { openLedger } from '../ledger-fixture.ts';
import { startTestService, type TestService } from '../test-service.ts';

const START = Date.UTC(2026, 10, 28, 12);
const DECEMBER = Date.UTC(2026, 11, 1);

interface Told {
  readonly title: string;
  readonly content: string;
  readonly target_url: string;
}

describe('monthly budgets', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    const clock = manualClock(START);
    let service: TestService;
    let user: TestUser;
    let key: number;
    before(async () => {
      service = await startTestService(await freshUrl(), {}, { clock });
      user = await service.signUp('spender');
      key = (await user.ok<{ id: number }>('POST', '/api/tokens', { name: 'farm' })).id;
      await openLedger(service.app.database, undefined, clock).grant(user.id, 100_000, 'gift');
    });
    after(() => service.stop());

    let calls = 0;
    const spend = async (amount: number, token = key): Promise<void> => {
      const ledger = openLedger(service.app.database, undefined, clock);
      const ref = `req_${++calls}`;
      await ledger.reserve(ref, user.id, amount, token);
      await ledger.settle(ref, amount);
    };
    const told = async (): Promise<Told[]> => {
      // Two processes check at the same time.
      await Promise.all([service.app.runMaintenance(), service.app.runMaintenance()]);
      const rows = await user.ok<Told[]>('GET', '/api/notifications/?page_size=50');
      return rows.filter(({ title }) => title.includes('budget'));
    };
    const budgets = () => user.ok<BudgetInfo[]>('GET', '/api/budgets');

    it("shows this month's spending of the account and of a key", async () => {
      await spend(100);
      await user.ok('PUT', '/api/budgets/0', { month_quota: 10_000 });
      await user.ok('PUT', `/api/budgets/${key}`, { month_quota: 1_000, thresholds: [100, 30, 30] });
      assert.deepEqual(await budgets(), [
        { token_id: 0, token_name: '', month_quota: 10_000, thresholds: [50, 80, 100], month: '2026-11', spent: 100 },
        { token_id: key, token_name: 'farm', month_quota: 1_000, thresholds: [30, 100], month: '2026-11', spent: 100 },
      ]);
      await spend(40, 0);
      assert.deepEqual(
        (await budgets()).map(({ spent }) => spent),
        [140, 100],
      );
      assert.deepEqual(await told(), []);
    });

    it('notifies of a threshold once, of the highest if several are passed at once, and again in the next month', async () => {
      await spend(199);
      assert.deepEqual(await told(), [], '299 of 1,000');
      await spend(1);
      const [first, ...others] = await told();
      assert.deepEqual(others, []);
      assert.equal(first?.title, '30 % of the monthly budget of “farm” is spent');
      assert.equal(first?.target_url, `/account/tokens/${key}`);
      assert.equal((await told()).length, 1);
      await spend(5_000);
      const now = await told();
      assert.equal(now.length, 3, 'of the key and of the account');
      assert.deepEqual(
        now.find(({ target_url }) => target_url === '/account/overview')?.title,
        '50 % of the monthly budget is spent',
      );
      const events = await user.ok<{ events: { type: string; data: Record<string, unknown> }[] }>('GET', '/api/events');
      assert.deepEqual(
        events.events.filter(({ type }) => type === 'budget.reached').map(({ data }) => [data.token_id, data.percent]),
        [
          [key, 30],
          [0, 50],
          [key, 100],
        ],
      );
      const months = async () => (await budgets()).map(({ month, spent }) => [month, spent]);
      clock.advance(DECEMBER - clock.now() - 1);
      await spend(10);
      assert.deepEqual(await months(), [
        ['2026-11', 5_350],
        ['2026-11', 5_310],
      ]);
      clock.advance(1);
      assert.deepEqual(await months(), [
        ['2026-12', 0],
        ['2026-12', 0],
      ]);
      await spend(300);
      assert.deepEqual(await months(), [
        ['2026-12', 300],
        ['2026-12', 300],
      ]);
      assert.equal((await told()).length, 4);
      assert.equal((await told()).length, 4, 'once a month');
    });

    it('keeps the budgets, spending and notices of accounts apart', async () => {
      const other = await service.signUp('neighbour');
      await other.ok('PUT', '/api/budgets/0', { month_quota: 100, thresholds: [1] });
      assert.deepEqual(
        (await other.ok<BudgetInfo[]>('GET', '/api/budgets')).map(({ token_id, spent }) => [token_id, spent]),
        [[0, 0]],
      );
      const known = (await told()).length;
      assert.deepEqual(await other.ok('GET', '/api/notifications/'), []);
      await other.ok('DELETE', '/api/budgets/0');
      assert.equal((await budgets()).length, 2);
      assert.equal((await told()).length, known);
    });

    it('notifies of more budgets than are read at once', async () => {
      const { kysely } = service.app.database;
      const last = await service.signUp('last-of-all');
      const lastId = user.id + 1_000;
      await kysely.updateTable('accounts').set({ id: lastId }).where('id', '=', last.id).execute();
      const budget = { token_id: 0, month_quota: 10, thresholds: '[50]', told_month: 0, told_percent: 0 };
      const ids = [...Array.from({ length: 400 }, (_, index) => user.id + 500 + index), lastId];
      await kysely
        .insertInto('budgets')
        .values(ids.map((user_id) => ({ user_id, ...budget })))
        .execute();
      const use = { token_id: 1, model: 'm', channel_id: 0, requests: 1, prompt_tokens: 0, completion_tokens: 0 };
      const day = Math.floor(clock.now() / DAY_MS);
      await kysely
        .insertInto('usage_daily')
        .values({ user_id: lastId, day, quota: 5, ...use })
        .execute();
      await told();
      const notices = await kysely.selectFrom('notifications').select('id').where('user_id', '=', lastId).execute();
      assert.equal(notices.length, 1);
      await kysely.deleteFrom('budgets').where('user_id', 'in', ids).execute();
    });

    it('notifies again after a budget was changed, and not after it was removed or its key revoked', async () => {
      const known = (await told()).length;
      await user.ok('PUT', `/api/budgets/${key}`, { month_quota: 500, thresholds: [60] });
      assert.equal((await told()).length, known + 1);
      await user.ok('DELETE', '/api/budgets/0');
      assert.equal((await user.send('DELETE', '/api/budgets/0')).body.success, false);
      await user.ok('DELETE', `/api/tokens/${key}`);
      const revoked = await user.send('PUT', `/api/budgets/${key}`, { month_quota: 1 });
      assert.equal(revoked.body.message, 'No such token.');
      await spend(50_000);
      assert.equal((await told()).length, known + 1);
      assert.deepEqual(await budgets(), []);
    });

    it('stays without the budget of a key whose row is deleted long after its revocation', async () => {
      const { database } = service.app;
      const stored = () => database.kysely.selectFrom('budgets').select('token_id').execute();
      assert.deepEqual(await stored(), [{ token_id: key }]);
      const later = clock.now() + DAY_MS;
      // A release without this rule deleted the key alone.
      await database.kysely.deleteFrom('tokens').where('id', '=', key).execute();
      assert.deepEqual(await budgets(), []);
      const next = (await user.ok<{ id: number }>('POST', '/api/tokens', { name: 'next' })).id;
      await user.ok('PUT', `/api/budgets/${next}`, { month_quota: 1 });
      await user.ok('DELETE', `/api/tokens/${next}`);
      assert.equal(await new TokenStore(database).deleteRevokedBefore(later, 10), 1);
      assert.deepEqual(await stored(), [{ token_id: key }]);
    });

    it('notifies of the other budgets while one cannot be read', async () => {
      const { database } = service.app;
      const broken = { user_id: 0, token_id: 0, month_quota: 1, thresholds: 'junk', told_month: 0, told_percent: 0 };
      await database.kysely.insertInto('budgets').values(broken).execute();
      const next = (await user.ok<{ id: number }>('POST', '/api/tokens', { name: 'beside' })).id;
      await user.ok('PUT', `/api/budgets/${next}`, { month_quota: 100, thresholds: [50] });
      await spend(60, next);
      await assert.rejects(service.app.runMaintenance(), SyntaxError);
      await database.kysely.deleteFrom('budgets').where('user_id', '=', 0).execute();
      const rows = await user.ok<Told[]>('GET', '/api/notifications/?page_size=50');
      assert.equal(rows.filter(({ title }) => title.includes('“beside”')).length, 1);
      await user.ok('DELETE', `/api/tokens/${next}`);
    });

    it('refuses invalid budgets, and keys of other accounts', async () => {
      const other = await service.signUp('other');
      const foreign = (await other.ok<{ id: number }>('POST', '/api/tokens', { name: 'foreign' })).id;
      for (const id of [foreign, 999_999])
        assert.equal((await user.send('PUT', `/api/budgets/${id}`, { month_quota: 1 })).body.success, false);
      for (const body of [{}, { month_quota: 0 }, { month_quota: 1.5 }, { month_quota: 1, thresholds: [] }])
        await user.fails(400, 'PUT', '/api/budgets/0', body);
      await user.fails(400, 'PUT', '/api/budgets/-1', { month_quota: 1 });
      assert.deepEqual(await budgets(), []);
      assert.deepEqual(await other.ok('GET', '/api/budgets'), []);
    });
  });
});
