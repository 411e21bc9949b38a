import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ALL_SIMULATORS, type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { AdminClient } from '../admin-client.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type LoadBalancer, startHaproxy, startNginx } from '../operations/load-balancers.ts';
import { freePort, ServerProcess } from '../operations/server-process.ts';
import { ContinuousLoad } from './continuous-load.ts';
import { assertLedgerConsistent, openReadOnly } from './ledger-assertions.ts';
import { addChatModelOf, prepare, untilAllEnded, untilCallsSettled } from './submit-steps.ts';

/** Each round restarts both processes once. `npm run hammer` sets the minimum number of requests. */
const REQUESTS = Number(process.env.ROLLING_REQUESTS ?? '400');
const MIN_ROUNDS = 1;
const CALLERS_PER_BALANCER = 4;
/** nginx retries a server that refused a connection after ten seconds; HAProxy has noticed it by then. */
const NGINX_FAIL_TIMEOUT_MS = 11_000;

forEachDatabase((name, _open, freshUrl) => {
  // SQLite serves a single process.
  if (name === 'sqlite') return;

  describe('R17: two processes behind HAProxy and nginx, restarted in turn', { timeout: 3_600_000 }, () => {
    let sandbox: Sandbox;
    let url: string;
    let processes: ServerProcess[];
    let balancers: LoadBalancer[];
    before(async () => {
      sandbox = await startSandbox({ simulators: ALL_SIMULATORS, latencyMs: 20 });
      url = await freshUrl();
      const ports = [await freePort(), await freePort()];
      processes = await Promise.all(ports.map((port) => new ServerProcess(url, port).untilReady()));
      balancers = [await startHaproxy(ports), await startNginx(ports)];
    });
    after(async () => {
      await Promise.all((balancers ?? []).map((each) => each.stop()));
      await Promise.all((processes ?? []).map((each) => each.stop()));
      await sandbox?.stop();
    });

    it('no request and no stream fails, and each video starts once', async () => {
      const [first] = processes;
      assert.ok(first);
      const key = await prepare(first.baseUrl, sandbox);
      const operator = await new AdminClient(first.baseUrl).signIn();
      await addChatModelOf(sandbox, operator);
      // Enough for the longest run.
      await operator.grantQuota(1_000_000_000_000);
      const load = new ContinuousLoad(key);
      const working = Promise.all(
        balancers.flatMap((balancer) =>
          Array.from({ length: CALLERS_PER_BALANCER }, (_, caller) =>
            load.run(balancer.baseUrl, `${balancer.name} ${caller}`),
          ),
        ),
      );
      let restarts = 0;
      for (let round = 0; round < MIN_ROUNDS || load.sent < REQUESTS; round += 1) {
        for (const index of [0, 1]) {
          if (restarts > 0) await pause(NGINX_FAIL_TIMEOUT_MS);
          const old = processes[index] as ServerProcess;
          old.signal('SIGTERM');
          assert.equal(await old.ended, 0, `it ended in order: ${old.output}`);
          processes[index] = await new ServerProcess(url, old.port).untilReady();
          restarts += 1;
        }
      }
      load.isOver = true;
      await working;
      console.log(
        `${restarts} restarts, ${load.sent} requests (${load.streams} streams), ${load.failures.length} failed`,
      );
      assert.deepEqual(load.failures.slice(0, 20), []);

      const database = openReadOnly(url);
      try {
        await untilAllEnded(database, 60);
        await untilCallsSettled(database, 60);
        await assertLedgerConsistent(database);
        const rows = await database.kysely.selectFrom('tasks').select(['prompt', 'status']).execute();
        assert.equal(rows.length, load.videos.length);
        const jobs = sandbox.control.jobs('kling').map(({ prompt }) => prompt);
        assert.deepEqual(jobs.toSorted(), rows.map(({ prompt }) => prompt).toSorted(), 'one job for each');
      } finally {
        await database.close();
      }
    });
  });
});
