import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { accountKey } from '../../upstreams/upstream.ts';
import type { Task } from '../task-store.ts';
import { MAX_BACKOFF_MS, type PollBackoffPerCredential } from './poll-backoff-per-credential.ts';
import type { PollStore } from './poll-store.ts';
import type { PollingConcurrencyShare } from './polling-concurrency-share.ts';
import { type PollSpread, pollSpread } from './spread-polls.ts';
import type { PollResult, TaskPoller } from './task-poller.ts';
import { type Claim, type NextPoll, NextPollBatch } from './write-next-poll-times.ts';

export interface PollSchedulerDependencies {
  readonly store: Pick<
    PollStore,
    'claimDue' | 'scheduleSpread' | 'scheduleAt' | 'oldestDue' | 'spreadDue' | 'limitNextPoll'
  >;
  readonly poller: Pick<TaskPoller, 'poll' | 'deadlineOf'>;
  readonly backoffs: Pick<PollBackoffPerCredential, 'until' | 'failed' | 'odd' | 'succeeded' | 'close'>;
  /** The processes on this database; undefined where there is one. */
  readonly processes?: Pick<PollingConcurrencyShare, 'start' | 'stop' | 'shareOf'> | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly periodMs: number;
  /** Concurrent polls per credential of a channel over all processes; default {@link MAX_POLLS_PER_CHANNEL}. */
  readonly maxPerChannel?: number;
}

interface AccountQueue {
  /** Its key (`accountKey`). */
  readonly account: string;
  readonly waiting: Task[];
  running: number;
}

/** Concurrent polls per credential of a channel over all processes; further ones wait in a queue. */
export const MAX_POLLS_PER_CHANNEL = 96;
const CLAIM_BATCH = 500;
/** Tasks claimed and not yet polled, over all processes; none claims beyond its share, so that the others have something to do. */
const MAX_WAITING = 2_000;
/** Between claims, on average. Random, so that no process is always the first to find what has become due. */
const TICK_MS = 250;
/** A claim lasts two periods, and never less than this. Tasks claimed by a process that dies are due again afterwards. */
const MIN_LEASE_MS = 5_000;
/** No poll is scheduled further ahead than this and a few periods. */
const MAX_DELAY_MS = 2 * MAX_BACKOFF_MS;
/** What has been due for longer than this has been left: no process was running, or none had the database. */
const LEFT_MS = 2_000;

/**
 * Polls every unfinished task once a period. Due tasks are claimed in batches and put into one queue per credential of a channel with a bound on
 * concurrency, of which each process has a share, so that a slow or failing channel delays only its own tasks; a failing
 * channel backs off exponentially. After a pause, what was left meanwhile is spread, so that no vendor gets it at once.
 */
export class PollScheduler {
  readonly #dependencies: PollSchedulerDependencies;
  readonly #spread: PollSpread;
  readonly #queues = new Map<string, AccountQueue>();
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #claiming = false;
  #waiting = 0;
  /** Claims of the tasks claimed here and not finished, by `seq`. */
  readonly #claims = new Map<number, Claim>();
  readonly #finished = new NextPollBatch();
  /** When due tasks were last claimed, by the monotonic clock; undefined before the first time. */
  #lastClaimAt: number | undefined;

  constructor(dependencies: PollSchedulerDependencies) {
    this.#dependencies = dependencies;
    this.#spread = pollSpread(dependencies.periodMs);
  }

