import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertLedgerConsistent } from '../../../test/faults/ledger-assertions.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { openLedger } from '../../../test/ledger-fixture.ts';
import { makePoller } from '../../../test/video/poller-fixture.ts';
import { insertTask } from '../../../test/video/task-fixture.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import { manualClock } from '../platform/clock.ts';

const PRICE = 700;

describe('completions that are hard to store', () => {
  forEachDatabase((_name, open) => {
    /** Creates an account with one task in progress at a vendor whose every poll returns `outcome`. */
    async function inProgress(outcome: object = {}) {
      const database = await open();
      const clock = manualClock();
      const ledger = openLedger(database, undefined, clock);
      await ledger.open(1, 1_000);
      const { store, task } = await insertTask(database, { price: PRICE, created_at: clock.now(), handle: '{}' });
      await ledger.reserve(task.id, 1, PRICE);
      const { poller } = makePoller(database, ledger.quota, clock, outcome);
      const ended = async () => {
        await assertLedgerConsistent(database);
        assert.equal((await ledger.quota.wallet(1)).balance, 1_000, 'all was given back');
        return store.findById(task.id);
      };
      return { clock, task, poller, ended };
    }

    it('a failure reason with characters no database stores fails the task and refunds it', async () => {
      const message = 'bad\u0000 words\ud800';
      const error = { reason: 'other', retryable: false, httpStatus: 200, code: 'E\u00001', message };
      const { task, poller, ended } = await inProgress({ state: 'FAILURE', raw: { message }, error });
      assert.equal(await poller.poll(task, new AbortController().signal), 'ended');
      const row = await ended();
      assert.deepEqual([row?.status, row?.fail_reason, row?.error_code], ['FAILURE', 'bad words\ufffd', 'E1']);
    });

    it('T79: a result that can never be stored keeps the reservation until the deadline and no longer', async () => {
      const { task, clock, poller, ended } = await inProgress({ state: 'SUCCESS', raw: {}, artifact: { size: 1n } });
      const poll = () => poller.poll(task, new AbortController().signal);
      await assert.rejects(poll, TypeError);
      clock.advance(25 * HOUR_MS);
      assert.equal(await poll(), 'ended');
      assert.deepEqual((await ended())?.error_code, 'timeout');
    });
  });
});
