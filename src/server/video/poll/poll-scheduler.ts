import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { NextPoll, Task, TaskStore } from '../store.ts';
import type { TaskPoller } from './task-poller.ts';

export interface PollSchedulerDependencies {
  readonly store: Pick<TaskStore, 'claimDue' | 'schedule' | 'pullForward'>;
  readonly poller: Pick<TaskPoller, 'poll' | 'deadlineOf'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly periodMs: number;
  /** Concurrent polls per channel; default {@link MAX_POLLS_PER_CHANNEL}. */
  readonly maxPerChannel?: number;
}

interface ChannelQueue {
  readonly waiting: Task[];
  running: number;
  /** Consecutive failed polls of this channel. */
  failures: number;
  /** Unix milliseconds. */
  backoffUntil: number;
}

/** Concurrent polls per channel; further ones wait in its queue. */
export const MAX_POLLS_PER_CHANNEL = 96;
const CLAIM_BATCH = 500;
/** Tasks claimed and not yet polled; no more are claimed beyond that, so that other processes can take them. */
const MAX_WAITING = 2_000;
const TICK_MS = 250;
/** A claim lasts two periods, and never less than this. Tasks claimed by a process that dies are due again afterwards. */
const MIN_LEASE_MS = 5_000;
const FAILURES_BEFORE_BACKOFF = 5;
const MAX_BACKOFF_MS = 5 * 60_000;
/** No poll is scheduled further ahead than this and a few periods. */
const MAX_DELAY_MS = 2 * MAX_BACKOFF_MS;

/**
 * Polls every unfinished task about once a period. Due tasks are claimed in batches and put into one queue per channel with a
 * bound on concurrency, so that a slow or failing channel delays only its own tasks; a failing channel backs off exponentially.
 */
export class PollScheduler {
  readonly #dependencies: PollSchedulerDependencies;
  readonly #queues = new Map<number, ChannelQueue>();
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #claiming = false;
  #waiting = 0;
  /** End of the claim of each task claimed here and not finished, by `seq`. */
  readonly #leases = new Map<number, number>();
  /** Next polls waiting to be written together. */
  #results = new ScheduledPolls();

  constructor(dependencies: PollSchedulerDependencies) {
    this.#dependencies = dependencies;
  }

  start(): void {
    this.#timer = setInterval(() => void this.tick(), TICK_MS);
  }