  start(): void {
    void this.#dependencies.processes?.start();
    const tickLater = (): void => {
      if (this.#stopping.signal.aborted) return;
      this.#timer = setTimeout(() => void this.tick().finally(tickLater), TICK_MS * (0.5 + Math.random()));
    };
    tickLater();
  }

  /** Claims what is due and starts polling; safe to call at any time. */
  async tick(): Promise<void> {
    if (this.#claiming || this.#stopping.signal.aborted) return;
    this.#claiming = true;
    // Before the results of earlier polls are written: a process with many of them is busy, and was not paused.
    const pausedMs = performance.now() - (this.#lastClaimAt ?? Number.NEGATIVE_INFINITY);
    try {
      await this.#writeBack();
      if (pausedMs > LEFT_MS) await this.#spreadWhatWasLeft();
      await this.#claimDue();
    } catch (error) {
      this.#dependencies.log.error({ err: error }, 'due tasks could not be claimed');
    } finally {
      this.#claiming = false;
    }
  }

  /** Makes tasks due that are scheduled impossibly far ahead, as after a clock was set back; called every minute. */
  async limitPollTimes(): Promise<void> {
    const { store, clock, periodMs } = this.#dependencies;
    const now = clock.now();
    await store.limitNextPoll(now, now + MAX_DELAY_MS + 4 * periodMs);
  }

  /** Resolves when no poll is waiting or running; for tests and an orderly stop. */
  async idle(): Promise<void> {
    while (this.#waiting > 0 || [...this.#queues.values()].some((queue) => queue.running > 0))
      await new Promise((resolve) => setTimeout(resolve, 5));
    await this.#writeBack();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#stopping.abort();
    // Claimed and not polled: due again at once, for the next process.
    const unpolled = [...this.#queues.values()].flatMap((queue) => queue.waiting.splice(0));
    this.#waiting = 0;
    const now = this.#dependencies.clock.now();
    for (const { seq } of unpolled) this.#finish(seq, { kind: 'at', at: now });
    await this.idle();
    this.#dependencies.backoffs.close();
    await this.#dependencies.processes?.stop();
  }

  /**
   * Over as long as it was left, a period at most: together with what is due by then, vendors get twice the usual rate, and the usual one after a
   * whole period, when nothing else is due. What has its new time while the rest is still being spread is polled then: fifty thousand take
   * seconds, and it would come at once afterwards.
   */
  async #spreadWhatWasLeft(): Promise<void> {
    const { store, clock, periodMs } = this.#dependencies;
    const now = clock.now();
    const leftMs = now - ((await store.oldestDue()) ?? now);
    if (leftMs <= LEFT_MS) return;
    const overMs = Math.min(leftMs, periodMs);
    while (!this.#stopping.signal.aborted && (await store.spreadDue(now, clock.now(), overMs, this.#spread)))
      await this.#claimDue(now);
  }

  /** Claims what is due; only what became due after `dueAfter`, where it is given. */
  async #claimDue(dueAfter?: number): Promise<void> {
    const { store, clock, periodMs } = this.#dependencies;
    while (this.#waiting < this.#shareOf(MAX_WAITING)) {
      const claimedAt = clock.now();
      const due = await store.claimDue(claimedAt, Math.max(2 * periodMs, MIN_LEASE_MS), CLAIM_BATCH, dueAfter);
      for (const task of due) this.#enqueue(task, { claimedAt, lease: task.next_poll_at ?? 0 });
      if (due.length < CLAIM_BATCH) break;
    }
    this.#lastClaimAt = performance.now();
  }

  #enqueue(task: Task, claim: Claim): void {
    // A task that outlasts its claim becomes due while it still waits or runs; claimed again, it continues under the new claim.
    const isQueued = this.#claims.has(task.seq);
    this.#claims.set(task.seq, claim);
    if (isQueued) return;
    const queue = this.#queueOf(task);
    queue.waiting.push(task);
    this.#waiting += 1;
    this.#drain(queue);
  }

  #queueOf(task: Task): AccountQueue {
    const account = accountKey(task.channel_id ?? 0, task.credential_id ?? 0);
    const known = this.#queues.get(account);
    if (known !== undefined) return known;
    const queue: AccountQueue = { account, waiting: [], running: 0 };
    this.#queues.set(account, queue);
    return queue;
  }

  #drain(queue: AccountQueue): void {
    const { clock, poller, backoffs, maxPerChannel = MAX_POLLS_PER_CHANNEL } = this.#dependencies;
    while (queue.running < this.#shareOf(maxPerChannel)) {
      const task = queue.waiting.shift();
      if (task === undefined) return;
      this.#waiting -= 1;
      const now = clock.now();
      // A process that was paused must not poll what another has claimed meanwhile.
      if (now >= (this.#claims.get(task.seq)?.lease ?? 0)) {
        this.#claims.delete(task.seq);
        continue;
      }
      // A channel's backoff never delays a task's deadline: its quota would stay reserved for as long.
      const resumeAt = Math.min(backoffs.until(queue.account), poller.deadlineOf(task));
      if (now < resumeAt) {
        this.#finish(task.seq, { kind: 'at', at: resumeAt });
        continue;
      }
      queue.running += 1;
      void this.#poll(queue, task);
    }
  }

  async #poll(queue: AccountQueue, task: Task): Promise<void> {
    const { poller, log } = this.#dependencies;
    try {
      const result = await poller.poll(task, this.#stopping.signal);
      const pauseMs = this.#learn(result, queue.account, task.seq);
      if (result === 'ended') this.#claims.delete(task.seq);
      else this.#finish(task.seq, this.#nextPoll(task, pauseMs));
    } catch (error) {
      log.error({ err: error, taskId: task.id }, 'a poll result could not be stored');
      this.#finish(task.seq, { kind: 'period' });
    } finally {
      queue.running -= 1;
      this.#drain(queue);
    }
  }

  /** @returns for how long beyond a period the task is not polled */
  #learn(result: PollResult, account: string, seq: number): number {
    const { backoffs } = this.#dependencies;
    if (result === 'failed') return backoffs.failed(account, seq);
    if (result === 'unreachable') return backoffs.failed(account, undefined);
    if (result === 'odd') return backoffs.odd(account, seq);
    backoffs.succeeded(account, seq);
    return 0;
  }

  #nextPoll(task: Task, pauseMs: number): NextPoll {
    const { clock, poller, periodMs } = this.#dependencies;
    if (pauseMs === 0) return { kind: 'period' };
    return {
      kind: 'at',
      at: Math.min(clock.now() + periodMs + pauseMs, Math.max(clock.now(), poller.deadlineOf(task))),
    };
  }

  #shareOf(max: number): number {
    return this.#dependencies.processes?.shareOf(max) ?? max;
  }

  #finish(seq: number, next: NextPoll): void {
    const claim = this.#claims.get(seq);
    this.#claims.delete(seq);
    if (claim !== undefined) this.#finished.add(seq, claim, next);
  }

  async #writeBack(): Promise<void> {
    const { store, clock } = this.#dependencies;
    await this.#finished.writeTo(store, { now: clock.now(), spread: this.#spread });
  }
}
