import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DAY_MS } from '../../src/contract/time-units.ts';
import { manualClock } from '../../src/server/platform/clock.ts';
import type { TestUser } from '../accounts/test-user-client.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { openLedger } from '../ledger-fixture.ts';
import { startTestService, type TestService } from '../test-service.ts';

const START = Date.UTC(2026, 10, 20, 12);

interface Figures {
  readonly day?: string;
  readonly requests: number;
  readonly quota: number;
}

describe('ledger and usage lists', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    const clock = manualClock(START);
    let service: TestService;
    let user: TestUser;
    before(async () => {
      service = await startTestService(await freshUrl(), {}, { clock });
      user = await service.signUp('spender');
      const ledger = openLedger(service.app.database, undefined, clock);
      await ledger.grant(user.id, 1_000, 'gift');
      await ledger.reserve('task_a', user.id, 100, 3);
      await ledger.settle('task_a', 70);
      await ledger.reserve('task_b', user.id, 50, 4);
      await ledger.refund('task_b');
      clock.advance(DAY_MS);
      await ledger.reserve('req_c', user.id, 20, 4);
      await ledger.run((trx) => ledger.quota.settle(trx, 'req_c', 15, { promptTokens: 120, completionTokens: 30 }));
    });
    after(() => service.stop());

    const entries = async (query: string) => {
      const { body } = await service.root.send('GET', `/api/admin/ledger?${query}`);
      return { rows: body.data as Record<string, unknown>[], total: body.total };
    };

    it('goes through a list of any length by the `next` of each page', async () => {
      const page = async (after: string) =>
        (await service.root.send('GET', `/api/admin/ledger?user_id=${user.id}&page_size=3${after}`))
          .body as unknown as {
          data: { id: number }[];
          total: number;
          next: string | null;
        };
      const sizes: number[] = [];
      const ids: number[] = [];
      for (let next: string | null = ''; next !== null; ) {
        const { data, total, next: following } = await page(next === '' ? '' : `&after=${next}`);
        assert.equal(total, 7);
        sizes.push(data.length);
        ids.push(...data.map(({ id }) => id));
        next = following;
      }
      assert.deepEqual(sizes, [3, 3, 1]);
      assert.equal(new Set(ids).size, 7);
      const refused = await service.root.send('GET', '/api/admin/ledger?after=1%20or%201');
      assert.equal(refused.status, 400);
    });

    it('lists every entry to administrators, newest first', async () => {
      const { rows, total } = await entries(`user_id=${user.id}`);
      assert.equal(total, 7);
      assert.deepEqual(
        rows.map((row) => [row.kind, row.amount, row.task_id, row.request_id]),
        [
          ['settle', 5, '', 'req_c'],
          ['reserve', -20, '', 'req_c'],
          ['refund', 50, 'task_b', ''],
          ['reserve', -50, 'task_b', ''],
          ['settle', 30, 'task_a', ''],
          ['reserve', -100, 'task_a', ''],
          ['grant', 1000, '', 'gift'],
        ],
      );
      assert.deepEqual(Object.keys(rows[0] ?? {}), [
        'id',
        'user_id',
        'organization',
        'submitted_by',
        'kind',
        'amount',
        'plan_amount',
        'created_time',
        'task_id',
        'request_id',
      ]);
      assert.equal(rows[0]?.created_time, (START + DAY_MS) / 1000);
      const wallet = await user.ok<{ quota: number }>('GET', '/api/user/self');
      assert.equal(
        rows.reduce((sum, row) => sum + Number(row.amount), 0),
        wallet.quota,
      );
    });

    it('filters and pages the ledger, and ignores invalid values', async () => {
      assert.equal((await entries('task_id=task_a')).total, 2);
      const ofOther = await service.signUp('receiver');
      await openLedger(service.app.database, undefined, clock).grant(ofOther.id, 7, 'gift of the receiver');
      assert.equal((await entries(`user_id=${ofOther.id}`)).total, 1);
      assert.equal((await entries('')).total, 8);
      assert.equal((await entries(`kind=refund&user_id=${user.id}`)).total, 1);
      assert.equal((await entries(`user_id=${user.id}&page=2&page_size=5`)).rows.length, 2);
      assert.equal((await entries('page=1000000000&page_size=1000000')).rows.length, 0);
      assert.equal((await entries('task_id=%25%25%25%25')).total, 0);
      for (const junk of ['user_id=-1', 'user_id=x', 'user_id=1e3', 'kind=theft', 'kind=', 'user_id=99999999999999999'])
        await service.root.fails(400, 'GET', `/api/admin/ledger?${junk}`);
      await user.fails(403, 'GET', '/api/admin/ledger');
    });

    it('shows administrators the cost of each channel, and accounts no channels', async () => {
      const { rows } = await service.root.ok<{ rows: unknown[] }>('GET', '/api/admin/usage?by=channel');
      assert.deepEqual(rows, [{ channel_id: 0, requests: 2, quota: 85, prompt_tokens: 120, completion_tokens: 30 }]);
      const none = await service.root.ok<{ rows: unknown[] }>('GET', '/api/admin/usage?by=day,channel&channel_id=7');
      assert.deepEqual(none.rows, []);
      await user.fails(400, 'GET', '/api/usage?by=channel');
      await service.root.fails(400, 'GET', '/api/admin/usage?channel_id=x');
    });

    it('shows an account its usage by day, model and token', async () => {
      const { rows, total } = await user.ok<{ rows: Figures[]; total: Figures }>('GET', '/api/usage');
      const none = { prompt_tokens: 0, completion_tokens: 0 };
      assert.deepEqual(rows, [
        {
          day: '2026-11-21',
          model: 'film',
          token_id: 4,
          requests: 1,
          quota: 15,
          prompt_tokens: 120,
          completion_tokens: 30,
        },
        { day: '2026-11-20', model: 'film', token_id: 3, requests: 1, quota: 70, ...none },
      ]);
      assert.deepEqual(total, { requests: 2, quota: 85, prompt_tokens: 120, completion_tokens: 30 });
      const byModel = await user.ok<{ rows: Figures[] }>('GET', '/api/usage?by=model&token_id=3');
      assert.deepEqual(byModel.rows, [{ model: 'film', requests: 1, quota: 70, ...none }]);
      const early = await user.ok<{ rows: Figures[]; total: Figures }>('GET', `/api/usage?to=${START / 1000}&by=day`);
      assert.deepEqual(
        early.rows.map(({ day }) => day),
        ['2026-11-20'],
      );
      const ever = await user.ok<{ total: Figures }>('GET', '/api/usage?from=0&to=999999999999');
      assert.equal(ever.total.quota, 85, 'a far end hides nothing');
      const never = await user.ok<{ rows: Figures[]; total: Figures }>('GET', '/api/usage?from=0&to=0');
      assert.deepEqual([never.rows, never.total.quota], [[], 0]);
      for (const junk of ['by=user', 'by=', 'by=day;drop', 'from=-1', 'to=x', 'token_id=-1', 'from=1e9'])
        await user.fails(400, 'GET', `/api/usage?${junk}`);
      const other = await service.signUp('nobody');
      assert.deepEqual((await other.ok<{ rows: Figures[] }>('GET', '/api/usage')).rows, []);
    });

    it('audits the ledger for the first administrator', async () => {
      const audit = await service.root.ok<{ ok: boolean; errors: []; checked_at: number }>(
        'GET',
        '/api/admin/ledger/check',
      );
      assert.deepEqual([audit.ok, audit.errors], [true, []]);
      assert.ok(audit.checked_at >= START / 1000, String(audit.checked_at));
      await user.fails(403, 'GET', '/api/admin/ledger/check');
    });

    it('shows administrators the usage of all accounts', async () => {
      const { rows } = await service.root.ok<{ rows: Figures[] }>('GET', '/api/admin/usage?by=user');
      assert.deepEqual(
        rows.map((row) => [(row as { user_id?: number }).user_id, row.quota]),
        [[user.id, 85]],
      );
      const none = await service.root.ok<{ rows: Figures[] }>('GET', `/api/admin/usage?user_id=${service.root.id}`);
      assert.deepEqual(none.rows, []);
      await user.fails(403, 'GET', '/api/admin/usage');
    });

    it('shows thirty days by default, and a year at most', async () => {
      const keeper = await service.signUp('keeper');
      const today = Date.UTC(2026, 10, 21);
      for (const daysAgo of [0, 29, 30, 365, 366]) {
        const then = openLedger(service.app.database, undefined, manualClock(today - daysAgo * DAY_MS));
        if (daysAgo === 0) await then.grant(keeper.id, 1_000, 'gift of the keeper');
        await then.reserve(`task_${daysAgo}_ago`, keeper.id, 5);
        await then.settle(`task_${daysAgo}_ago`, 5);
      }
      const daysOf = async (query: string) => {
        const { rows } = await keeper.ok<{ rows: Figures[] }>('GET', `/api/usage?by=day${query}`);
        return rows.map(({ day }) => (today - Date.parse(day ?? '')) / DAY_MS);
      };
      assert.deepEqual(await daysOf(''), [0, 29]);
      assert.deepEqual(await daysOf(`&from=${(today - 30 * DAY_MS) / 1000 + 86_399}`), [0, 29, 30]);
      assert.deepEqual(await daysOf('&from=0'), [0, 29, 30, 365]);
      assert.deepEqual(await daysOf(`&from=0&to=${today / 1000 - 1}`), [29, 30, 365, 366]);
      assert.deepEqual(await daysOf('&model=film'), [0, 29]);
      assert.deepEqual(await daysOf('&model=song'), []);
      const all = await service.root.ok<{ total: Figures }>('GET', `/api/admin/usage?user_id=${keeper.id}`);
      assert.equal(all.total.quota, 10);
    });
  });
});
