import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ALL_SIMULATORS, type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import type { Tables } from '../../src/server/tables.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { assertLedgerConsistent, openReadOnly } from './ledger-assertions.ts';
import { type CrashingServer, startCrashingServer } from './start-crashing-server.ts';
import { assertOneJobEach, assertTasksExist, FAULT_POINTS, prepare, submitAll, untilAllEnded } from './submit-steps.ts';

/** Rounds over both databases; `npm run hammer` sets more. */
const ROUNDS = Number(process.env.KILL_ROUNDS ?? '12');
/**
 * Databases in parallel, on each of which the service is killed repeatedly. Most of a round is waiting, so more
 * databases pay off with many rounds.
 */
const DATABASES = ROUNDS > 40 ? 4 : 2;
const ENV = { AMBIGUOUS_SUBMIT_TTL_SECONDS: '2', POLL_PERIOD_SECONDS: '0.25' };
const rounds = Array.from({ length: Math.ceil(ROUNDS / 2) }, (_, round) => round);

forEachDatabase((name, _open, freshUrl) => {
  describe(`kill -9 on ${name}`, { concurrency: DATABASES }, () => {
    let sandbox: Sandbox;
    before(async () => {
      sandbox = await startSandbox({ simulators: ALL_SIMULATORS });
    });
    after(() => sandbox.stop());

    for (let lane = 0; lane < DATABASES; lane += 1)
      describe(`database ${lane + 1}`, { concurrency: 1 }, () => {
        let url: string;
        let key: string;
        let database: Database<Tables>;
        /** The process started after the last kill. */
        let service: CrashingServer | undefined;
        before(async () => {
          url = await freshUrl();
          service = await startCrashingServer(url, ENV);
          key = await prepare(service.baseUrl, sandbox);
          database = openReadOnly(url);
        });
        after(async () => {
          await service?.stop();
          await database?.close();
        });

        for (const round of rounds.filter((each) => each % DATABASES === lane)) {
          const point = FAULT_POINTS[round % FAULT_POINTS.length] ?? 'after-reserve';
          // Two of the six tasks fail, the other four are settled.
          const most = point === 'mid-refund' ? 2 : 4;
          const count = 1 + (Math.floor(round / FAULT_POINTS.length) % most);
          test(`T76: round ${round + 1}: at ${point}, time ${count}`, async () => {
            const crashing = service ?? (await startCrashingServer(url, ENV));
            await crashing.arm({ at: point, count });
            const answers = await submitAll(crashing.baseUrl, key, `round ${round}`);
            assert.equal(await Promise.race([crashing.ended, pause(20_000, 'not killed', { ref: false })]), 'SIGKILL');
            service = undefined;

            service = await startCrashingServer(url, ENV);
            await untilAllEnded(database);
            await assertLedgerConsistent(database);
            await assertTasksExist(database, answers);
            assertOneJobEach(sandbox, `round ${round}`);
          });
        }
      });
  });
});
