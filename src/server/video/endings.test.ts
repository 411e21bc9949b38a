import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/databases.ts';
import { assertBooks } from '../../../test/faults/books.ts';
import { openLedger } from '../../../test/ledger.ts';
import { freshTask } from '../../../test/video/fresh-task.ts';
import { handClock } from '../platform/clock.ts';
import { openLog } from '../platform/log.ts';
import { Endings } from './endings.ts';
import { Looks } from './looks.ts';

const HOUR = 3_600_000;
const PRICE = 700;

describe('ends that are hard to write down', () => {
  forEachDatabase((_name, open) => {
    /** An account with one task under way at a vendor that answers every look with `outcome`. */
    async function underWay(outcome: object = {}) {
      const database = await open();
      const clock = handClock();
      const ledger = openLedger(database, undefined, clock);
      await ledger.open(1, 1_000);
      const { store, task } = await freshTask(database, { price: PRICE, created_at: clock.now(), handle: '{}' });
      await ledger.reserve(task.id, 1, PRICE);
      const notifier = { notify: async () => {}, notifyAdministrators: async () => {} };
      const endings = new Endings({ database, store, quota: ledger.quota, notifier, clock, at: () => {} });
      const looks = new Looks({
        database,
        store,
        endings,
        clock,
        channels: { byId: async () => ({ id: 1 }), report: () => {} } as never,
        vendors: { get: () => ({ query: async () => outcome }) } as never,
        calls: { make: () => ({}) } as never,
        log: openLog('silent'),
        syncPeriodMs: 1_000,
        ambiguousTtlMs: HOUR,
        taskTimeoutMs: 24 * HOUR,
      });
      const ended = async () => {
        await assertBooks(database);
        assert.equal((await ledger.quota.wallet(1)).balance, 1_000, 'all was given back');
        return store.byId(task.id);
      };
      return { clock, task, endings, looks, ended };
    }

    it('a reason with characters that no database keeps ends the task and gives its money back', async () => {
      const message = 'bad\u0000 words\ud800';
      const error = { reason: 'other', retryable: false, httpStatus: 200, code: 'E\u00001', message };
      const { task, looks, ended } = await underWay({ state: 'FAILURE', raw: { message }, error });
      assert.equal(await looks.look(task, new AbortController().signal), 'ended');
      const row = await ended();
      assert.deepEqual([row?.status, row?.fail_reason, row?.error_code], ['FAILURE', 'bad words\ufffd', 'E1']);
    });

    it('an answer that can never be kept holds the money until the deadline and no longer', async () => {
      const { task, clock, looks, ended } = await underWay({ state: 'SUCCESS', raw: {}, artifact: { size: 1n } });
      const look = () => looks.look(task, new AbortController().signal);
      await assert.rejects(look, TypeError);
      clock.advance(25 * HOUR);
      assert.equal(await look(), 'ended');
      assert.deepEqual((await ended())?.error_code, 'timeout');
    });
  });
});
