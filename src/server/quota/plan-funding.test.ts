import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { openLedger } from '../../../test/ledger-fixture.ts';
import { AppError } from '../platform/app-error.ts';
import type { Allowances } from './ledger.ts';
import { auditLedger } from './ledger-audit.ts';

const OTHER = 1;
const USER = 2;
const TOKEN = 5;

/** A single allowance that is used up in order and records every request to it. */
class Plan implements Allowances {
  left: number;
  /** The most that an expired period accepts back. */
  takesBack = Number.POSITIVE_INFINITY;
  failure: Error | undefined;
  readonly returns: [slot: string, amount: number][] = [];

  constructor(left: number) {
    this.left = left;
  }
  async findTerms(_trx: unknown, requests: readonly unknown[]) {
    return requests.map(() => ({ hasAllowance: true, spendLimit: undefined }));
  }
  async findSpendLimit() {
    return undefined;
  }
  async take(_trx: unknown, { amount }: { readonly amount: number }) {
    if (this.failure !== undefined) throw this.failure;
    const taken = Math.min(amount, this.left);
    this.left -= taken;
    return { taken, slot: 'day' };
  }
  async giveBack(_trx: unknown, slot: string, amount: number): Promise<number> {
    this.returns.push([slot, amount]);
    const back = Math.min(amount, this.takesBack);
    this.left += back;
    return back;
  }
  async permittedModels(): Promise<undefined> {}
}

describe("plan's share of a reservation", () => {
  forEachDatabase((_name, open) => {
    const start = async (planQuota: number, wallet: number) => {
      const database = await open();
      const plan = new Plan(planQuota);
      const ledger = openLedger(database, plan);
      await ledger.open(OTHER, 1_000);
      await ledger.open(USER, wallet);
      return {
        database,
        plan,
        ledger,
        balance: async () => (await ledger.quota.wallet(USER)).balance,
        entries: () =>
          database.kysely
            .selectFrom('ledger')
            .select(['ref', 'kind', 'amount', 'plan_amount', 'charged'])
            .where('ref', 'like', 'task_%')
            .where('kind', '!=', 'reserve')
            .orderBy('id')
            .execute(),
      };
    };

    it('is stored with its period and returned to the last unit', async () => {
      const { database, plan, ledger, balance, entries } = await start(1, 100);
      await ledger.reserve('task_a', USER, 10);
      await ledger.reserve('task_b', USER, 10);
      const rows = await database.kysely
        .selectFrom('reservations')
        .select(['plan_amount', 'plan_slot'])
        .orderBy('ref')
        .execute();
      assert.deepEqual(rows, [
        { plan_amount: 1, plan_slot: 'day' },
        { plan_amount: 0, plan_slot: null },
      ]);
      assert.equal(await balance(), 81);
      await ledger.refund('task_b');
      assert.deepEqual(plan.returns, [], 'nothing came from it');
      await ledger.refund('task_a');
      assert.deepEqual(plan.returns, [['day', 1]], 'all of it');
      assert.deepEqual([plan.left, await balance()], [1, 100]);
      assert.deepEqual(
        (await entries()).map(({ ref, kind, plan_amount }) => [ref, kind, plan_amount]),
        [
          ['task_b', 'refund', 0],
          ['task_a', 'refund', 1],
        ],
      );
      await ledger.reserve('task_c', USER, 2);
      assert.equal(await balance(), 99);
      await ledger.refund('task_c');
      assert.equal(await balance(), 100);
    });

    it('covers the charge first, and the wallet is refunded first', async () => {
      const { plan, ledger, balance } = await start(6, 100);
      await ledger.reserve('task_a', USER, 10);
      assert.equal(await ledger.settle('task_a', 6), 6);
      assert.deepEqual(plan.returns, []);
      assert.deepEqual([plan.left, await balance()], [0, 100]);
    });

    it('also covers a cost beyond the reservation', async () => {
      const { database, plan, ledger, balance, entries } = await start(30, 100);
      await ledger.limit(TOKEN, 1_000);
      await ledger.reserve('task_a', USER, 10, TOKEN);
      assert.equal(await ledger.settle('task_a', 25), 25);
      assert.deepEqual([plan.left, await balance()], [5, 100]);
      assert.deepEqual(await entries(), [{ ref: 'task_a', kind: 'settle', amount: 0, plan_amount: -15, charged: 25 }]);
      assert.deepEqual((await ledger.quota.tokenLimits([TOKEN])).get(TOKEN), { limit: 1_000, used: 25 });
      assert.deepEqual(await auditLedger(database), []);
    });

    it('is followed by the wallet, down to its last unit', async () => {
      const { database, plan, ledger, balance, entries } = await start(12, 3);
      await ledger.reserve('task_a', USER, 10);
      assert.equal(await ledger.settle('task_a', 30), 15);
      assert.deepEqual([plan.left, await balance()], [0, 0]);
      assert.deepEqual(await entries(), [{ ref: 'task_a', kind: 'settle', amount: -3, plan_amount: -2, charged: 15 }]);
      await ledger.grant(USER, 11, 'more');
      await ledger.reserve('task_b', USER, 10);
      assert.equal(await ledger.settle('task_b', 30), 11);
      assert.equal((await ledger.quota.wallet(OTHER)).balance, 1_000);
      assert.deepEqual(await auditLedger(database), []);
    });

    it('is zero when the plan no longer covers the model, while other failures roll the settlement back', async () => {
      const { plan, ledger, balance } = await start(30, 100);
      await ledger.reserve('task_a', USER, 10);
      plan.failure = new Error('broken');
      await assert.rejects(ledger.settle('task_a', 25), /broken/);
      plan.failure = new AppError('model_not_allowed');
      assert.equal(await ledger.settle('task_a', 25), 25);
      assert.deepEqual([plan.left, await balance()], [20, 85]);
    });

    it('is void when its period is over, as the ledger records', async () => {
      const { database, plan, ledger, entries } = await start(12, 0);
      await ledger.reserve('task_a', USER, 8);
      await ledger.reserve('task_b', USER, 4);
      plan.takesBack = 5;
      await database.transaction((trx) =>
        ledger.quota.charge(trx, { settlements: [{ ref: 'task_a' }, { ref: 'task_b' }] }),
      );
      assert.deepEqual(plan.returns, [['day', 12]], 'returned in one write');
      assert.deepEqual(await entries(), [
        { ref: 'task_a', kind: 'refund', amount: 0, plan_amount: 8, charged: 0 },
        { ref: 'task_a', kind: 'expire', amount: 0, plan_amount: -3, charged: 0 },
        { ref: 'task_b', kind: 'refund', amount: 0, plan_amount: 4, charged: 0 },
        { ref: 'task_b', kind: 'expire', amount: 0, plan_amount: -4, charged: 0 },
      ]);
      assert.deepEqual(await auditLedger(database), []);
    });
  });
});
