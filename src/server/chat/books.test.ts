import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { forEachDatabase } from '../../../test/databases.ts';
import { assertBooks } from '../../../test/faults/books.ts';
import { migrations } from '../migrations.ts';
import { type Database, openDatabase } from '../platform/db/database.ts';
import { DatabaseUnavailable } from '../platform/db/errors.ts';
import { migrate } from '../platform/db/migrate.ts';
import { isAppError } from '../platform/errors.ts';
import { openLog } from '../platform/log.ts';
import { makeQuota } from '../quota/service.ts';
import { QuotaStore } from '../quota/store.ts';
import type { Tables } from '../tables.ts';
import { Books } from './books.ts';

forEachDatabase((name, open, freshUrl) => {
  it('gives everybody his own outcome, whoever shares his transaction', async () => {
    const database = await open();
    const quota = makeQuota(new QuotaStore(database), { now: () => Date.now() });
    const books = new Books({ database, quota, log: openLog('silent') });
    const RICH = [1, 2, 3];
    const POOR = 4;
    await database.transaction(async (trx) => {
      for (const user of RICH) await quota.open(trx, user, 10_000);
      await quota.open(trx, POOR, 30);
    });
    const outcomes = await Promise.all(
      Array.from({ length: 120 }, async (_, index) => {
        const userId = [...RICH, POOR][index % 4] ?? 0;
        const ref = `req_${index}`;
        try {
          await books.reserve({ ref, userId, tokenId: userId, model: 'm', amount: 10 });
        } catch (error) {
          return isAppError(error, 'quota_not_enough') ? `${userId} refused` : String(error);
        }
        if (index % 3 === 0) books.refund({ userId, tokenId: userId }, ref);
        else books.settle({ userId, tokenId: userId }, ref, 7, { promptTokens: 1, completionTokens: 1 });
        return `${userId} served`;
      }),
    );
    await books.idle();
    const count = (outcome: string): number => outcomes.filter((each) => each === outcome).length;
    assert.deepEqual(
      [1, 2, 3].map((user) => count(`${user} served`)),
      [30, 30, 30],
    );
    assert.ok(count('4 served') >= 3, 'what was there was spent');
    assert.equal(count('4 served') + count('4 refused'), 30);
    await assertBooks(database);
    assert.equal((await database.kysely.selectFrom('holds').select('ref').execute()).length, 0);
  });

  it('ends a reservation once, whichever end comes first', async () => {
    const database = await open();
    const quota = makeQuota(new QuotaStore(database), { now: () => Date.now() });
    const books = new Books({ database, quota, log: openLog('silent') });
    await database.transaction((trx) => quota.open(trx, 1, 100));
    const payer = { userId: 1, tokenId: 1 };
    await books.reserve({ ref: 'req_a', ...payer, model: 'm', amount: 50 });
    for (let again = 0; again < 5; again++) {
      books.settle(payer, 'req_a', 20, { promptTokens: 1, completionTokens: 1 });
      books.refund(payer, 'req_a');
    }
    await books.idle();
    assert.equal((await quota.wallet(1)).balance, 80);
    await assertBooks(database);
  });

  it('gives back what a commit set aside whose answer was lost', async () => {
    const database = await open();
    const quota = makeQuota(new QuotaStore(database), { now: () => Date.now() });
    await database.transaction((trx) => quota.open(trx, 1, 100));
    let losses = 1;
    const losing: Database<Tables> = {
      ...database,
      async transaction(work) {
        const result = await database.transaction(work);
        if (losses-- > 0) throw new DatabaseUnavailable('the answer to a commit was lost');
        return result;
      },
    };
    const books = new Books({ database: losing, quota, log: openLog('silent') });
    const reserve = (ref: string) => books.reserve({ ref, userId: 1, tokenId: 1, model: 'm', amount: 10 });
    const outcomes = await Promise.allSettled([reserve('req_a'), reserve('req_b')]);
    for (const outcome of outcomes)
      assert.ok(
        outcome.status === 'rejected' && outcome.reason instanceof DatabaseUnavailable,
        'nobody else is to blame',
      );
    await books.idle();
    assert.equal((await quota.wallet(1)).balance, 100);
    await assertBooks(database);
  });

  if (name === 'postgres')
    it('two processes never wait for each other in a circle', async () => {
      const url = await freshUrl();
      const processes = [openDatabase<Tables>(url), openDatabase<Tables>(url)] as const;
      try {
        const [database] = processes;
        await migrate(database, migrations);
        const quota = makeQuota(new QuotaStore(database), { now: () => Date.now() });
        await database.transaction(async (trx) => {
          await quota.open(trx, 1, 1_000_000);
          for (const token of [1, 2, 3]) await quota.limitToken(trx, token, 1_000_000);
        });
        const all = processes.map((each) => new Books({ database: each, quota, log: openLog('silent') }));
        await Promise.all(
          all.flatMap((books, which) =>
            Array.from({ length: 60 }, async (_, lane) => {
              const payer = { userId: 1, tokenId: 1 + (lane % 3) };
              for (let turn = 0; turn < 5; turn++) {
                const ref = `req_${which}_${lane}_${turn}`;
                await books.reserve({ ref, ...payer, model: 'm', amount: 10 });
                books.settle(payer, ref, 7, { promptTokens: 1, completionTokens: 1 });
              }
            }),
          ),
        );
        await Promise.all(all.map((books) => books.idle()));
        assert.equal((await quota.wallet(1)).used, 2 * 60 * 5 * 7);
        await assertBooks(database);
        // The server counts what its sessions tell it, which they do within a second of falling silent.
        await pause(1_500);
        const { rows } = await sql<{ deadlocks: number }>`
          select deadlocks from pg_stat_database where datname = current_database()`.execute(database.kysely);
        assert.equal(rows[0]?.deadlocks, 0);
      } finally {
        for (const each of processes) await each.close();
      }
    });
});
