import assert from 'node:assert/strict';
import { it } from 'node:test';
import { assertLedgerConsistent } from '../../../test/faults/ledger-assertions.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { openLedger } from '../../../test/ledger-fixture.ts';
import { makePoller } from '../../../test/video/poller-fixture.ts';
import { insertTask } from '../../../test/video/task-fixture.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import { manualClock } from '../platform/clock.ts';

const PRICE = 700;

forEachDatabase((_name, open) => {
  it('a video that its vendor accepts just before its refund is not refunded by an older look at it', async () => {
    const database = await open();
    const clock = manualClock();
    const ledger = openLedger(database, undefined, clock);
    await ledger.open(1, 10_000);
    await ledger.reserve('task_1', 1, PRICE);
    const created_at = clock.now();
    const { store, task } = await insertTask(database, { price: PRICE, created_at, next_poll_at: 1 });
    const { poller } = makePoller(database, ledger.quota, clock, { state: 'IN_PROGRESS', raw: {} });
    clock.advance(HOUR_MS);
    const now = clock.now();
    const acceptance = { id: task.id, attempt: 1, public_id: task.id, handle: '"job"', data: '{}', now, next: now };
    await store.markAccepted(database.kysely, acceptance);
    assert.equal(await poller.poll(task, new AbortController().signal), 'same');
    const accepted = await store.findById(task.id);
    assert.equal(accepted?.status, 'SUBMITTED');
    assert.equal(accepted !== undefined && (await poller.poll(accepted, new AbortController().signal)), 'changed');
    await assertLedgerConsistent(database);
  });
});
