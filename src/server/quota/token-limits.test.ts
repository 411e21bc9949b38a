import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { openLedger, type Trx } from '../../../test/ledger-fixture.ts';
import { auditLedger } from './ledger-audit.ts';

const USER = 1;

describe('token limit', () => {
  forEachDatabase((_name, open) => {
    const start = async () => {
      const database = await open();
      const ledger = openLedger(database);
      await ledger.open(USER, 1_000_000);
      let token = 0;
      return {
        database,
        ledger,
        nextToken: () => ++token,
        limitOf: async (id: number) => (await ledger.quota.tokenLimits([id])).get(id),
      };
    };
    type Started = Awaited<ReturnType<typeof start>>;

    /** Starts `second` when `first` has done its work but has not committed yet. Returns the results of both. */
    const overlap = async <F, S>({ ledger }: Started, first: (trx: Trx) => Promise<F>, second: () => Promise<S>) => {
      const worked = Promise.withResolvers<void>();
      const committed = ledger.run(async (trx) => {
        const result = await first(trx);
        worked.resolve();
        // Long enough for the second transaction to finish if no lock held it back.
        await setTimeout(100);
        return result;
      });
      await worked.promise;
      const [one, two] = await Promise.all([committed, second()]);
      return [one, two] as const;
    };
    const reservation = (tokenId: number, amount: number) => ({
      ref: `task_${tokenId}`,
      userId: USER,
      model: 'film',
      amount,
      tokenId,
    });

    it('includes a reservation that was in flight when the limit was set', async () => {
      const started = await start();
      const { ledger } = started;
      const token = started.nextToken();
      await overlap(
        started,
        (trx) => ledger.quota.reserve(trx, reservation(token, 60)),
        () => ledger.limit(token, 100),
      );
      assert.deepEqual(await started.limitOf(token), { limit: 100, used: 60 });
      assert.equal(await ledger.reserve('task_more', USER, 50, token), 'quota_not_enough');
      await ledger.settle(`task_${token}`, 40);
      assert.deepEqual(await started.limitOf(token), { limit: 100, used: 40 });
    });

    it('includes the cost of a reservation that was being settled when the limit was set, and nothing after a refund', async () => {
      const started = await start();
      const { ledger } = started;
      for (const end of [10, undefined]) {
        const token = started.nextToken();
        await ledger.reserve(`task_${token}`, USER, 60, token);
        await overlap(
          started,
          async (trx) =>
            end === undefined
              ? ledger.quota.refund(trx, `task_${token}`)
              : ledger.quota.settle(trx, `task_${token}`, end),
          () => ledger.limit(token, 100),
        );
        assert.deepEqual(await started.limitOf(token), { limit: 100, used: 0 });
      }
    });

    it('applies to reservations opened and closed while the limit is being set', async () => {
      const started = await start();
      const { ledger } = started;
      const token = started.nextToken();
      const setting = (trx: Trx) => ledger.quota.setTokenLimit(trx, token, 100);
      const [, refused] = await overlap(started, setting, () => ledger.reserve('task_large', USER, 101, token));
      assert.equal(refused, 'quota_not_enough');
      await ledger.limit(token, undefined);
      await ledger.reserve('task_ending', USER, 60, token);
      const [, charged] = await overlap(started, setting, () => ledger.settle('task_ending', 10));
      assert.equal(charged, 10);
      assert.deepEqual(await started.limitOf(token), { limit: 100, used: 10 });
    });

    it('refuses no request while the limit is being lifted', async () => {
      const started = await start();
      const { ledger } = started;
      const token = started.nextToken();
      await ledger.limit(token, 10);
      const [, outcome] = await overlap(
        started,
        (trx) => ledger.quota.setTokenLimit(trx, token, undefined),
        () => ledger.reserve('task_free', USER, 50, token),
      );
      assert.equal(outcome, undefined);
    });

    it('stays consistent under any interleaving of reservations, settlements and limit changes', async () => {
      const started = await start();
      const { ledger, database } = started;
      const tokens = Array.from({ length: 12 }, started.nextToken);
      const refs = tokens.flatMap((token) => [0, 1, 2, 3].map((index) => ({ token, ref: `task_${token}_${index}` })));
      await Promise.all([
        ...refs.map(({ token, ref }) => ledger.reserve(ref, USER, 10, token)),
        ...tokens.map((token) => ledger.limit(token, 1_000)),
      ]);
      for (const token of tokens) assert.deepEqual(await started.limitOf(token), { limit: 1_000, used: 40 });
      for (const token of tokens.slice(6)) await ledger.limit(token, undefined);
      await Promise.all([
        ...refs.map(({ ref }) => ledger.settle(ref, 4)),
        ...tokens.slice(6).map((token) => ledger.limit(token, 1_000)),
      ]);
      for (const token of tokens) {
        const used = (await started.limitOf(token))?.used ?? -1;
        assert.ok(token <= 6 ? used === 16 : used >= 0 && used <= 16 && used % 4 === 0, `${token}: ${used}`);
      }
      assert.deepEqual(await auditLedger(database), []);
    });
  });
});
