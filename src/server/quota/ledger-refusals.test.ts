import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { openLedger } from '../../../test/ledger-fixture.ts';
import { AppError } from '../platform/app-error.ts';

describe('ledger refusals', () => {
  forEachDatabase((_name, open) => {
    const start = async () => {
      const database = await open();
      const ledger = openLedger(database);
      await ledger.open(1, 100);
      return { database, ledger };
    };
    const paramsOf = async (work: Promise<unknown>) => {
      const error = await work.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof AppError, String(error));
      const amounts = Object.entries(error.options.params ?? {}) as [string, { readonly en: string }][];
      return Object.fromEntries(amounts.map(([name, { en }]) => [name, toQuota(en)]));
    };
    /** Messages state amounts in credits. */
    const toQuota = (amount: string): number => Math.round(Number(/^(\S+) credits$/.exec(amount)?.[1]) * 500_000);

    it('names the required and the available quota', async () => {
      const { database, ledger } = await start();
      const reserve = (userId: number, amount: number, tokenId?: number) =>
        paramsOf(
          database.transaction((trx) =>
            ledger.quota.reserve(trx, {
              ref: 'task_x',
              userId,
              model: 'film',
              amount,
              ...(tokenId === undefined ? {} : { tokenId }),
            }),
          ),
        );
      assert.deepEqual(await reserve(1, 101), { needed: 101, available: 100 });
      assert.deepEqual(await reserve(77, 5), { needed: 5, available: 0 }, 'an account without a wallet');
      await ledger.limit(5, 30);
      await ledger.reserve('task_a', 1, 20, 5);
      assert.deepEqual(await reserve(1, 11, 5), { needed: 11, available: 10, limit: 30 });
      await ledger.limit(5, 10);
      assert.deepEqual(await reserve(1, 1, 5), { needed: 1, available: 0, limit: 10 }, 'never less than nothing');
      const grant = database.transaction((trx) => ledger.quota.grant(trx, { userId: 1, amount: -90, ref: 'back' }));
      assert.deepEqual(await paramsOf(grant), { needed: 90, available: 80 });
    });

    it('never refuse a free call, whatever a key, an account or a wallet has spent', async () => {
      const { ledger } = await start();
      await ledger.limit(5, 30);
      await ledger.reserve('task_paid', 1, 30, 5);
      await ledger.limit(5, 10);
      await ledger.spendLimit({ kind: 'account', id: 1 }, { amount: 1, period: 'day' });
      await ledger.grant(1, -70, 'all');
      assert.equal(await ledger.reserve('task_more', 1, 1, 5), 'quota_not_enough');
      assert.equal(await ledger.reserve('task_free', 1, 0, 5), undefined);
      assert.equal(await ledger.settle('task_free', 0), 0);
      assert.deepEqual([...(await ledger.quota.tokenLimits([5]))], [[5, { limit: 10, used: 30 }]]);
    });

    it('grants up to the largest wallet, and deducts down to zero', async () => {
      const { ledger } = await start();
      const most = 9_000_000_000_000_000;
      await ledger.open(2, most);
      assert.equal((await ledger.quota.wallet(2)).balance, most);
      assert.equal(await ledger.grant(2, 1, 'one more'), 'invalid_request');
      assert.equal(await ledger.grant(2, -most, 'all'), undefined);
      assert.equal(await ledger.grant(2, 0, 'nothing'), undefined);
      assert.equal((await ledger.quota.wallet(2)).balance, 0);
      await assert.rejects(ledger.open(3, -5), TypeError);
    });

    it('charges an amount above its reservation exactly', async () => {
      const { ledger } = await start();
      await ledger.limit(5, 50);
      await ledger.limit(6, 50);
      await ledger.reserve('task_a', 1, 10, 5);
      assert.equal(await ledger.settle('task_a', 11), 11);
      assert.deepEqual([...(await ledger.quota.tokenLimits([5]))], [[5, { limit: 50, used: 11 }]]);
      assert.deepEqual([...(await ledger.quota.tokenLimits([]))], []);
    });

    it('closes no reservation of an account without a wallet', async () => {
      const { database, ledger } = await start();
      await ledger.reserve('task_a', 1, 10);
      await database.kysely.deleteFrom('wallets').where('user_id', '=', 1).execute();
      await assert.rejects(ledger.settle('task_a', 5), /account 1 has no wallet/);
      assert.deepEqual(await ledger.quota.wallet(1), { balance: 0, used: 0, requests: 0 });
      assert.equal(await database.transaction((trx) => ledger.quota.lockBalance(trx, 1)), 0);
      assert.equal((await database.kysely.selectFrom('reservations').selectAll().execute()).length, 1);
    });

    it('lists open reservations by age and prefix, oldest first', async () => {
      const { database, ledger } = await start();
      const { created_at } = { created_at: 1_000 };
      const unfunded = { plan_amount: 0, plan_slot: null, spend_windows: null, actor_id: null };
      const add = (ref: string, at: number) =>
        database.transaction((trx) =>
          ledger.store.addReservations(trx, [
            { ref, user_id: 1, token_id: null, model: 'm', amount: 0, ...unfunded, created_at: at },
          ]),
        );
      for (const [index, ref] of ['req_b', 'req_a', 'req_', 'rep_x', 'task_a'].entries())
        await add(ref, created_at - index);
      const refs = (before: number, limit = 9) => ledger.store.openRefs(before, 'req_', limit);
      assert.deepEqual(await refs(1_001), ['req_', 'req_a', 'req_b']);
      assert.deepEqual(await refs(1_000), ['req_', 'req_a'], 'made before the time, not at it');
      assert.deepEqual(await refs(1_001, 1), ['req_']);
    });
  });
});
