import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { seedTasks } from '../../bench/support/seed-tasks.ts';
import { manualClock } from '../../src/server/platform/clock.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import { openPubSub } from '../../src/server/platform/db/pub-sub.ts';
import { openLog } from '../../src/server/platform/log.ts';
import type { Tables } from '../../src/server/tables.ts';
import {
  PollBackoff,
  PollingConcurrencyShare,
  PollingProcessStore,
  PollScheduler,
  PollStore,
} from '../../src/server/video/poll-scheduler.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { seededRandom } from '../seeded-random.ts';

const SECOND = 1_000;
const PERIOD = 15 * SECOND;
const TASKS = 600;
const PER_SECOND = (TASKS / PERIOD) * SECOND;
/** The vendor's response time and maximum concurrency; the usual rate needs a concurrency of four. */
const ANSWER_MS = 100;
const MAX_AT_ONCE = 9;
const STEP = 50;
const log = openLog('silent');

interface Poll {
  readonly seq: number;
  readonly process: number;
  readonly at: number;
}

/** Processes on one database that poll a vendor, in simulated time. */
function simulateQueues(url: string) {
  const clock = manualClock();
  const random = seededRandom(11);
  const polls: Poll[] = [];
  let answers: { readonly at: number; send(): void }[] = [];
  let mostAtOnce = 0;
  const start = async (index: number) => {
    const database = openDatabase<Tables>(url);
    const pubSub = openPubSub(url);
    const processes =
      database.dialect === 'sqlite'
        ? undefined
        : new PollingConcurrencyShare({ store: new PollingProcessStore(database), pubSub, clock, log });
    const scheduler = new PollScheduler({
      store: new PollStore(database),
      backoffs: new PollBackoff({ pubSub, clock, periodMs: PERIOD }),
      processes,
      poller: {
        deadlineOf: () => Number.POSITIVE_INFINITY,
        poll: ({ seq }) =>
          new Promise((resolve) => {
            polls.push({ seq, process: index, at: clock.now() });
            answers.push({ at: clock.now() + ANSWER_MS, send: () => resolve('same') });
            mostAtOnce = Math.max(mostAtOnce, answers.length);
          }),
      },
      clock,
      log,
      periodMs: PERIOD,
      maxPerChannel: MAX_AT_ONCE,
    });
    await processes?.start();
    return {
      scheduler,
      processes,
      tickAt: clock.now(),
      async stop() {
        await scheduler.stop();
        await pubSub.close();
        await database.close();
      },
    };
  };
  type Running = Awaited<ReturnType<typeof start>>;
  const answerUntil = async (now: number): Promise<void> => {
    for (const each of answers) if (each.at <= now) each.send();
    answers = answers.filter(({ at }) => at > now);
    await setImmediate();
  };
  const run = async (running: readonly Running[], forMs: number): Promise<void> => {
    for (let passed = 0; passed < forMs; passed += STEP) {
      clock.advance(STEP);
      await answerUntil(clock.now());
      if (passed % SECOND === 0) for (const { processes } of running) await processes?.renew();
      // Of several processes due within a step, any may be the first.
      for (const each of running.toSorted(() => random() - 0.5))
        if (each.tickAt <= clock.now()) {
          each.tickAt = clock.now() + 250 * (0.5 + random());
          await each.scheduler.tick();
        }
    }
  };
  const stop = async (running: readonly Running[]): Promise<void> => {
    const stopped = running.map((each) => each.stop());
    await answerUntil(Number.POSITIVE_INFINITY);
    await Promise.all(stopped);
  };
  return { clock, polls, start, run, stop, mostAtOnce: () => mostAtOnce };
}

describe('polling thousands of tasks', () => {
  forEachDatabase((name, _open, freshUrl) => {
    const count = name === 'sqlite' ? 1 : 4;
    const stops: (() => Promise<void>)[] = [];
    after(async () => {
      for (const stop of stops) await stop();
    });

    const setUp = async () => {
      const url = await freshUrl();
      await seedTasks({ url, count: TASKS, channels: [1], userId: 1, tokenId: 1, unfinished: true, prefix: 'task_' });
      const simulation = simulateQueues(url);
      const database = openDatabase<Tables>(url);
      const now = simulation.clock.now();
      await sql`update tasks set next_poll_at = ${now} + seq * ${PERIOD} / ${TASKS}`.execute(database.kysely);
      await database.close();
      const startAll = async () => {
        const running = await Promise.all(Array.from({ length: count }, (_, index) => simulation.start(index)));
        for (const { processes } of running) await processes?.renew();
        return running;
      };
      return { ...simulation, startAll };
    };

    it(`${count} processes poll each once a period, share the work, and send no more concurrent requests than one would`, async () => {
      const { polls, startAll, run, stop, mostAtOnce } = await setUp();
      const running = await startAll();
      stops.push(() => stop(running));
      // The processes settle into their phases with the second poll.
      await run(running, 3 * PERIOD);
      polls.length = 0;
      await run(running, 4 * PERIOD);
      const byTask = Map.groupBy(polls, ({ seq }) => seq);
      assert.equal(byTask.size, TASKS);
      const intervals = [...byTask.values()].flatMap((own) => own.slice(1).map(({ at }, i) => at - (own[i]?.at ?? 0)));
      const [least, most] = [Math.min(...intervals), Math.max(...intervals)];
      assert.ok(
        least >= 0.95 * PERIOD && most <= 1.05 * PERIOD,
        `every ${least} to ${most} ms; ${intervals.filter((each) => each < 0.95 * PERIOD).length} too short`,
      );
      assert.ok(Math.abs(polls.length - 4 * TASKS) <= 0.01 * 4 * TASKS, `${polls.length} polls`);
      for (const [process, own] of Map.groupBy(polls, (poll) => poll.process))
        assert.ok(Math.abs((own.length * count) / polls.length - 1) < 0.15, `process ${process}: ${own.length}`);
      assert.equal(mostAtOnce() <= MAX_AT_ONCE, true, `${mostAtOnce()} at once`);
    });

    for (const pause of [5 * SECOND, 4.4 * PERIOD])
      it(`spreads overdue polls after ${pause / SECOND} s without a process`, async () => {
        const { clock, polls, startAll, run, stop } = await setUp();
        const before = await startAll();
        await run(before, 2 * PERIOD);
        await stop(before);
        clock.advance(pause);
        polls.length = 0;
        const running = await startAll();
        stops.push(() => stop(running));
        const startedAt = clock.now();
        await run(running, PERIOD + 2 * SECOND);
        assert.equal(new Set(polls.map(({ seq }) => seq)).size, TASKS, 'each is polled within a period');
        await run(running, PERIOD);
        const rates = Map.groupBy(polls, ({ at }) => Math.floor((at - startedAt) / SECOND));
        const highest = Math.max(...[...rates.values()].map((own) => own.length));
        // After a pause shorter than a period, regularly due polls come on top.
        const atMost = (pause < PERIOD ? 2.5 : 1.4) * PER_SECOND;
        assert.ok(highest < atMost, `${highest} in a second, ${PER_SECOND.toFixed(0)} is usual`);
      });
  });
});
