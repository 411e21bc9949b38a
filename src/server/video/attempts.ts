import type { Clock } from '../platform/clock.ts';
import { toWellFormedText } from '../platform/json.ts';
import { type Log, maskSecrets } from '../platform/log.ts';
import type { AttemptNote, TaskAdminStore } from './admin-store.ts';
import type { TryOutcome } from './submit.ts';

const MAX_MESSAGE = 500;

/** Remembers tries that came to nothing, so that administrators see where a task has been. */
export class Attempts {
  readonly #store: TaskAdminStore;
  readonly #clock: Clock;
  readonly #log: Log;

  constructor(store: TaskAdminStore, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** Never fails: what the task and its money do next does not depend on it. */
  async note(note: Omit<AttemptNote, 'createdAt'>): Promise<void> {
    try {
      await this.#store.addAttempt({ ...note, createdAt: this.#clock.now() });
    } catch (error) {
      this.#log.warn({ err: error, taskId: note.taskId }, 'an attempt could not be noted');
    }
  }
}

/** How a try ended, in words for administrators. */
export function toldOf(
  outcome: Exclude<TryOutcome, { kind: 'accepted' }>,
): Pick<AttemptNote, 'outcome' | 'code' | 'message'> {
  if (outcome.kind === 'refused') {
    const { reason, code, message } = outcome.error;
    return { outcome: reason, code: clean(code), message: clean(message) };
  }
  return { outcome: outcome.kind, code: '', message: outcome.kind === 'unfit' ? clean(outcome.refusal.message) : '' };
}

const clean = (text: string): string => maskSecrets(toWellFormedText(text)).slice(0, MAX_MESSAGE);
