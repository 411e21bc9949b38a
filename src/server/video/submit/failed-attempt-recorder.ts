import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { FailedAttempt, TaskAdminStore } from '../task-admin-store.ts';

/** Records failed submit attempts, so that administrators see over which channels a task went. */
export class FailedAttemptRecorder {
  readonly #store: TaskAdminStore;
  readonly #clock: Clock;
  readonly #log: Log;

  constructor(store: TaskAdminStore, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** Never throws: the task and its quota must not depend on this record. */
  async record(attempt: Omit<FailedAttempt, 'createdAt'>): Promise<void> {
    try {
      await this.#store.insertFailedAttempt({ ...attempt, createdAt: this.#clock.now() });
    } catch (error) {
      this.#log.warn({ err: error, taskId: attempt.taskId }, 'a failed attempt could not be recorded');
    }
  }
}
