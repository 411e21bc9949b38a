import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertLedgerConsistent } from '../../../test/faults/ledger-assertions.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { openLedger } from '../../../test/ledger-fixture.ts';
import { type ReservationRow, WrittenReservations } from './ledger.ts';

const row = (ref: string): ReservationRow => ({
  ref,
  user_id: 1,
  token_id: null,
  model: 'film',
  amount: 10,
  plan_amount: 0,
  plan_slot: null,
  created_at: 1,
  spend_windows: null,
  actor_id: null,
});

describe('WrittenReservations', () => {
  it('are returned once, in the requested order', () => {
    const written = new WrittenReservations<ReservationRow>();
    written.remember(['a', 'b', 'c'].map(row));
    assert.deepEqual(written.recall(['c', 'a']), [row('c'), row('a')]);
    assert.equal(written.recall(['a']), undefined);
    assert.equal(written.recall(['b', 'x']), undefined, 'one of them is not known');
    assert.equal(written.recall(['b']), undefined, 'asked for once, whatever came of it');
    written.remember([row('d')]);
    assert.equal(written.recall(['d', 'd']), undefined, 'named twice, there is one');
  });

  it('keep the latest 20,000', () => {
    const written = new WrittenReservations<ReservationRow>();
    written.remember(Array.from({ length: 20_001 }, (_, index) => row(`r${index}`)));
    assert.equal(written.recall(['r0']), undefined);
    assert.deepEqual(written.recall(['r1', 'r20000']), [row('r1'), row('r20000')]);
  });
});

forEachDatabase((name, open) => {
  const charged = (database: Awaited<ReturnType<typeof open>>, ledger: ReturnType<typeof openLedger>, refs: string[]) =>
    database.transaction((trx) => ledger.quota.charge(trx, { settlements: refs.map((ref) => ({ ref, cost: 7 })) }));
  const REFS = ['req_a', 'req_b', 'req_c'];

  it(`${name}: a batch that another process has partly closed is closed when settled again`, async () => {
    const database = await open();
    const [ours, other] = [openLedger(database), openLedger(database)];
    await ours.open(1, 100);
    for (const ref of REFS) await ours.reserve(ref, 1, 10);
    assert.equal(await other.settle('req_b', 4), 4);
    await assert.rejects(charged(database, ours, REFS), /closed by another process/);
    assert.equal((await ours.quota.wallet(1)).balance, 76, 'nothing of it is done');
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
