import type { Clock } from '../../platform/clock.ts';
import { type Log, maskSecrets } from '../../platform/log.ts';
import { toWellFormedText } from '../../platform/well-formed-text.ts';
import type { FailedAttempt, TaskAdminStore } from '../task-admin-store.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';

const MAX_MESSAGE = 500;

/** Records failed submit attempts, so that administrators see over which channels a task went. */
export class AttemptLog {
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

/** How an attempt ended, for administrators. */
export function describeOutcome(
  outcome: Exclude<AttemptOutcome, { kind: 'accepted' }>,
): Pick<FailedAttempt, 'outcome' | 'code' | 'message'> {
  if (outcome.kind === 'refused') {
    const { reason, code, message } = outcome.error;
    return { outcome: reason, code: sanitizeText(code), message: sanitizeText(message) };
  }
  return {
    outcome: outcome.kind,
    code: '',
    message: outcome.kind === 'unfit' ? sanitizeText(outcome.error.message) : '',
  };
}

const sanitizeText = (text: string): string => maskSecrets(toWellFormedText(text)).slice(0, MAX_MESSAGE);
