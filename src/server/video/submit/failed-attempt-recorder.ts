import type { Clock } from '../../platform/clock.ts';
import { retryWhileDatabaseUnavailable } from '../../platform/db/database.ts';
import type { Log } from '../../platform/log.ts';
import type { FailedAttempt, TaskAdminStore } from '../task-admin-store.ts';

/** Records failed submit attempts, so that administrators see over which channels a task went. */
export class FailedAttemptRecorder {
  readonly #store: TaskAdminStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #stopping: AbortSignal;

  constructor(store: TaskAdminStore, clock: Clock, log: Log, stopping: AbortSignal) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#stopping = stopping;
  }

  /**
   * Repeats the write while the database is away, as nothing else tells of a job that the vendor may bill. Never throws: the task and its quota
   * must not depend on this record.
   */
  async record(attempt: Omit<FailedAttempt, 'createdAt'>): Promise<void> {
    try {
      const row = { ...attempt, createdAt: this.#clock.now() };
      await retryWhileDatabaseUnavailable(() => this.#store.insertFailedAttempt(row), this.#stopping);
    } catch (error) {
      this.#log.warn({ err: error, taskId: attempt.taskId }, 'a failed attempt could not be recorded');
    }
  }
}
