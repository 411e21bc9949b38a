import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../platform/clock.ts';
import { openLog } from '../platform/log.ts';
import { PollBackoff, PollScheduler } from './poll-scheduler.ts';
import type { PollResult } from './poller.ts';
import type { Task } from './task-store.ts';

describe('poll spread', () => {
  const PERIOD = 20_000;
  const TASKS = 400;
  /** Rows per statement, and the duration of a statement: eight seconds in total. */
  const ROWS = 10;
  const STATEMENT_MS = 200;

  it('polls tasks whose new time has come while other overdue tasks are still being spread', async () => {
    const clock = manualClock(1_000_000);
    const pubSub = { publish: () => {}, subscribe: () => () => {} };
    const startedAt = clock.now();
    const tasks = Array.from({ length: TASKS }, (_, seq) => ({
      seq,
      channel_id: 1,
      next: startedAt - 2 * PERIOD + seq,
    }));
    const slot = (seq: number): number => (seq * PERIOD) / TASKS;
    const polledAt = new Map<number, number>();
    const scheduler = new PollScheduler({
      clock,
      log: openLog('silent'),
      periodMs: PERIOD,
      store: {
        async claimDue(now, leaseMs, limit, dueAfter = -1) {
          const due = tasks.filter(({ next }) => next > dueAfter && next <= now).slice(0, limit);
          for (const task of due) task.next = now + leaseMs;
          return due.map((task) => ({ ...task, next_poll_at: task.next })) as unknown as Task[];
        },
        async limitNextPoll() {},
        async scheduleAt() {},
        async scheduleSpread() {},
        oldestDue: async () => Math.min(...tasks.map(({ next }) => next)),
        async spreadDue(dueAt, now) {
          // Not in the order of their times, so that some of the first tasks are due while the rest is still being
          // spread.
          const left = tasks.filter(({ next }) => next <= dueAt).toSorted((a, b) => (a.seq % 7) - (b.seq % 7));
          for (const task of left.slice(0, ROWS))
            task.next = now + 1 + ((slot(task.seq) - ((now + 1) % PERIOD) + PERIOD) % PERIOD);
          clock.advance(STATEMENT_MS);
          return left.length >= ROWS;
        },
      },
      backoffs: new PollBackoff({ pubSub, clock, periodMs: PERIOD }),
      poller: {
        deadlineOf: () => Number.POSITIVE_INFINITY,
        async poll({ seq }) {
          polledAt.set(seq, clock.now());
          return 'same';
        },
      },
    });
    const spreadingMs = (TASKS / ROWS) * STATEMENT_MS;
    while (clock.now() < startedAt + spreadingMs + PERIOD + 2_000) {
      await scheduler.tick();
      await scheduler.idle();
      clock.advance(250);
    }
    await scheduler.stop();
    assert.equal(polledAt.size, TASKS, 'each is polled within a period');
    const rates = Map.groupBy(polledAt.values(), (at) => Math.floor((at - startedAt) / 1_000));
    const highest = Math.max(...[...rates.values()].map((own) => own.length));
    const usual = (TASKS / PERIOD) * 1_000;
    assert.ok(highest <= 1.6 * usual, `${highest} in a second, ${usual} is usual`);
  });
});

describe('task deadline', () => {
  const SECOND = 1_000;
  const TTL = 60 * SECOND;

  describe('a channel whose circuit is open', () => {
    it('never postpones a task’s deadline', async () => {
      const clock = manualClock(1_000_000);
      const pubSub = { publish: () => {}, subscribe: () => () => {} };
      const created_at = clock.now();
      const tasks = Array.from({ length: 40 }, (_, seq) => ({ seq, created_at, channel_id: 1, next: created_at }));
      const endedAt: number[] = [];
      let polls = 0;
      const synchronizer = new PollScheduler({
        clock,
        log: openLog('silent'),
        periodMs: SECOND,
        store: {
          async claimDue(now, leaseMs) {
            const due = tasks.filter(({ next }) => next <= now);
            for (const task of due) task.next = now + leaseMs;
            return due.map((task) => ({ ...task, next_poll_at: task.next })) as unknown as Task[];
          },
          async limitNextPoll() {},
          async scheduleAt(seqs, _lease, at) {
            for (const task of tasks) if (seqs.includes(task.seq)) task.next = at;
          },
          async scheduleSpread(seqs, _lease, earliest) {
            for (const task of tasks) if (seqs.includes(task.seq)) task.next = earliest;
          },
          oldestDue: async () => undefined,
          spreadDue: async () => false,
        },
        backoffs: new PollBackoff({ pubSub, clock, periodMs: SECOND }),
        poller: {
          deadlineOf: (task) => task.created_at + TTL,
          async poll(task): Promise<PollResult> {
            polls += 1;
            if (clock.now() < task.created_at + TTL) return 'failed';
            const ended = tasks.find(({ seq }) => seq === task.seq);
            if (ended !== undefined) ended.next = Number.POSITIVE_INFINITY;
            endedAt.push(clock.now() - created_at);
            return 'ended';
          },
        },
      });
      while (clock.now() < created_at + 2 * TTL) {
        await synchronizer.tick();
        await synchronizer.idle();
        clock.advance(SECOND / 2);
      }
      assert.equal(endedAt.length, tasks.length);
      assert.ok(Math.max(...endedAt) <= TTL + SECOND, `ended after ${Math.max(...endedAt)} ms`);
      assert.ok(polls < 5 * tasks.length, `it pauses between polls: ${polls} polls`);
    });
  });
});