  /** Claims what is due and starts polling; safe to call at any time. */
  async tick(): Promise<void> {
    if (this.#claiming || this.#stopping.signal.aborted) return;
    this.#claiming = true;
    try {
      await this.#writeBack();
      const { store, clock, periodMs } = this.#dependencies;
      while (this.#waiting < MAX_WAITING) {
        const due = await store.claimDue(clock.now(), Math.max(2 * periodMs, MIN_LEASE_MS), CLAIM_BATCH);
        for (const task of due) this.#enqueue(task);
        if (due.length < CLAIM_BATCH) break;
      }
    } catch (error) {
      this.#dependencies.log.error({ err: error }, 'due tasks could not be claimed');
    } finally {
      this.#claiming = false;
    }
  }

  /** Makes tasks due that are scheduled impossibly far ahead, as after a clock was set back; called every minute. */
  async sweep(): Promise<void> {
    const { store, clock, periodMs } = this.#dependencies;
    const now = clock.now();
    await store.pullForward(now, now + MAX_DELAY_MS + 4 * periodMs);
  }

  /** Resolves when no poll is waiting or running; for tests and an orderly stop. */
  async idle(): Promise<void> {
    while (this.#waiting > 0 || [...this.#queues.values()].some((queue) => queue.running > 0))
      await new Promise((resolve) => setTimeout(resolve, 5));
    await this.#writeBack();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    // Claimed and not polled: due again at once, for the next process.
    const unpolled = [...this.#queues.values()].flatMap((queue) => queue.waiting.splice(0));
    this.#waiting = 0;
    for (const { seq } of unpolled) this.#finish(seq, { at: this.#dependencies.clock.now(), backedOff: false });
    await this.idle();
  }

  #enqueue(task: Task): void {
    // A task that outlasts its claim becomes due while it still waits or runs; claimed again, it continues under the new claim.
    const isQueued = this.#leases.has(task.seq);
    this.#leases.set(task.seq, task.next_poll_at ?? 0);
    if (isQueued) return;
    const queue = this.#queueOf(task);
    queue.waiting.push(task);
    this.#waiting += 1;
    this.#drain(queue);
  }

  #queueOf(task: Task): ChannelQueue {
    const key = task.channel_id ?? 0;
    const known = this.#queues.get(key);
    if (known !== undefined) return known;
    const queue: ChannelQueue = { waiting: [], running: 0, failures: 0, backoffUntil: 0 };
    this.#queues.set(key, queue);
    return queue;
  }

  #drain(queue: ChannelQueue): void {
    const { clock, poller, maxPerChannel = MAX_POLLS_PER_CHANNEL } = this.#dependencies;
    while (queue.running < maxPerChannel) {
      const task = queue.waiting.shift();
      if (task === undefined) return;
      this.#waiting -= 1;
      const now = clock.now();
      // A process that was paused must not poll what another has claimed meanwhile.
      if (now >= (this.#leases.get(task.seq) ?? 0)) {
        this.#leases.delete(task.seq);
        continue;
      }
      // A channel's backoff never delays a task's deadline: its quota would stay reserved for as long.
      const deadline = poller.deadlineOf(task);
      if (now < Math.min(queue.backoffUntil, deadline)) {
        this.#finish(task.seq, { at: Math.min(queue.backoffUntil, deadline), backedOff: true });
        continue;
      }
      queue.running += 1;
      void this.#poll(queue, task, now);
    }
  }

  async #poll(queue: ChannelQueue, task: Task, startedAt: number): Promise<void> {
    const { poller, log, periodMs, clock } = this.#dependencies;
    const next = { at: startedAt + periodMs, backedOff: false };
    try {
      const result = await poller.poll(task, this.#stopping.signal);
      if (result === 'failed') {
        queue.failures += 1;
        queue.backoffUntil = clock.now() + backoffMs(queue.failures, periodMs);
      } else {
        queue.failures = 0;
        queue.backoffUntil = 0;
      }
      if (result === 'ended') this.#leases.delete(task.seq);
      else this.#finish(task.seq, next);
    } catch (error) {
      log.error({ err: error, taskId: task.id }, 'a poll result could not be stored');
      this.#finish(task.seq, next);
    } finally {
      queue.running -= 1;
      this.#drain(queue);
    }
  }

  #finish(seq: number, next: { readonly at: number; readonly backedOff: boolean }): void {
    const lease = this.#leases.get(seq);
    this.#leases.delete(seq);
    if (lease !== undefined) this.#results.add(seq, { ...next, lease });
  }

  async #writeBack(): Promise<void> {
    const results = this.#results;
    this.#results = new ScheduledPolls();
    for (const [next, seqs] of results.groups()) await this.#dependencies.store.schedule(seqs, next);
  }
}

/** Milliseconds a channel is not polled after so many consecutive failures: nothing below five, then doubling with every five. */
function backoffMs(failures: number, periodMs: number): number {
  if (failures < FAILURES_BEFORE_BACKOFF) return 0;
  const doublings = Math.min(10, Math.floor(failures / FAILURES_BEFORE_BACKOFF) - 1);
  return Math.min(MAX_BACKOFF_MS, periodMs * 2 ** doublings);
}

/** Rounds next polls to a tick and groups equal ones, so that thousands of them take few writes. */
class ScheduledPolls {
  readonly #byNext = new Map<string, readonly [NextPoll, number[]]>();

  add(seq: number, { at, lease, backedOff }: NextPoll): void {
    const next = { at: Math.ceil(at / TICK_MS) * TICK_MS, lease, backedOff };
    const key = `${next.at} ${lease} ${backedOff}`;
    const known = this.#byNext.get(key);
    if (known === undefined) this.#byNext.set(key, [next, [seq]]);
    else known[1].push(seq);
  }

  groups(): Iterable<readonly [NextPoll, readonly number[]]> {
    return this.#byNext.values();
  }
}
