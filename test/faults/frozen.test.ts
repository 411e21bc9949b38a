import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Sandbox, startSandbox } from '../../src/sandbox/kit.ts';
import { SIMULATORS } from '../../src/sandbox/simulators.ts';
import { LOOKS_AT_ONCE } from '../../src/server/video/synchronizer.ts';
import { forEachDatabase } from '../databases.ts';
import { model } from '../operator.ts';
import { assertBooks, lookInto } from './books.ts';
import { type Blow, startCrashing } from './crashing-service.ts';
import {
  assertKnown,
  assertOneJobEach,
  POINTS,
  prepare,
  submitAll,
  trySubmits,
  untilAllEnded,
  VIDEO_MODELS,
} from './money-path.ts';

/** Unsent, answered, and inside a transaction; the script that hammers for releases tries every point. */
const STOPS =
  process.env.FREEZE_ALL === undefined ? (['before-send', 'after-answer', 'before-settle'] as const) : POINTS;
const ENV = { AMBIGUOUS_SUBMIT_TTL_SECONDS: '2', SYNC_PERIOD_SECONDS: '1' };
const CROWD = 250;

type Env = Readonly<Record<string, string>>;

/**
 * One of two processes stands still in the middle of its work, as under a hypervisor that takes its time away, until the
 * other has taken all of it over; then it goes on as if nothing had been.
 */
forEachDatabase((name, _open, freshUrl) => {
  // SQLite serves one process.
  if (name === 'sqlite') return;

  describe('R5: a process that stood still and wakes', { concurrency: STOPS.length + 1 }, () => {
    let sandbox: Sandbox;
    let slow: Sandbox;
    before(async () => {
      sandbox = await startSandbox({ simulators: SIMULATORS });
      slow = await startSandbox({ simulators: SIMULATORS, latencyMs: 500, keepRequests: 50_000 });
    });
    after(() => Promise.all([sandbox.stop(), slow.stop()]));

    async function pair(envs: readonly [sleeper: Env, other: Env], blow?: Blow) {
      const url = await freshUrl();
      const [sleeper, other] = await Promise.all([startCrashing(url, envs[0], blow), startCrashing(url, envs[1])]);
      const database = lookInto(url);
      const stop = async () => {
        await database.close();
        await Promise.all([sleeper.stop(), other.stop()]);
      };
      return { sleeper, other, database, stop };
    }
    type Pair = Awaited<ReturnType<typeof pair>>;

    /** What must stay as it is once it is so: these tasks, or all, and their entries. */
    const endsOf = async ({ database: { kysely } }: Pair, only?: readonly { readonly id: string }[]) => {
      const fields = ['id', 'status', 'finish_time', 'data', 'error_code'] as const;
      const all = await kysely.selectFrom('tasks').select(fields).orderBy('id').execute();
      const ids = new Set((only ?? all).map(({ id }) => id));
      const ledger = await kysely.selectFrom('ledger').selectAll().orderBy('id').execute();
      return { tasks: all.filter(({ id }) => ids.has(id)), ledger: ledger.filter(({ ref }) => ids.has(ref)) };
    };

    /** Tasks given up since no vendor had confirmed them, with what is noted of their tries. */
    const givenUp = ({ database: { kysely } }: Pair) =>
      kysely
        .selectFrom('tasks')
        .leftJoin('task_attempts', 'task_attempts.task_id', 'tasks.id')
        .select(['prompt', 'outcome'])
        .where('error_code', '=', 'unconfirmed')
        .execute();

    for (const point of STOPS) {
      it(`at ${point}: nothing is doubled, lost or begun for nobody`, { timeout: 90_000 }, async () => {
        const both = await pair([ENV, ENV], { at: point, count: 1, signal: 'SIGSTOP' });
        const { sleeper, other, database } = both;
        try {
          const key = await prepare(other.baseUrl, sandbox);
          // Whoever looks first must be the one that stands still.
          process.kill(other.pid, 'SIGSTOP');
          const label = `frozen ${point}`;
          const answers = trySubmits(sleeper.baseUrl, key, label);
          const never = pause(20_000, undefined, { ref: false }).then(() => assert.fail('it never came to the point'));
          await Promise.race([sleeper.frozen, never]);
          process.kill(other.pid, 'SIGCONT');
          // What stands still inside a transaction holds its rows until PostgreSQL ends it after ten seconds.
          await untilAllEnded(database, 40);
          await assertBooks(database);
          const ends = await endsOf(both);

          process.kill(sleeper.pid, 'SIGCONT');
          const answered = await answers;
          for (const answer of answered)
            assert.match(String(answer?.status), /^(200|503)$/, answer?.text ?? 'no answer');
          const ids = answered.map((answer) => answer?.id);
          await assertKnown(database, ids);
          await pause(1_500);
          await untilAllEnded(database);
          assert.deepEqual(await endsOf(both, ends.tasks), ends, 'who wakes changes nothing that has ended');
          const begun = new Set(assertOneJobEach(sandbox, label));
          for (const { prompt, outcome } of await givenUp(both)) {
            if (begun.has(prompt)) assert.match(String(outcome), /^(late|unknown)$/, 'that its job was begun is noted');
            else assert.match(String(outcome), /^unreachable$/, 'that it was not begun is noted');
          }
          if (point === 'before-send') assert.ok((await givenUp(both)).some(({ prompt }) => !begun.has(prompt)));

          await submitAll(sleeper.baseUrl, key, `${label} again`);
          await untilAllEnded(database);
          await assertBooks(database);
        } finally {
          await both.stop();
        }
      });
    }

    it('looks at nothing on a claim that has ended', { timeout: 90_000 }, async () => {
      // The other looks once and then not for a minute, so that every further look is one too many.
      const patient = { SYNC_PERIOD_SECONDS: '60' };
      const { sleeper, other, database, stop } = await pair([ENV, patient]);
      const looks = () => Map.groupBy(slow.control.requests({ operation: 'query' }), ({ path }) => path);
      const until = async (isSo: () => boolean, what: string) => {
        for (let tries = 0; tries < 3_000 && !isSo(); tries += 1) await pause(10);
        assert.ok(isSo(), what);
      };
      try {
        const key = await prepare(other.baseUrl, slow);
        process.kill(sleeper.pid, 'SIGSTOP');
        const body = { model: VIDEO_MODELS.kling, prompt: '[stuck]' };
        const submits = Array.from({ length: CROWD }, () => model(other.baseUrl, key, 'POST', '/v1/videos', body));
        assert.ok((await Promise.all(submits)).every(({ status }) => status === 200));
        process.kill(other.pid, 'SIGSTOP');
        await database.kysely.updateTable('tasks').set({ next_poll_at: 1 }).execute();
        // It claims all of them at once, looks at some and has the others waiting.
        process.kill(sleeper.pid, 'SIGCONT');
        await until(() => looks().size > 20, 'it looks');
        process.kill(sleeper.pid, 'SIGSTOP');
        await pause(600);
        const seen = looks().size;
        assert.ok(seen < CROWD, `${seen} of ${CROWD} were looked at, others wait`);
        slow.control.clearRequests();
        process.kill(other.pid, 'SIGCONT');
        await until(() => looks().size === CROWD, 'the other has looked at all of them');
        process.kill(sleeper.pid, 'SIGCONT');
        await pause(3_000);
        // What was on its way to the vendor when the process stopped cannot be called back; all others waited for their turn.
        const often = [...looks()].filter(([, { length }]) => length > 1);
        assert.ok(often.length <= LOOKS_AT_ONCE, `${often.length} of ${CROWD} were looked at again`);
      } finally {
        await stop();
      }
    });
  });
});
