import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ALL_SIMULATORS, type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { MAX_POLLS_PER_CHANNEL } from '../../src/server/video/poll-scheduler.ts';
import { callModelApi } from '../call-model-api.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { assertLedgerConsistent, openReadOnly } from './ledger-assertions.ts';
import { type CrashPlan, startCrashingServer } from './start-crashing-server.ts';
import {
  assertOneJobEach,
  assertTasksExist,
  FAULT_POINTS,
  prepare,
  retryWhileUnavailable,
  submitAll,
  trySubmits,
  untilAllEnded,
  VIDEO_MODELS,
} from './submit-steps.ts';

/** Before the request, after the response, and inside a transaction; `npm run hammer` tries every point. */
const STOPS =
  process.env.FREEZE_ALL === undefined ? (['before-send', 'after-answer', 'before-settle'] as const) : FAULT_POINTS;
const ENV = { AMBIGUOUS_SUBMIT_TTL_SECONDS: '2', SYNC_PERIOD_SECONDS: '1' };
const CROWD = 250;

const taskNumber = (prompt: string): number => Number(/ task (\d+) /.exec(prompt)?.[1]);

type Env = Readonly<Record<string, string>>;

/**
 * One of two processes is suspended in the middle of its work, as a hypervisor may do, until the other has taken over
 * all of it; then it resumes, unaware of the pause.
 */
