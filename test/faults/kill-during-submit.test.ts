import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { SIMULATORS } from '../../src/sandbox/simulators.ts';
import { forEachDatabase } from '../databases.ts';
import { startCrashing } from './crashing-service.ts';
import { assertLedgerConsistent, openReadOnly } from './ledger-assertions.ts';
import {
  assertOneJobEach,
  assertTasksExist,
  FAULT_POINTS,
  prepare,
  submitAll,
  untilAllEnded,
} from './submit-scenario.ts';

/** Rounds over both databases; the script that hammers for releases sets more. */
const ROUNDS = Number(process.env.KILL_ROUNDS ?? '20');
const ENV = { AMBIGUOUS_SUBMIT_TTL_SECONDS: '2', SYNC_PERIOD_SECONDS: '1' };

forEachDatabase((name, _open, freshUrl) => {
  describe(`kill -9 on ${name}`, { concurrency: 2 }, () => {
    let sandbox: Sandbox;
    before(async () => {
      sandbox = await startSandbox({ simulators: SIMULATORS });
    });
    after(() => sandbox.stop());

    for (let round = 0; round < Math.ceil(ROUNDS / 2); round += 1) {
      const point = FAULT_POINTS[round % FAULT_POINTS.length] ?? 'after-reserve';
      // Two of the six tasks fail, the other four are settled.
      const most = point === 'mid-refund' ? 2 : 4;
      const count = 1 + (Math.floor(round / FAULT_POINTS.length) % most);
      test(`T76: round ${round + 1}: at ${point}, time ${count}`, async () => {
        const url = await freshUrl();
        const crashing = await startCrashing(url, ENV, { at: point, count });
        const key = await prepare(crashing.baseUrl, sandbox);
        const answers = await submitAll(crashing.baseUrl, key, `round ${round}`);
        assert.equal(await Promise.race([crashing.ended, pause(20_000, 'not killed', { ref: false })]), 'SIGKILL');

        const again = await startCrashing(url, ENV);
        const database = openReadOnly(url);
        try {
          await untilAllEnded(database);
          await assertLedgerConsistent(database);
          await assertTasksExist(database, answers);
          assertOneJobEach(sandbox, `round ${round}`);
        } finally {
          await database.close();
          await again.stop();
        }
      });
    }
  });
});
