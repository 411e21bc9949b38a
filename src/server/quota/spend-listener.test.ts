import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { manualClock } from '../platform/clock.ts';
import { LedgerStore, type Reservation, type Settlement } from './ledger.ts';
import { LedgerService, NO_ALLOWANCES } from './ledger-service.ts';

describe('spend listener', () => {
  forEachDatabase((_name, open) => {
    /** An account with 1,000 quota in its wallet and a plan that pays `fromPlan` in total. */
    const start = async (fromPlan: number) => {
      const database = await open();
      const heard: unknown[] = [];
      const counted: string[] = [];
      let left = fromPlan;
      const quota = new LedgerService({
        store: new LedgerStore(database),
        clock: manualClock(),
        allowances: {
          ...NO_ALLOWANCES,
          findTerms: async (_trx, requests) => requests.map(() => ({ hasAllowance: true, spendLimit: undefined })),
          async take(_trx, { amount }) {
            const taken = Math.min(left, amount);
            left -= taken;
            return { taken, slot: 'day' };
          },
        },
        onSettled: (end, count) => void counted.push(`${end} ${count}`),
        onSpend: async (_trx, userId, wallet) => void heard.push([userId, wallet.before, wallet.after]),
      });
      await database.transaction((trx) => quota.openWallet(trx, 1, 1_000));
      const reservation = (ref: string, amount: number): Reservation => ({ ref, userId: 1, model: 'film', amount });
      return {
        heard,
        counted,
        /** Refunds the reservations in a transaction that is rolled back. */
        undone: (...refs: readonly string[]) =>
          database.transaction(async (trx) => {
            await quota.charge(trx, { settlements: refs.map((ref) => ({ ref, cost: 1 })) });
            throw new Error('rolled back');
          }),
        reserve: (...all: readonly (readonly [string, number])[]) =>
          database.transaction((trx) =>
            quota.charge(trx, { reservations: all.map(([ref, amount]) => reservation(ref, amount)) }),
          ),
        settleAll: (...all: readonly Settlement[]) =>
          database.transaction((trx) => quota.charge(trx, { settlements: all })),
        settle: (ref: string, cost: number) => database.transaction((trx) => quota.settle(trx, ref, cost)),
        grant: (amount: number, ref: string) =>
          database.transaction((trx) => quota.grant(trx, { userId: 1, amount, ref })),
        refund: (ref: string) => database.transaction((trx) => quota.refund(trx, ref)),
      };
    };

    it('receives the balance before and after, once for a batch of reservations', async () => {
      const { heard, reserve } = await start(0);
      await reserve(['a', 100], ['b', 50]);
      await reserve(['c', 0]);
      assert.deepEqual(heard, [[1, 1_000, 850]]);
    });

    it('receives only the part that the plan does not pay', async () => {
      const { heard, reserve } = await start(120);
      await reserve(['a', 100]);
      assert.deepEqual(heard, []);
      await reserve(['b', 100]);
      assert.deepEqual(heard, [[1, 1_000, 920]]);
    });

    it('receives charges beyond a reservation, and no returns', async () => {
      const { heard, reserve, settle, refund } = await start(0);
      await reserve(['a', 100], ['b', 100], ['c', 100]);
      heard.length = 0;
      await settle('a', 60);
      await refund('b');
      assert.deepEqual(heard, []);
      await settle('c', 160);
      assert.deepEqual(heard, [[1, 840, 780]]);
      await reserve(['d', 10]);
      heard.length = 0;
      await settle('d', 11);
      assert.deepEqual(heard, [[1, 770, 769]]);
    });

    it('receives deductions and no credits or refused deductions', async () => {
      const { heard, grant } = await start(0);
      await grant(500, 'credit');
      await assert.rejects(grant(-1_501, 'too much'));
      assert.deepEqual(heard, []);
      await grant(-1_100, 'deduction');
      assert.deepEqual(heard, [[1, 1_500, 400]]);
    });

    it('is not called for a settlement paid by the plan', async () => {
      const { heard, reserve, settle } = await start(50);
      await reserve(['a', 10]);
      await settle('a', 30);
      assert.deepEqual(heard, []);
    });

    it('has a counterpart that counts settlements of each kind after their commit', async () => {
      const { counted, reserve, settle, settleAll, refund, undone } = await start(0);
      await reserve(['a', 10], ['b', 10], ['c', 10], ['d', 10]);
      await settle('a', 5);
      await refund('b');
      await assert.rejects(undone('c'));
      assert.deepEqual(counted, ['settle 1', 'refund 1']);
      counted.length = 0;
      await undone('c', 'd').catch(() => {});
      await settle('c', 0);
      await settle('c', 0);
      assert.deepEqual(counted, ['settle 1']);
      counted.length = 0;
      await reserve(['e', 10], ['f', 10]);
      await settleAll({ ref: 'd', cost: 1 }, { ref: 'e' }, { ref: 'f' });
      assert.deepEqual(counted, ['settle 1', 'refund 2']);
    });
  });
});
