import type { Log } from '../platform/log.ts';
import type { Reconciler } from './reconciler.ts';

const INTERVAL_MS = 60_000;
/** Comparing application passwords lists the whole mail server, so it is done once an hour. */
const PASSES_PER_COMPARISON = 60;

/** Runs the reconciler every minute, one pass at a time. */
export class ReconcileLoop {
  readonly #reconciler: Reconciler;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #passes = 0;

  constructor(reconciler: Reconciler, log: Log) {
    this.#reconciler = reconciler;
    this.#log = log;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#running = this.#running.then(() => this.#pass());
    }, INTERVAL_MS);
  }

  /** Resolves when the pass that is running has ended. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  async #pass(): Promise<void> {
    try {
      await this.#reconciler.finishPendingMailboxes();
      await this.#reconciler.syncAccess();
      if (this.#passes++ % PASSES_PER_COMPARISON === 0) await this.#reconciler.removeUnknownAppPasswords();
    } catch (error) {
      this.#log.error({ err: error }, 'mailboxes could not be reconciled');
    }
  }
}
