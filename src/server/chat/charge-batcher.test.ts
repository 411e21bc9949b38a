import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { assertLedgerConsistent } from '../../../test/faults/ledger-assertions.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { migrations } from '../migrations.ts';
import { isAppError } from '../platform/app-error.ts';
import { type Database, DatabaseUnavailableError } from '../platform/db/database.ts';
import { migrate } from '../platform/db/migrate.ts';
import { openDatabase } from '../platform/db/open-database.ts';
import { openLog } from '../platform/log.ts';
import { CallChargeStore, PostgresCallCharges } from '../quota/call-charges.ts';
import type { Ledger } from '../quota/ledger.ts';
import { LedgerService } from '../quota/ledger-service.ts';
import { LedgerStore } from '../quota/ledger-store.ts';
import type { Tables } from '../tables.ts';
import { ChargeBatcher } from './charge-batcher.ts';
import { SettlementJournal } from './settlement-journal.ts';

const NO_JOURNAL = new SettlementJournal(undefined, Buffer.alloc(32), openLog('silent'));

const clock = { now: () => Date.now() };
const noticeBelow = () => 0;

/** A ledger with the common statement, on databases that support it. */
function ledgerOf(database: Database<Tables>): LedgerService {
  const charges = {
    store: new CallChargeStore(database),
    clock,
    noticeBelow,
    onSettled: () => {},
    toLogRow: undefined,
  };
  return new LedgerService({ store: new LedgerStore(database), clock, callCharges: new PostgresCallCharges(charges) });
}

forEachDatabase((name, open, freshUrl) => {
  it('reports each charge of a shared transaction separately', async () => {
    const database = await open();
    const quota = ledgerOf(database);
    const batcher = new ChargeBatcher({ database, quota, log: openLog('silent'), journal: NO_JOURNAL });
    const RICH = [1, 2, 3];
    const POOR = 4;
    await database.transaction(async (trx) => {
      for (const user of RICH) await quota.openWallet(trx, user, 10_000);
      await quota.openWallet(trx, POOR, 30);
    });
    const outcomes = await Promise.all(
      Array.from({ length: 120 }, async (_, index) => {
        const userId = [...RICH, POOR][index % 4] ?? 0;
        const ref = `req_${index}`;
        try {
          await batcher.reserve({ ref, userId, tokenId: userId, model: 'm', amount: 10 });
        } catch (error) {
          return isAppError(error, 'quota_not_enough') ? `${userId} refused` : String(error);
        }
        if (index % 3 === 0) void batcher.refund({ userId, tokenId: userId }, ref);
        else batcher.settle({ userId, tokenId: userId }, ref, 7, { promptTokens: 1, completionTokens: 1 });
        return `${userId} served`;
      }),
    );
    await batcher.idle();
    const count = (outcome: string): number => outcomes.filter((each) => each === outcome).length;
    assert.deepEqual(
      [1, 2, 3].map((user) => count(`${user} served`)),
      [30, 30, 30],
    );
    assert.ok(count('4 served') >= 3, 'what was there was spent');
    assert.equal(count('4 served') + count('4 refused'), 30);
    await assertLedgerConsistent(database);
    assert.equal((await database.kysely.selectFrom('reservations').select('ref').execute()).length, 0);
  });

  it('closes a reservation once, whether the settlement or the refund comes first', async () => {
    const database = await open();
    const quota = ledgerOf(database);
    const batcher = new ChargeBatcher({ database, quota, log: openLog('silent'), journal: NO_JOURNAL });
    await database.transaction((trx) => quota.openWallet(trx, 1, 100));
    const payer = { userId: 1, tokenId: 1 };
    await batcher.reserve({ ref: 'req_a', ...payer, model: 'm', amount: 50 });
    for (let again = 0; again < 5; again++) {
      batcher.settle(payer, 'req_a', 20, { promptTokens: 1, completionTokens: 1 });
      void batcher.refund(payer, 'req_a');
    }
    await batcher.idle();
    assert.equal((await quota.wallet(1)).balance, 80);
    await assertLedgerConsistent(database);
  });

  it('refunds a reservation whose commit may have succeeded', async () => {
    const database = await open();
    const quota = ledgerOf(database);
    await database.transaction((trx) => quota.openWallet(trx, 1, 100));
    let losses = 1;
    const losing: Database<Tables> = {
      ...database,
      async transaction(work) {
        const result = await database.transaction(work);
        if (losses-- > 0) throw new DatabaseUnavailableError('the answer to a commit was lost');
        return result;
      },
    };
    const losingQuota: Pick<Ledger, 'reserveAll' | 'settleAll' | 'chargeCalls'> = {
      reserveAll: (trx, all) => quota.reserveAll(trx, all),
      settleAll: (trx, all) => quota.settleAll(trx, all),
      async chargeCalls(work, waitMs) {
        const outcomes = await quota.chargeCalls(work, waitMs);
        if (name === 'postgres' && losses-- > 0) throw new DatabaseUnavailableError('the answer was lost');
        return outcomes;
      },
    };
    const batcher = new ChargeBatcher({
      database: losing,
      quota: losingQuota,
      log: openLog('silent'),
      journal: NO_JOURNAL,
    });
    const reserve = (ref: string) => batcher.reserve({ ref, userId: 1, tokenId: 1, model: 'm', amount: 10 });
    const outcomes = await Promise.allSettled([reserve('req_a'), reserve('req_b')]);
    for (const outcome of outcomes)
      assert.ok(
        outcome.status === 'rejected' && outcome.reason instanceof DatabaseUnavailableError,
        'nobody else is to blame',
      );
    await batcher.idle();
    assert.equal((await quota.wallet(1)).balance, 100);
    await assertLedgerConsistent(database);
  });

  if (name === 'postgres')
    it('two processes never deadlock', async () => {
      const url = await freshUrl();
      const processes = [openDatabase<Tables>(url), openDatabase<Tables>(url)] as const;
      try {
        const [database] = processes;
        await migrate(database, migrations);
        const quota = ledgerOf(database);
        await database.transaction(async (trx) => {
          for (const user of [1, 2]) await quota.openWallet(trx, user, 1_000_000);
          for (const token of [1, 2, 3, 4, 5, 6]) await quota.setTokenLimit(trx, token, 1_000_000);
        });
        const all = processes.map(
          (each) => new ChargeBatcher({ database: each, quota, log: openLog('silent'), journal: NO_JOURNAL }),
        );
        await Promise.all(
          all.flatMap((batcher, which) =>
            Array.from({ length: 60 }, async (_, lane) => {
              const payer = { userId: 1 + (lane % 2), tokenId: 1 + (lane % 6) };
              for (let turn = 0; turn < 5; turn++) {
                const ref = `req_${which}_${lane}_${turn}`;
                await batcher.reserve({ ref, ...payer, model: 'm', amount: 10 });
                batcher.settle(payer, ref, 7, { promptTokens: 1, completionTokens: 1 });
              }
            }),
          ),
        );
        await Promise.all(all.map((batcher) => batcher.idle()));
        for (const user of [1, 2]) assert.equal((await quota.wallet(user)).used, 60 * 5 * 7);
        await assertLedgerConsistent(database);
        // PostgreSQL updates its statistics from reports of the
        // sessions, which send them within a second of becoming idle.
        await pause(1_500);
        const { rows } = await sql<{ deadlocks: number }>`
          select deadlocks from pg_stat_database where datname = current_database()`.execute(database.kysely);
        assert.equal(rows[0]?.deadlocks, 0);
      } finally {
        for (const each of processes) await each.close();
      }
    });
});
