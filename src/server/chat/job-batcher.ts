/** A piece of work that waits for its turn, and whoever waits for it. */
export interface Job<W> {
  readonly work: W;
  resolve(): void;
  reject(error: unknown): void;
}

/** A larger batch would delay each of its jobs too long. */
const MAX_BATCH_SIZE = 128;
const MAX_DELAY_MS = 5;

/** Collects jobs into batches: those that arrive while a batch is written form the next one. */
export class JobBatcher<W> {
  readonly #write: (jobs: readonly Job<W>[]) => Promise<void>;
  readonly #minDelayMs: () => number;
  readonly #jobs: Job<W>[] = [];
  #busy = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param write settles every job of a batch, and never rejects
   * @param minDelayMs how long a batch waits for more jobs at least
   */
  constructor(write: (jobs: readonly Job<W>[]) => Promise<void>, minDelayMs: () => number) {
    this.#write = write;
    this.#minDelayMs = minDelayMs;
  }

  /** Whether no job waits, though some may be being written. */
  get hasNone(): boolean {
    return this.#jobs.length === 0;
  }

  /** @param waitMs how long the job may wait for others to share its batch */
  add(work: W, waitMs: number): Promise<void> {
    return new Promise((resolve, reject) => this.push({ work, resolve, reject }, waitMs));
  }

  push(job: Job<W>, waitMs: number): void {
    this.#jobs.push(job);
    if (this.#busy) return;
    if (waitMs === 0) void this.#drain();
    else this.#timer ??= setTimeout(() => void this.#drain(), waitMs);
  }

  async #drain(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#busy = true;
    while (this.#jobs.length > 0) {
      await this.#collect();
      await this.#write(this.#jobs.splice(0, MAX_BATCH_SIZE));
    }
    this.#busy = false;
  }

  /** Waits as long as every turn of the event loop adds jobs, and at least as long as it was asked to, never more than 5 ms. */
  async #collect(): Promise<void> {
    const begunAt = performance.now();
    const minDelayMs = Math.min(MAX_DELAY_MS, this.#minDelayMs());
    if (minDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, minDelayMs));
    for (let before = 0; this.#jobs.length > before && performance.now() - begunAt < MAX_DELAY_MS; ) {
      before = this.#jobs.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
