import type { Log } from './log.ts';

const WRITE_EVERY_MS = 10_000;

/** What a `PeriodicWriter` needs. `V` is what is kept for each id. */
export interface PeriodicWriterOptions<V> {
  readonly log: Log;
  /** For the log where a write fails: `the last use of tokens`. */
  readonly subject: string;
  /** Stores one batch; called with at least one entry. */
  write(batch: ReadonlyMap<number, V>): Promise<void>;
}

/**
 * Collects the newest value of each id and stores the batch every ten seconds, so that no request waits for a write that
 * is only shown to users (when a key was last used). A crash loses at most those ten seconds.
 */
export class PeriodicWriter<V> {
  readonly #options: PeriodicWriterOptions<V>;
  readonly #timer: NodeJS.Timeout;
  #pending = new Map<number, V>();

  constructor(options: PeriodicWriterOptions<V>) {
    this.#options = options;
    this.#timer = setInterval(() => {
      this.flush().catch((error: unknown) =>
        options.log.warn({ err: error }, `${options.subject} could not be written`),
      );
    }, WRITE_EVERY_MS).unref();
  }

  record(id: number, value: V): void {
    this.#pending.set(id, value);
  }

  /** Writes what is pending and stops. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  /** Writes what is pending now. */
  async flush(): Promise<void> {
    if (this.#pending.size === 0) return;
    const batch = this.#pending;
    this.#pending = new Map();
    await this.#options.write(batch);
  }
}
