import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ExpressionBuilder, Kysely } from 'kysely';
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import type { Clock } from './clock.ts';
import { workOnEach } from './concurrency.ts';
import type { Database } from './db/database.ts';
import type { MetaTables } from './db/migrate.ts';
import { wasChanged } from './db/sql.ts';
import type { Log } from './log.ts';

/** Background work that one process at a time does for all processes, at intervals. */
export interface ScheduledJob {
  /** Unique; the key of its row. */
  readonly name: string;
  /** From the start of one run to the start of the next. */
  readonly intervalMs: number;
  /**
   * Works in small steps and ends soon after the signal is aborted, when the process stops or another one has taken
   * over the job.
   */
  run(signal: AbortSignal): Promise<void>;
}

interface ScheduledJobsDependencies {
  readonly database: Database<MetaTables>;
  readonly clock: Clock;
  readonly log: Log;
  readonly jobs: readonly ScheduledJob[];
}

/** Other processes take over the job of a dead process after this time. */
const LOCK_MS = 60_000;
/** Processes take the time from one clock, but each with its own delay. */
const CLOCK_SKEW_MS = 60_000;
/** How often each process checks for due jobs. */
const LOOK_INTERVAL_MS = 15_000;
/** A failed job is retried after this time at the latest. */
const RETRY_MS = 300_000;

/**
 * Runs jobs across any number of processes. A conditional write to a job's row decides which process runs it, and sets
 * its next due time; session locks of a connection would not work behind a pooler.
 */
export class ScheduledJobs {
  readonly #kysely: Kysely<MetaTables>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #jobs: readonly ScheduledJob[];
  readonly #holder = randomUUID();
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor({ database, clock, log, jobs }: ScheduledJobsDependencies) {
    this.#kysely = database.kysely;
    this.#clock = clock;
    this.#log = log;
    this.#jobs = jobs;
  }

  start(): void {
    let isLooking = false;
    this.#timer = setInterval(() => {
      if (isLooking) return;
      isLooking = true;
      void this.runDue().finally(() => {
        isLooking = false;
      });
    }, LOOK_INTERVAL_MS).unref();
  }

  /** Runs due jobs that no other process holds, sequentially. Failures are logged. */
  runDue(): Promise<void> {
    this.#running = this.#running.then(async () => {
      for (const job of this.#jobs)
        if (!this.#stopping.signal.aborted)
          await this.#runIfDue(job).catch((error: unknown) =>
            this.#log.error({ err: error, job: job.name }, 'a scheduled job failed'),
          );
    });
    return this.#running;
  }

  /** Ends the current job after its current step. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    await this.#running;
  }

  async #runIfDue(job: ScheduledJob): Promise<void> {
    if (!(await this.#claim(job))) return;
    const startedAt = this.#clock.now();
    const lost = new AbortController();
    const renewal = setInterval(() => {
      this.#renew(job.name).then(
        (isOurs) => isOurs || lost.abort(),
        () => {},
      );
    }, LOCK_MS / 3);
    let pauseMs = Math.min(RETRY_MS, job.intervalMs);
    try {
      await job.run(AbortSignal.any([this.#stopping.signal, lost.signal]));
      pauseMs = job.intervalMs;
    } finally {
      clearInterval(renewal);
      // A job interrupted by a stop may continue elsewhere immediately.
      await this.#release(job.name, this.#stopping.signal.aborted ? 0 : startedAt + pauseMs);
    }
  }

  async #claim({ name, intervalMs }: ScheduledJob): Promise<boolean> {
    const now = this.#clock.now();
    // Times further ahead than any run sets them are from before the clock was set back: nothing would run until then.
    const isPast =
      (time: 'locked_until' | 'due_at', mostAheadMs: number) => (eb: ExpressionBuilder<MetaTables, 'scheduled_jobs'>) =>
        eb.or([
          eb(`scheduled_jobs.${time}`, '<=', now),
          eb(`scheduled_jobs.${time}`, '>', now + mostAheadMs + CLOCK_SKEW_MS),
        ]);
    const lock = { holder: this.#holder, locked_until: now + LOCK_MS };
    const result = await this.#kysely
      .insertInto('scheduled_jobs')
      .values({ name, ...lock, due_at: 0 })
      .onConflict((conflict) =>
        conflict
          .column('name')
          .doUpdateSet(lock)
          .where(isPast('locked_until', LOCK_MS))
          .where(isPast('due_at', intervalMs)),
      )
      .executeTakeFirst();
    return wasChanged(result);
  }

  async #renew(name: string): Promise<boolean> {
    const result = await this.#kysely
      .updateTable('scheduled_jobs')
      .set({ locked_until: this.#clock.now() + LOCK_MS })
      .where('name', '=', name)
      .where('holder', '=', this.#holder)
      .executeTakeFirst();
    return wasChanged(result);
  }

  async #release(name: string, dueAt: number): Promise<void> {
    await this.#kysely
      .updateTable('scheduled_jobs')
      .set({ locked_until: 0, due_at: dueAt })
      .where('name', '=', name)
      .where('holder', '=', this.#holder)
      .execute();
  }
}

/** Data to delete after a retention period. */
export interface RetentionRule {
  readonly name: string;
  /** Age in days at which data is deleted, read from the current settings; 0: never. */
  readonly days: () => number;
  /**
   * Deletes up to `limit` items older than `before` (Unix milliseconds), in one short transaction.
   * @returns the number of deleted items
   */
  remove(before: number, limit: number): Promise<number>;
}

const INTERVAL_MS = HOUR_MS;
const BATCH = 500;
/** Between batches, other work gets the database for at least the duration of a batch. */
const MIN_PAUSE_MS = 10;
/** Two megabytes: a few milliseconds. */
const PAGES_AT_ONCE = 512;

/** The job that deletes rows past their retention period, in small steps, so that no request waits for it. */
export const retentionJob = (
  rules: readonly RetentionRule[],
  clock: Clock,
  log: Log,
  database?: Pick<Database<unknown>, 'releaseSpace'>,
): ScheduledJob => ({
  name: 'retention',
  intervalMs: INTERVAL_MS,
  async run(signal) {
    await workOnEach(rules, async (rule) => {
      const removed = await removeOld(rule, clock.now(), signal);
      if (removed > 0) log.info({ rule: rule.name, removed }, 'removed what has passed its retention');
    });
    if (database !== undefined) await releaseSpace(database, signal);
  },
});

async function removeOld(rule: RetentionRule, now: number, signal: AbortSignal): Promise<number> {
  const [days, { remove }] = [rule.days(), rule];
  if (days === 0) return 0;
  let removed = 0;
  while (!signal.aborted) {
    const startedAt = performance.now();
    const count = await remove(now - days * DAY_MS, BATCH);
    removed += count;
    if (count < BATCH) break;
    await pause(Math.max(MIN_PAUSE_MS, performance.now() - startedAt), undefined, { signal }).catch(() => {});
  }
  return removed;
}

async function releaseSpace(database: Pick<Database<unknown>, 'releaseSpace'>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await database.releaseSpace?.(PAGES_AT_ONCE)) === true)
    await pause(MIN_PAUSE_MS, undefined, { signal }).catch(() => {});
}
