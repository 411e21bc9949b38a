import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { assertLedgerConsistent } from '../../../test/faults/ledger-assertions.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { openLedger } from '../../../test/ledger-fixture.ts';
import { makePoller } from '../../../test/video/poller-fixture.ts';
import { insertTask } from '../../../test/video/task-fixture.ts';
import { isTerminal, type TaskStatus } from '../../contract/task-states.ts';
import { manualClock } from '../platform/clock.ts';
import type { QueryOutcome } from '../vendors/adapter.ts';
import { rankOf, type Task } from './task-store.ts';

/** `npm run hammer` runs more histories, with another seed. */
const HISTORIES = Number(process.env.HISTORIES ?? '150');
const SEED = Number(process.env.INVALID_SUBMIT_SEED ?? '20261121');
const PRICE = 700;
const GIVEN = 1_000_000_000;

const outcomeOf = (state: TaskStatus): QueryOutcome => ({
  state,
  raw: { state },
  ...(state === 'SUCCESS' ? FILE : {}),
});
const FILE = { artifact: { kind: 'url', url: 'https://files.example/a.mp4' } } as const;
const STATES = ['UNKNOWN', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS', 'SUCCESS', 'FAILURE'] as const;
/**
 * Poll results of one job, in any order and number, including both terminal states; those of one inner list arrive
 * concurrently.
 */
const history = fc.array(fc.array(fc.constantFrom(...STATES), { minLength: 1, maxLength: 4 }), { maxLength: 7 });

describe(`T81: poll results in any order (seed ${SEED})`, () => {
  forEachDatabase((_name, open) => {
    it('move the task forward only, end it once, and charge it once', async () => {
      const database = await open();
      const clock = manualClock();
      const ledger = openLedger(database, undefined, clock);
      await ledger.open(1, GIVEN);
      const { completion, poller, store } = makePoller(database, ledger.quota, clock);
      const stateOf = async (id: string) => (await store.findById(id)) as Task;
      let count = 0;
      let settled = 0;
      const run = fc.asyncProperty(history, async (moments) => {
        count += 1;
        const id = `task_${count}`;
        const { task } = await insertTask(database, { id, price: PRICE, handle: '{}', status: 'SUBMITTED' });
        await ledger.reserve(id, 1, PRICE);
        let before = task;
        for (const states of moments) {
          // Concurrently, each with the task as it was at the start.
          const applied = await Promise.all(states.map((state) => poller.applyOutcome(task, outcomeOf(state))));
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
        if (!isTerminal(before.status))
          await completion.fail(before, { cause: 'unknown', message: 'the history is over', code: 'over' });
      });
      await fc.assert(run, { numRuns: HISTORIES, seed: SEED });
      await assertLedgerConsistent(database);
      assert.equal((await ledger.quota.wallet(1)).balance, GIVEN - settled * PRICE);
      assert.ok(settled > 0 && settled < HISTORIES, `${settled} of ${HISTORIES} were made`);
    });
  });
});
