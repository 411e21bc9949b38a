import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { openLedger } from '../../../test/ledger-fixture.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import { manualClock } from '../platform/clock.ts';
import { auditLedger } from './ledger-audit.ts';
import { refundAbandonedReservations } from './ledger-service.ts';

describe('refundAbandonedReservations', () => {
  forEachDatabase((_name, open) => {
    it('refunds only reservations of the given prefix and age, once each', async () => {
      const database = await open();
      const clock = manualClock();
      const ledger = openLedger(database, undefined, clock);
      await ledger.open(1, 100_000);
      for (let i = 0; i < 450; i++) await ledger.reserve(`req_${i}`, 1, 10);
      await ledger.reserve('task_a', 1, 10);
      clock.advance(HOUR_MS);
      await ledger.reserve('req_young', 1, 10);
      clock.advance(1);
      const sweep = () =>
        refundAbandonedReservations(
          { database, store: ledger.store, ledger: ledger.quota, clock },
          { prefix: 'req_', olderThanMs: HOUR_MS },
        );
      const [one, other, late] = await Promise.all([sweep(), sweep(), ledger.settle('req_0', 4)]);
      assert.equal(one + other, late === undefined ? 450 : 449);
      assert.equal(await sweep(), 0);
      assert.equal(await ledger.settle('req_1', 10), undefined, 'a late end changes nothing');
      assert.equal((await ledger.quota.wallet(1)).balance, 100_000 - 20 - (late === undefined ? 0 : 4));
      assert.deepEqual(await auditLedger(database), []);
    });
  });
});
