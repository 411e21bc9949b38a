/**
 * Shares queries among concurrent look-ups of different keys, without ever returning data read before the call: look-ups that arrive during a
 * query wait for the next one and share it.
 */
export class BatchedLookup<V> {
  readonly #find: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>;
  #waiting = new Map<string, PromiseWithResolvers<V | undefined>>();
  #isRunning = false;

  /** @param find resolves to those of the keys that exist */
  constructor(find: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>) {
    this.#find = find;
  }

  find(key: string): Promise<V | undefined> {
    let waiting = this.#waiting.get(key);
    if (waiting === undefined) {
      waiting = Promise.withResolvers();
      this.#waiting.set(key, waiting);
    }
    if (!this.#isRunning) void this.#run();
    return waiting.promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.size > 0) {
      const batch = this.#waiting;
      this.#waiting = new Map();
      try {
        const found = await this.#find([...batch.keys()]);
        for (const [key, { resolve }] of batch) resolve(found.get(key));
      } catch (error) {
        for (const { reject } of batch.values()) reject(error);
      }
    }
    this.#isRunning = false;
  }
}
