import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import type { Clock } from './clock.ts';
import type { Database } from './db/database.ts';
import type { MetaTables } from './db/migrate.ts';
import { wasChanged } from './db/sql.ts';
import type { Log } from './log.ts';

/** Background work that one process at a time does for all, at intervals. */
export interface ScheduledJob {
  /** Unique; the key of its row. */
  readonly name: string;
  /** From the beginning of one run to the next. */
  readonly intervalMs: number;
  /** Works in small steps and ends soon after the signal is aborted: the process stops, or another has taken the job over. */
  run(signal: AbortSignal): Promise<void>;
}

interface ScheduledJobsDependencies {
  readonly database: Database<MetaTables>;
  readonly clock: Clock;
  readonly log: Log;
  readonly jobs: readonly ScheduledJob[];
}

/** A process that dies leaves its job to the others after this time. */
const LOCK_MS = 60_000;
/** How often each process checks for a job that is due. */
const LOOK_INTERVAL_MS = 15_000;
/** A job that failed is tried again no later than after this time. */
const RETRY_MS = 300_000;

/**
 * Runs jobs over any number of processes. Who runs one is decided by a conditional write to its row, which also says when it is
 * due next; locks of a connection would not work behind a pooler.
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

  /** Runs what is due and nobody else runs, one after the other. Failures are logged. */
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

  /** Ends the job under way after its current step. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    await this.#running;
  }

  async #runIfDue(job: ScheduledJob): Promise<void> {
    if (!(await this.#claim(job.name))) return;
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
      // A job that was interrupted by a stop goes on elsewhere at once.
      await this.#release(job.name, this.#stopping.signal.aborted ? 0 : startedAt + pauseMs);
    }
  }

  async #claim(name: string): Promise<boolean> {
    const now = this.#clock.now();
    const lock = { holder: this.#holder, locked_until: now + LOCK_MS };
    const result = await this.#kysely
      .insertInto('scheduled_jobs')
      .values({ name, ...lock, due_at: 0 })
      .onConflict((conflict) =>
        conflict
          .column('name')
          .doUpdateSet(lock)
          .where('scheduled_jobs.locked_until', '<=', now)
          .where('scheduled_jobs.due_at', '<=', now),
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

/** What is removed after a time. */
export interface RetentionRule {
  readonly name: string;
  /** Age at which it is removed, as it is set now; 0: it is kept for ever. */
  readonly days: () => number;
  /** Removes at most `limit` of what is older than `before` (Unix milliseconds), in one short transaction. @returns how many */
  remove(before: number, limit: number): Promise<number>;
}

const INTERVAL_MS = HOUR_MS;
const BATCH = 500;
/** Between batches everybody else gets the database for at least as long as the batch had it. */
const MIN_PAUSE_MS = 10;
/** Two megabytes: some milliseconds. */
const PAGES_AT_ONCE = 512;

/** The job that removes rows older than their retention period, in small steps, so that no request waits for it. */
export const retentionJob = (
  rules: readonly RetentionRule[],
  clock: Clock,
  log: Log,
  database?: Pick<Database<unknown>, 'releaseSpace'>,
): ScheduledJob => ({
  name: 'retention',
  intervalMs: INTERVAL_MS,
  async run(signal) {
    for (const rule of rules) {
      const removed = await removeOld(rule, clock.now(), signal);
      if (removed > 0) log.info({ rule: rule.name, removed }, 'removed what has passed its retention');
    }
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
