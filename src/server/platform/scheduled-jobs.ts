import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Clock } from './clock.ts';
import type { Database } from './db/database-interface-and-options.ts';
import type { MetaTables } from './db/tables.ts';
import { wasChanged } from './db/was-changed.ts';
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

export interface ScheduledJobsDependencies {
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
