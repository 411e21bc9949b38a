import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { forEachDatabase } from '../../../test/databases.ts';
import { assertBooks } from '../../../test/faults/books.ts';
import { openLedger } from '../../../test/ledger.ts';
import { freshTask } from '../../../test/video/fresh-task.ts';
import { isTerminal, type TaskStatus } from '../../contract/states.ts';
import { handClock } from '../platform/clock.ts';
import { openLog } from '../platform/log.ts';
import { Endings } from './endings.ts';
import { Looks } from './looks.ts';
import { rankOf } from './states.ts';
import type { Task } from './store.ts';
import type { QueryOutcome } from './vendor.ts';

/** The script that hammers for releases tries more, from another seed. */
const HISTORIES = Number(process.env.HISTORIES ?? '150');
const SEED = Number(process.env.JUNK_SEED ?? '20261121');
const PRICE = 700;
const GIVEN = 1_000_000_000;

const news = (state: TaskStatus): QueryOutcome => ({ state, raw: { state }, ...(state === 'SUCCESS' ? FILE : {}) });
const FILE = { artifact: { kind: 'url', url: 'https://files.example/a.mp4' } } as const;
const STATES = ['UNKNOWN', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS', 'SUCCESS', 'FAILURE'] as const;
/** What a vendor says of one job in any order and any number, both ends included, and who hears it at the same time. */
const history = fc.array(fc.array(fc.constantFrom(...STATES), { minLength: 1, maxLength: 4 }), { maxLength: 7 });

describe(`T81: news of a task in any order (seed ${SEED})`, () => {
  forEachDatabase((_name, open) => {
    it('moves it forward only, ends it once, and is paid for once', async () => {
      const database = await open();
      const clock = handClock();
      const ledger = openLedger(database, undefined, clock);
      await ledger.open(1, GIVEN);
      const { store } = await freshTask(database, { id: 'first' });
      await database.kysely.deleteFrom('tasks').execute();
      const notifier = { notify: async () => {}, notifyAdministrators: async () => {} };
      const endings = new Endings({ database, store, quota: ledger.quota, notifier, clock, at: () => {} });
      const looks = new Looks({
        database,
        store,
        endings,
        clock,
        channels: {} as never,
        vendors: {} as never,
        calls: {} as never,
        log: openLog('silent'),
        syncPeriodMs: 1_000,
        ambiguousTtlMs: 1_000,
        taskTimeoutMs: 1_000,
      });
      const stateOf = async (id: string) => (await store.byId(id)) as Task;
      let count = 0;
      let settled = 0;
      const run = fc.asyncProperty(history, async (moments) => {
        count += 1;
        const id = `task_${count}`;
        const { task } = await freshTask(database, { id, price: PRICE, handle: '{}', status: 'SUBMITTED' });
        await ledger.reserve(id, 1, PRICE);
        let before = task;
        for (const states of moments) {
          // Everybody at once, and all of them with what they knew at the beginning.
          const applied = await Promise.all(states.map((state) => looks.apply(task, news(state))));
          const now = await stateOf(id);
          assert.ok(rankOf(now.status) >= rankOf(before.status), `${before.status} became ${now.status}`);
          if (isTerminal(before.status)) assert.deepEqual(now, before, 'an end is an end');
          else if (isTerminal(now.status)) assert.ok(states.includes(now.status as never));
          else assert.ok(!states.some(isTerminal), `${states} left it ${now.status}`);
          const best = Math.max(rankOf(before.status), ...states.map(rankOf));
          assert.equal(rankOf(now.status), isTerminal(before.status) ? rankOf(before.status) : best);
          assert.equal(applied.length, states.length);
          before = now;
        }
        if (before.status === 'SUCCESS') {
          settled += 1;
          assert.deepEqual([before.progress, JSON.parse(before.artifact ?? '{}')], [100, FILE.artifact]);
        }
        if (!isTerminal(before.status)) await endings.fail(before, 'the history is over', 'over');
      });
      await fc.assert(run, { numRuns: HISTORIES, seed: SEED });
      await assertBooks(database);
      assert.equal((await ledger.quota.wallet(1)).balance, GIVEN - settled * PRICE);
      assert.ok(settled > 0 && settled < HISTORIES, `${settled} of ${HISTORIES} were made`);
    });
  });
});
