import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { handClock } from '../platform/clock.ts';
import { openLog } from '../platform/log.ts';
import type { LookResult } from './looks.ts';
import type { Task } from './store.ts';
import { Synchronizer } from './synchronizer.ts';

const SECOND = 1_000;
const TTL = 60 * SECOND;

describe('a channel that rests', () => {
  it('puts nobody’s deadline off', async () => {
    const clock = handClock(1_000_000);
    const created_at = clock.now();
    const tasks = Array.from({ length: 40 }, (_, seq) => ({ seq, created_at, channel_id: 1, next: created_at }));
    const endedAt: number[] = [];
    let looks = 0;
    const synchronizer = new Synchronizer({
      clock,
      log: openLog('silent'),
      periodMs: SECOND,
      store: {
        async claimDue(now, leaseMs) {
          const due = tasks.filter(({ next }) => next <= now);
          for (const task of due) task.next = now + leaseMs;
          return due.map((task) => ({ ...task, next_poll_at: task.next })) as unknown as Task[];
        },
        async hasten() {},
        async schedule(seqs, { at }) {
          for (const task of tasks) if (seqs.includes(task.seq)) task.next = at;
        },
      },
      looks: {
        endsBy: (task) => task.created_at + TTL,
        async look(task): Promise<LookResult> {
          looks += 1;
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
    assert.ok(looks < 5 * tasks.length, `it rested all the same: ${looks} looks`);
  });
});
