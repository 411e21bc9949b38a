import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../platform/clock.ts';
import { openLog } from '../platform/log.ts';
import { PollBackoffPerCredential, PollScheduler } from './poll-scheduler.ts';
import type { PollResult } from './poller.ts';
import type { Task } from './task-store.ts';

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
      backoffs: new PollBackoffPerCredential({ pubSub, clock, periodMs: SECOND }),
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
