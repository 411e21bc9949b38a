import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { openLedger } from '../../../test/ledger-fixture.ts';
import { LedgerStore } from './ledger.ts';
import { LedgerReportStore } from './ledger-reports.ts';

const ALL = { page: 1, pageSize: 99, offset: 0 };

describe('ledger reports', () => {
  forEachDatabase((_name, open) => {
    const start = async () => {
      const database = await open();
      const ledger = openLedger(database);
      for (const userId of [1, 2]) {
        await ledger.open(userId, 1_000);
        for (const model of ['film', 'chat']) {
          const ref = `task_${userId}_${model}`;
          await ledger.run((trx) => ledger.quota.reserve(trx, { ref, userId, model, amount: 50 }));
          const usage = { promptTokens: userId, completionTokens: 10 * userId };
          await ledger.run((trx) => ledger.quota.settle(trx, ref, userId * 10, usage));
        }
      }
      return new LedgerReportStore(database);
    };

    it('lists entries of one account, one reference or one kind', async () => {
      const usage = await start();
      const { rows, total } = await usage.entries({ userId: 1 }, ALL);
      assert.equal(total, 5);
      assert.ok(rows.every(({ user_id }) => user_id === 1));
      const grant = rows.at(-1);
      assert.deepEqual(
        [grant?.kind, grant?.amount, grant?.plan_amount, grant?.charged, grant?.note],
        ['grant', 1_000, 0, 0, null],
      );
      assert.equal((await usage.entries({ kind: 'settle' }, ALL)).total, 4);
      const ofTask = await usage.entries({ ref: 'task_2_chat' }, { page: 2, pageSize: 1, offset: 1 });
      assert.deepEqual([ofTask.rows.map(({ kind }) => kind), ofTask.total], [['reserve'], 2]);
    });

    it('follows one reference from its reservation to its settlement', async () => {
      const usage = await start();
      assert.deepEqual(
        (await usage.entriesOf('task_1_film')).map(({ kind, amount }) => [kind, amount]),
        [
          ['reserve', -50],
          ['settle', 40],
        ],
      );
    });

    it('lists a call once, by its last entry, with all entries of the calls of a page', async () => {
      const usage = await start();
      const { rows, total } = await usage.entries({ userId: 1, isNet: true }, ALL);
      assert.deepEqual([rows.map(({ kind }) => kind), total], [['settle', 'settle', 'grant'], 3]);
      const steps = await usage.entriesOf(rows.map(({ ref }) => ref));
      assert.equal(
        steps.reduce((sum, { amount }) => sum + amount, 0),
        1_000 - 2 * 10,
      );
    });

    it('sums by account, model and token', async () => {
      const usage = await start();
      const all = { fromDay: 0, toDay: 1_000_000 };
      assert.deepEqual(await usage.usage({ ...all, model: 'film' }, ['user_id']), [
        { user_id: 2, requests: 1, quota: 20, prompt_tokens: 2, completion_tokens: 20 },
        { user_id: 1, requests: 1, quota: 10, prompt_tokens: 1, completion_tokens: 10 },
      ]);
      assert.deepEqual(await usage.usage({ ...all, userId: 2, tokenId: 0 }, []), [
        { requests: 2, quota: 40, prompt_tokens: 4, completion_tokens: 40 },
      ]);
      const nothing = { requests: 0, quota: 0, prompt_tokens: 0, completion_tokens: 0 };
      assert.deepEqual(await usage.usage({ ...all, tokenId: 9 }, []), [nothing], 'one row of zeros without groups');
    });

    it('returns the most expensive of too many groups, newest day first, and the sum of all', async () => {
      const database = await open();
      const usage = new LedgerReportStore(database);
      const figures = { token_id: 0, channel_id: 0, requests: 1, prompt_tokens: 0, completion_tokens: 0 };
      const rows = Array.from({ length: 10_100 }, (_, index) => {
        const [day, place] = [Math.floor(index / 101), index % 101];
        return { user_id: 1, day, model: `model-${place}`, quota: place, ...figures };
      });
      await database.transaction((trx) => new LedgerStore(database).addUsage(trx, rows));
      const all = { fromDay: 0, toDay: 99 };
      const groups = await usage.usage(all, ['day', 'model']);
      assert.equal(groups.length, 10_000);
      assert.ok(
        groups.every(({ day, model }, index) => day === 99 - Math.floor(index / 100) && model !== 'model-0'),
        'only the cheapest model of each day is missing',
      );
      assert.deepEqual(
        groups.slice(0, 2).map(({ quota }) => quota),
        [100, 99],
      );
      assert.equal((await usage.usage(all, []))[0]?.requests, 10_100);
    });
  });
});
