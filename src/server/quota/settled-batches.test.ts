import assert from 'node:assert/strict';
import { it } from 'node:test';
import { assertLedgerConsistent } from '../../../test/faults/ledger-assertions.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { openLedger } from '../../../test/ledger-fixture.ts';

forEachDatabase((name, open) => {
  const charged = (database: Awaited<ReturnType<typeof open>>, ledger: ReturnType<typeof openLedger>, refs: string[]) =>
    database.transaction((trx) => ledger.quota.charge(trx, { settlements: refs.map((ref) => ({ ref, cost: 7 })) }));
  const REFS = ['req_a', 'req_b', 'req_c'];

  it(`${name}: a batch that another process has partly closed is closed by the rest`, async () => {
    const database = await open();
    const [ours, other] = [openLedger(database), openLedger(database)];
    await ours.open(1, 100);
    for (const ref of REFS) await ours.reserve(ref, 1, 10);
    assert.equal(await other.settle('req_b', 4), 4);
    assert.deepEqual(await charged(database, ours, REFS), [7, undefined, 7]);
    assert.deepEqual(await charged(database, ours, REFS), [undefined, undefined, undefined]);
    assert.equal((await ours.quota.wallet(1)).balance, 100 - 4 - 7 - 7);
    await assertLedgerConsistent(database);
  });

  it(`${name}: a batch whose transaction is rolled back is settled on retry`, async () => {
    const database = await open();
    const ledger = openLedger(database);
    await ledger.open(1, 100);
    for (const ref of REFS) await ledger.reserve(ref, 1, 10);
    const failed = database.transaction(async (trx) => {
      await ledger.quota.charge(trx, { settlements: REFS.map((ref) => ({ ref, cost: 7 })) });
      throw new Error('rolled back');
    });
    await assert.rejects(failed, /rolled back/);
    assert.deepEqual(await charged(database, ledger, REFS), [7, 7, 7]);
    assert.equal((await ledger.quota.wallet(1)).balance, 79);
    await assertLedgerConsistent(database);
  });
});
