/**
 * Shares one operation among all callers that request it while it runs. Nothing is cached afterwards: all waiting callers get
 * its success or failure, and the next call starts it again.
 */
export class SingleFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  run(key: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const started = work().finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }
}
