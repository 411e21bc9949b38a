import type { Log } from './log.ts';

/** Milliseconds between two checks: including the query, a response ends well within a second. */
const CHECK_INTERVAL_MS = 400;

/** Dependencies of a `RevocationWatch`. */
export interface RevocationWatchDependencies<T> {
  readonly keyOf: (item: T) => string;
  /** Keys of those items that are still valid. */
  readonly findLive: (items: readonly T[]) => Promise<ReadonlySet<string>>;
  readonly log: Pick<Log, 'warn'>;
}

interface Watched<T> {
  readonly item: T;
  readonly listeners: Set<() => void>;
}

/**
 * Ends long responses together with their authorization, such as a credential or a link. A request is checked once,
 * when it arrives; longer responses are registered here, and every process queries the database several times a second
 * for the validity of its registered items. This works on every process, and code that revokes an item need not
 * cooperate. While nothing is registered, no query runs.
 */
export class RevocationWatch<T> {
  readonly #dependencies: RevocationWatchDependencies<T>;
  readonly #watched = new Map<string, Watched<T>>();
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;

  constructor(dependencies: RevocationWatchDependencies<T>) {
    this.#dependencies = dependencies;
  }

  /**
   * Calls `onEnd` once when the item becomes invalid.
   * @returns a function that ends the registration; call it when the response is complete
   */
  watch(item: T, onEnd: () => void): () => void {
    const key = this.#dependencies.keyOf(item);
    const entry = this.#watched.get(key) ?? { item, listeners: new Set() };
    this.#watched.set(key, entry);
    entry.listeners.add(onEnd);
    this.#timer ??= setInterval(() => void this.check(), CHECK_INTERVAL_MS).unref();
    return () => {
      entry.listeners.delete(onEnd);
      if (entry.listeners.size === 0 && this.#watched.get(key) === entry) this.#watched.delete(key);
      if (this.#watched.size === 0) this.close();
    };
  }

  /** Checks all registered items; may be called at any time. */
  async check(): Promise<void> {
    if (this.#isChecking || this.#watched.size === 0) return;
    this.#isChecking = true;
    try {
      // An item registered while the queries run is not part of their result, so it is left for the next check.
      const entries = [...this.#watched];
      const live = await this.#dependencies.findLive(entries.map(([, { item }]) => item));
      for (const [key, entry] of entries) {
        if (live.has(key)) continue;
        if (this.#watched.get(key) === entry) this.#watched.delete(key);
        for (const onEnd of entry.listeners) onEnd();
        entry.listeners.clear();
      }
    } catch (error) {
      // Without the database the validity is unknown; the next check will determine it.
      this.#dependencies.log.warn({ err: error }, 'open responses could not be checked for what has ended');
    } finally {
      this.#isChecking = false;
    }
  }

  /** Stops checking. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
