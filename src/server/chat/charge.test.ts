import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { assertLedgerConsistent } from '../../../test/faults/ledger-assertions.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { makePlanAllowances } from '../plans/module.ts';
import { isAppError } from '../platform/app-error.ts';
import { type Database, DatabaseUnavailableError } from '../platform/db/database.ts';
import { migrate } from '../platform/db/migrate.ts';
import { openDatabase } from '../platform/db/open-database.ts';
import { openLog } from '../platform/log.ts';
import { type Ledger, LedgerStore } from '../quota/ledger.ts';
import { LedgerService } from '../quota/ledger-service.ts';
import { migrations, type Tables } from '../tables.ts';
import { CallCharge, ChargeBatcher } from './charge.ts';
import { CHAT_DIALECT } from './dialects.ts';
import { parseChatRequest } from './request.ts';
import { SettlementJournal } from './settlement-journal.ts';

const NO_JOURNAL = new SettlementJournal(undefined, Buffer.alloc(32), openLog('silent'));

const clock = { now: () => Date.now() };

const ledgerOf = (database: Database<Tables>): LedgerService =>
  new LedgerService({
    store: new LedgerStore(database),
    clock,
    allowances: makePlanAllowances({ database, clock, findTimeZoneIn: async () => 'UTC' }),
  });

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

  it('counts the tokens of a prompt only for a caller who may afford them', async (t) => {
    const database = await open();
    const quota = ledgerOf(database);
    await database.transaction(async (trx) => {
      await quota.openWallet(trx, 1, 0);
      await quota.openWallet(trx, 2, 1_000);
    });
    const batcher = new ChargeBatcher({ database, quota, log: openLog('silent'), journal: NO_JOURNAL });
    const body = { model: 'm', messages: [{ role: 'user', content: 'an ordinary word or two '.repeat(100) }] };
    const request = parseChatRequest(CHAT_DIALECT, Buffer.from(JSON.stringify(body)), body);
    const triesOf = async (userId: number): Promise<number> => {
      const reserve = t.mock.method(batcher, 'reserve');
      const charge = new CallCharge({
        ...{ batcher, request, ref: `req_${userId}`, surcharge: 0, planFactor: 1, admission: undefined },
        ...{ price: { input_per_million: 1_000_000, output_per_million: 1_000_000 }, onSpendLimits: () => {} },
        ...{ model: { target: 'm', kind: 'chat' }, client: '', begunAt: 0, log: openLog('silent') },
      });
      const payer = { userId, tokenId: 1, actorId: undefined };
      const outcome = await charge.reserve(payer, 'm', 10).catch((error: unknown) => error);
      assert.equal(isAppError(outcome, 'quota_not_enough'), userId === 1);
      reserve.mock.restore();
      return reserve.mock.callCount();
    };
    assert.deepEqual([await triesOf(1), await triesOf(2)], [1, 2]);
  });

  it('refuses only the account that lacks quota, of many in one batch', async () => {
    const database = await open();
    const quota = ledgerOf(database);
    const ACCOUNTS = Array.from({ length: 20 }, (_, index) => index + 1);
    const POOR = 7;
    await database.transaction(async (trx) => {
      for (const user of ACCOUNTS) await quota.openWallet(trx, user, user === POOR ? 25 : 1_000);
    });
    const accountsOf: number[] = [];
    const charge: Ledger['charge'] = (trx, charges) => {
      accountsOf.push(new Set(charges.reservations?.map(({ userId }) => userId)).size);
      return quota.charge(trx, charges);
    };
    // Two batchers on one database race like two processes.
    const batchers = [0, 1].map(
      () => new ChargeBatcher({ database, quota: { charge }, log: openLog('silent'), journal: NO_JOURNAL }),
    );
    const refused: number[] = [];
    const served: (() => Promise<void>)[] = [];
    const reserve = async (userId: number, ref: string, batcher: ChargeBatcher): Promise<void> => {
      const payer = { userId, tokenId: userId };
      try {
        await batcher.reserve({ ref, ...payer, model: 'm', amount: 10 });
        served.push(() => batcher.refund(payer, ref));
      } catch (error) {
        assert.ok(isAppError(error, 'quota_not_enough'), String(error));
        refused.push(userId);
      }
    };
    await Promise.all(
      batchers.flatMap((batcher, which) =>
        ACCOUNTS.flatMap((user) => [1, 2].map((call) => reserve(user, `req_${which}_${user}_${call}`, batcher))),
      ),
    );
    assert.equal(Math.max(...accountsOf), ACCOUNTS.length, 'the accounts share a transaction');
    assert.deepEqual(refused, [POOR, POOR], 'what the account had was reserved');
    for (const user of ACCOUNTS) assert.equal((await quota.wallet(user)).balance, user === POOR ? 5 : 960);
    await Promise.all(served.map((refund) => refund()));
    for (const user of ACCOUNTS) assert.equal((await quota.wallet(user)).balance, user === POOR ? 25 : 1_000);
    await assertLedgerConsistent(database);
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
      async transaction(work, options) {
        const result = await database.transaction(work, options);
        if (losses-- > 0) throw new DatabaseUnavailableError('the answer to a commit was lost');
        return result;
      },
    };
    const batcher = new ChargeBatcher({ database: losing, quota, log: openLog('silent'), journal: NO_JOURNAL });
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
    it('a locked account delays no other account', async () => {
      const database = await open();
      const quota = ledgerOf(database);
      await database.transaction(async (trx) => {
        for (const user of [1, 2]) await quota.openWallet(trx, user, 100);
      });
      const batcher = new ChargeBatcher({ database, quota, log: openLog('silent'), journal: NO_JOURNAL });
      const [isLocked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const holding = database.transaction(async (trx) => {
        await quota.lockBalance(trx, 1);
        isLocked.resolve();
        await release.promise;
      });
      await isLocked.promise;
      const reserve = (userId: number, ref: string) =>
        batcher.reserve({ ref, userId, tokenId: userId, model: 'm', amount: 10 });
      let isReserved = false;
      const locked = Promise.all(['req_a', 'req_b'].map((ref) => reserve(1, ref))).then(() => {
        isReserved = true;
      });
      await Promise.all([reserve(2, 'req_c'), reserve(2, 'req_d')]);
      await reserve(2, 'req_e');
      assert.equal(isReserved, false);
      release.resolve();
      await Promise.all([holding, locked]);
      assert.deepEqual([(await quota.wallet(1)).balance, (await quota.wallet(2)).balance], [80, 70]);
      const refunds = ['req_a', 'req_b', 'req_c', 'req_d', 'req_e'].map((ref, call) =>
        batcher.refund({ userId: call < 2 ? 1 : 2, tokenId: undefined }, ref),
      );
      await Promise.all(refunds);
      await assertLedgerConsistent(database);
    });

  if (name === 'postgres')
    it('two processes never deadlock over wallets, tokens and plans', async () => {
      const url = await freshUrl();
      const USERS = [1, 2, 3, 4];
      const processes = [openDatabase<Tables>(url), openDatabase<Tables>(url)] as const;
      try {
        const [database] = processes;
        await migrate(database, migrations);
        const quotas = processes.map((each) => ledgerOf(each));
        const [quota] = quotas as [LedgerService];
        await database.transaction(async (trx) => {
          for (const user of USERS) await quota.openWallet(trx, user, 1_000_000);
          // A part of the calls is paid by the plan.
          await trx.updateTable('plans').set({ daily_quota: 500 }).execute();
          for (const token of [1, 2, 3, 4, 5, 6]) await quota.setTokenLimit(trx, token, 1_000_000);
        });
        const all = processes.map(
          (each, index) =>
            new ChargeBatcher({
              database: each,
              quota: quotas[index] as LedgerService,
              log: openLog('silent'),
              journal: NO_JOURNAL,
            }),
        );
        await Promise.all(
          all.flatMap((batcher, which) =>
            Array.from({ length: 60 }, async (_, lane) => {
              const payer = { userId: 1 + (lane % USERS.length), tokenId: 1 + (lane % 6) };
              for (let turn = 0; turn < 5; turn++) {
                const ref = `req_${which}_${lane}_${turn}`;
                await batcher.reserve({ ref, ...payer, model: 'm', amount: 10 });
                batcher.settle(payer, ref, 7, { promptTokens: 1, completionTokens: 1 });
              }
            }),
          ),
        );
        await Promise.all(all.map((batcher) => batcher.idle()));
        for (const user of USERS) assert.equal((await quota.wallet(user)).used, (60 / USERS.length) * 2 * 5 * 7);
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
