import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Sandbox, startSandbox } from '../../src/sandbox/kit.ts';
import { SIMULATORS } from '../../src/sandbox/simulators.ts';
import { forEachDatabase } from '../databases.ts';
import { model } from '../operator.ts';
import { assertBooks, lookInto } from './books.ts';
import { type CrashingService, startCrashing } from './crashing-service.ts';
import { prepare, untilAllEnded, VIDEO_MODELS } from './money-path.ts';

const CALLERS = 4;
const ENV = { AMBIGUOUS_SUBMIT_TTL_SECONDS: '3' };

forEachDatabase((name, _open, freshUrl) => {
  // SQLite serves one process.
  if (name === 'sqlite') return;

  describe('R17: two processes, stopped in order and started again one after the other', () => {
    let sandbox: Sandbox;
    let url: string;
    let processes: CrashingService[];
    before(async () => {
      sandbox = await startSandbox({ simulators: SIMULATORS, latencyMs: 100 });
      url = await freshUrl();
      processes = await Promise.all([startCrashing(url, ENV), startCrashing(url, ENV)]);
    });
    after(async () => {
      await Promise.all(processes.map((each) => each.stop()));
      await sandbox.stop();
    });

    it('answers everybody, and begins each video once', async () => {
      const key = await prepare(processes[0]?.baseUrl ?? '', sandbox);
      let isOver = false;
      let made = 0;
      /** As a balancer and its client do: whoever cannot be reached is asked no more, and the other is asked again. */
      const submit = async (prompt: string, first: number): Promise<void> => {
        const headers = { connection: 'close', 'idempotency-key': prompt.replaceAll(' ', '-') };
        for (let tries = 0; tries < 20; tries += 1) {
          const at = processes[(first + tries) % 2]?.baseUrl ?? '';
          const body = { model: VIDEO_MODELS.kling, prompt };
          const answer = await model(at, key, 'POST', '/v1/videos', body, headers).catch(() => undefined);
          if (answer?.status === 200) {
            made += 1;
            return;
          }
          if (answer !== undefined)
            assert.equal(answer.status, 409, `${prompt}: ${answer.status} ${JSON.stringify(answer.body)}`);
          await pause(100);
        }
        assert.fail(`${prompt} was never answered`);
      };
      const working = Promise.all(
        Array.from({ length: CALLERS }, async (_, caller) => {
          for (let n = 0; !isOver; n += 1) await submit(`rolling ${caller} ${n}`, n % 2);
        }),
      );
      for (const index of [0, 1]) {
        await pause(400);
        await processes[index]?.stop();
        assert.equal(await processes[index]?.ended, null, 'it went by itself');
        processes[index] = await startCrashing(url, ENV);
      }
      await pause(400);
      isOver = true;
      await working;

      const database = lookInto(url);
      try {
        await untilAllEnded(database);
        await assertBooks(database);
        const rows = await database.kysely.selectFrom('tasks').select(['prompt', 'status']).execute();
        assert.equal(rows.length, made);
        assert.deepEqual(
          rows.filter(({ status }) => status !== 'SUCCESS'),
          [],
        );
        const jobs = sandbox.control.jobs('kling').map(({ prompt }) => prompt);
        assert.deepEqual(jobs.toSorted(), rows.map(({ prompt }) => prompt).toSorted(), 'one job for each');
      } finally {
        await database.close();
      }
    });
  });
});
