import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { reserveCalls } from '../../../test/chat/reserve-calls.ts';
import { assertLedgerConsistent } from '../../../test/faults/ledger-assertions.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { type Database, DatabaseUnavailableError } from '../platform/db/database.ts';
import { openLog } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { ChargeBatcher } from './charge.ts';
import { recoverJournals } from './journal-recovery.ts';
import { SettlementJournal } from './settlement-journal.ts';

const KEY = Buffer.alloc(32, 7);
const TEN_MINUTES_MS = 600_000;
const STEP_MS = 5_000;
const log = openLog('silent');

/** A database that can become unavailable: its queries then fail as they do when its server is gone. */
function removable(database: Database<Tables>) {
  const state = { isAway: false, attempts: 0, inProgress: new Set<Promise<unknown>>() };
  const transaction: Database<Tables>['transaction'] = (work, options) => {
    state.attempts += 1;
    if (state.isAway) return Promise.reject(new DatabaseUnavailableError('away'));
    const done = database.transaction(work, options).finally(() => state.inProgress.delete(done));
    state.inProgress.add(done);
    return done;
  };
  const through = new Proxy(database, {
    get: (target, name) => (name === 'transaction' ? transaction : Reflect.get(target, name, target)),
  });
  return { state, database: through };
}

forEachDatabase((name, open) => {
  async function withReservations(t: TestContext, refs: readonly string[]) {
    const directory = mkdtempSync(join(tmpdir(), 'reelgate-outage-'));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const database = await open();
    const { quota, balance } = await reserveCalls(database, refs);
    return { directory, database, quota, balance };
  }

  it(`${name}: T82: calls delivered during a ten-minute database outage are charged once it is back`, async (t) => {
    const refs = Array.from({ length: 40 }, (_, n) => `req_${n}`);
    // Enabled before the pool starts timers of its own, which the mocked `clearTimeout` would not find.
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { directory, database, quota, balance } = await withReservations(t, refs);
    const { state, database: through } = removable(database);
    const journal = new SettlementJournal(directory, KEY, log);
    const batcher = new ChargeBatcher({ database: through, quota, log, journal });
    state.isAway = true;
    // One call ends every 15 seconds; every fourth failed and costs nothing.
    let next = 0;
    for (let passed = 0; passed < TEN_MINUTES_MS; passed += STEP_MS) {
      if (passed % (3 * STEP_MS) === 0) {
        const ref = refs[next] ?? '';
        const payer = { userId: 1, tokenId: undefined };
        if (next % 4 === 3) void batcher.refund(payer, ref);
        else batcher.settle(payer, ref, next + 1, { promptTokens: 1, completionTokens: next });
        next += 1;
      }
      t.mock.timers.tick(STEP_MS);
      for (let turns = 0; turns < 3; turns += 1) await nextTurn();
    }
    assert.equal(next, refs.length);
    assert.ok(state.attempts > 50, `it went on trying: ${state.attempts} times`);
    assert.equal(await balance(), 10_000 - 100 * refs.length, 'all is still reserved');
    assert.notDeepEqual(readdirSync(directory), [], 'what is owed is kept on the disk meanwhile');

    state.isAway = false;
    let isIdle = false;
    void batcher.idle().then(() => {
      isIdle = true;
    });
    // Half a minute later, or slightly more. This clock stands still during a transaction: it is also the one by which
    // the PostgreSQL client gives up connections and statements.
    for (let tries = 0; !isIdle && tries < 1_500; tries += 1) {
      t.mock.timers.tick(50);
      await nextTurn();
      await Promise.allSettled(state.inProgress);
    }
    assert.ok(isIdle);
    t.mock.timers.reset();
    const charged = refs.reduce((sum, _, n) => sum + (n % 4 === 3 ? 0 : n + 1), 0);
    assert.equal(await balance(), 10_000 - charged);
    await assertLedgerConsistent(database);
    journal.stop();
    assert.deepEqual(readdirSync(directory), [], 'what is settled is not kept');
  });

  it(`${name}: T82: kill -9 during the outage loses nothing: the next process charges the calls once the database is back`, async (t) => {
    const { directory, database, quota, balance } = await withReservations(t, [
      'req_charged',
      'req_refunded',
      'req_open',
    ]);
    const fixture = join(import.meta.dirname, 'outage.fixture.ts');
    const child = spawn(process.execPath, [fixture, directory, KEY.toString('base64')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [first] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    assert.equal(String(first), 'ready\n');
    const { state, database: through } = removable(database);
    const recover = () => recoverJournals({ directory, masterKeys: [KEY], database: through, quota, log });
    assert.equal(await recover(), 0, 'nothing while its process lives');
    child.kill('SIGKILL');
    await once(child, 'exit');
    state.isAway = true;
    for (let tries = 0; tries < 3; tries += 1) await assert.rejects(recover(), DatabaseUnavailableError);
    assert.equal(await balance(), 10_000 - 300);
    state.isAway = false;
    assert.equal(await recover(), 3);
    // Thirty for one call; for the other the prompt's token and the three that were delivered.
    assert.equal(await balance(), 10_000 - 30 - 4);
    assert.equal(await recover(), 0);
    assert.deepEqual(readdirSync(directory), []);
    await assertLedgerConsistent(database);
  });
});
