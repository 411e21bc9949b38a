/** Runs work on the same key one after the other within this process; work on different keys runs concurrently. */
export class KeyedMutex<K> {
  readonly #last = new Map<K, Promise<unknown>>();

  /** Runs `work` when all earlier work on this key has ended, whether it succeeded or failed. */
  runExclusive<T>(key: K, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const result = before.then(work, work);
    const ended = result.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, ended);
    void ended.then(() => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    });
    return result;
  }
}