forEachDatabase((name, _open, freshUrl) => {
  // SQLite serves a single process.
  if (name === 'sqlite') return;

  describe('a process that is suspended and resumed', { concurrency: STOPS.length + 1 }, () => {
    let sandbox: Sandbox;
    let slow: Sandbox;
    before(async () => {
      sandbox = await startSandbox({ simulators: ALL_SIMULATORS });
      slow = await startSandbox({ simulators: ALL_SIMULATORS, latencyMs: 500, keepRequests: 50_000 });
    });
    after(() => Promise.all([sandbox.stop(), slow.stop()]));

    async function pair(envs: readonly [sleeper: Env, other: Env], blow?: CrashPlan) {
      const url = await freshUrl();
      const [sleeper, other] = await Promise.all([
        startCrashingServer(url, envs[0], blow),
        startCrashingServer(url, envs[1]),
      ]);
      const database = openReadOnly(url);
      const stop = async () => {
        await database.close();
        await Promise.all([sleeper.stop(), other.stop()]);
      };
      return { sleeper, other, database, stop };
    }
    type Pair = Awaited<ReturnType<typeof pair>>;

    /** The final state that must not change again: these tasks, or all, and their ledger entries. */
    const endsOf = async ({ database: { kysely } }: Pair, only?: readonly { readonly id: string }[]) => {
      const fields = ['id', 'status', 'finish_time', 'data', 'error_code'] as const;
      const all = await kysely.selectFrom('tasks').select(fields).orderBy('id').execute();
      const ids = new Set((only ?? all).map(({ id }) => id));
      const ledger = await kysely.selectFrom('ledger').selectAll().orderBy('id').execute();
      return { tasks: all.filter(({ id }) => ids.has(id)), ledger: ledger.filter(({ ref }) => ids.has(ref)) };
    };

    /** Tasks given up because no vendor had confirmed them, with their recorded attempts. */
    const givenUp = ({ database: { kysely } }: Pair) =>
      kysely
        .selectFrom('tasks')
        .leftJoin('task_attempts', 'task_attempts.task_id', 'tasks.id')
        .select(['prompt', 'outcome'])
        .where('error_code', '=', 'unconfirmed')
        .execute();

    for (const point of STOPS) {
      it(`at ${point}: nothing is duplicated, lost or submitted without a task`, { timeout: 90_000 }, async () => {
        const both = await pair([ENV, ENV], { at: point, count: 1, signal: 'SIGSTOP' });
        const { sleeper, other, database } = both;
        try {
          const key = await prepare(other.baseUrl, sandbox);
          // The process that polls first must be the one that is suspended.
          process.kill(other.pid, 'SIGSTOP');
          const label = `frozen ${point}`;
          const answers = trySubmits(sleeper.baseUrl, key, label);
          const never = pause(20_000, undefined, { ref: false }).then(() => assert.fail('it never came to the point'));
          await Promise.race([sleeper.frozen, never]);
          process.kill(other.pid, 'SIGCONT');
          // A process suspended inside a transaction locks its rows until PostgreSQL ends the transaction after ten
          // seconds.
          await untilAllEnded(database, 40);
          await assertLedgerConsistent(database);
          const ends = await endsOf(both);

          process.kill(sleeper.pid, 'SIGCONT');
          const answered = await answers;
          for (const answer of answered)
            assert.match(String(answer?.status), /^(200|503)$/, answer?.text ?? 'no answer');
          const ids = answered.map((answer) => answer?.id);
          await assertTasksExist(database, ids);
          await pause(1_500);
          await untilAllEnded(database);
          assert.deepEqual(await endsOf(both, ends.tasks), ends, 'who wakes changes nothing that has ended');
          const begun = new Set(assertOneJobEach(sandbox, label));
          const unavailable = new Set(answered.flatMap((answer, index) => (answer?.status === 503 ? index : [])));
          const unnoted = async () =>
            (await givenUp(both)).filter(({ prompt, outcome }) => {
              const noted = begun.has(prompt) ? ['late', 'unknown'] : ['unreachable'];
              // If the response to the commit of a submit was lost, its caller received 503 and nothing was ever sent.
              const wasNeverSent = outcome === null && !begun.has(prompt) && unavailable.has(taskNumber(prompt));
              return !wasNeverSent && !noted.includes(String(outcome));
            });
          // The resumed process records this once it has reconnected to the database.
          for (let tries = 0; tries < 150 && (await unnoted()).length > 0; tries++) await pause(100);
          const begunNow = `whether its job was begun is noted; begun: ${[...begun].join(', ')}`;
          assert.deepEqual(await unnoted(), [], begunNow);
          if (point === 'before-send') assert.ok((await givenUp(both)).some(({ prompt }) => !begun.has(prompt)));

          await submitAll(sleeper.baseUrl, key, `${label} again`);
          await untilAllEnded(database);
          await assertLedgerConsistent(database);
        } finally {
          await both.stop();
        }
      });
    }

    it('polls nothing on an expired claim', { timeout: 90_000 }, async () => {
      // The other process polls once and then waits a minute, so that every further poll is one too many.
      const patient = { SYNC_PERIOD_SECONDS: '60' };
      const { sleeper, other, database, stop } = await pair([ENV, patient]);
      const polls = () => Map.groupBy(slow.control.requests({ operation: 'query' }), ({ path }) => path);
      const until = async (isSo: () => boolean, what: string) => {
        for (let tries = 0; tries < 3_000 && !isSo(); tries += 1) await pause(10);
        assert.ok(isSo(), what);
      };
      try {
        const key = await prepare(other.baseUrl, slow);
        process.kill(sleeper.pid, 'SIGSTOP');
        const body = { model: VIDEO_MODELS.kling, prompt: '[stuck]' };
        const submits = Array.from({ length: CROWD }, () =>
          retryWhileUnavailable(() => callModelApi(other.baseUrl, key, 'POST', '/v1/videos', body)),
        );
        assert.ok((await Promise.all(submits)).every(({ status }) => status === 200));
        process.kill(other.pid, 'SIGSTOP');
        await database.kysely.updateTable('tasks').set({ next_poll_at: 1 }).execute();
        // It claims all tasks at once, polls some of them and keeps the others waiting.
        process.kill(sleeper.pid, 'SIGCONT');
        await until(() => polls().size > 20, 'it polls');
        process.kill(sleeper.pid, 'SIGSTOP');
        await pause(600);
        const seen = polls().size;
        assert.ok(seen < CROWD, `${seen} of ${CROWD} were polled, others wait`);
        slow.control.clearRequests();
        process.kill(other.pid, 'SIGCONT');
        await until(() => polls().size === CROWD, 'the other has polled all of them');
        process.kill(sleeper.pid, 'SIGCONT');
        await pause(3_000);
        // Polls in flight when the process stopped cannot be recalled; all others were waiting for their turn.
        const often = [...polls()].filter(([, { length }]) => length > 1);
        assert.ok(often.length <= MAX_POLLS_PER_CHANNEL, `${often.length} of ${CROWD} were polled again`);
      } finally {
        await stop();
      }
    });
  });
});
