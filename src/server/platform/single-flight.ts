/**
 * Shares one piece of work among all who ask for it while it runs. Nothing is remembered afterwards: success and failure
 * reach those who were waiting, the next to ask starts anew.
 */
export class SingleFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  do(key: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const started = work().finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }
}
