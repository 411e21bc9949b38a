import assert from 'node:assert/strict';
import { it } from 'node:test';
import { forEachDatabase } from '../../../test/databases.ts';
import { assertBooks } from '../../../test/faults/books.ts';
import { isAppError } from '../platform/errors.ts';
import { openLog } from '../platform/log.ts';
import { makeQuota } from '../quota/service.ts';
import { QuotaStore } from '../quota/store.ts';
import { Books } from './books.ts';

forEachDatabase((_name, open) => {
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
        if (index % 3 === 0) books.refund(userId, ref);
        else books.settle(userId, ref, 7, { promptTokens: 1, completionTokens: 1 });
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
    await books.reserve({ ref: 'req_a', userId: 1, tokenId: 1, model: 'm', amount: 50 });
    for (let again = 0; again < 5; again++) {
      books.settle(1, 'req_a', 20, { promptTokens: 1, completionTokens: 1 });
      books.refund(1, 'req_a');
    }
    await books.idle();
    assert.equal((await quota.wallet(1)).balance, 80);
    await assertBooks(database);
  });
});
