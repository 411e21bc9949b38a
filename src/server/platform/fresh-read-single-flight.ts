/**
 * Shares reads among concurrent callers without ever returning data read before the call: a call that arrives during a read
 * waits for the next read, together with all other calls that arrived meanwhile.
 */
export class FreshReadSingleFlight<T> {
  readonly #fetch: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(read: () => Promise<T>) {
    this.#fetch = read;
  }

  read(): Promise<T> {
    if (this.#running === undefined) return this.#start();
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    );
    return this.#next;
  }

  #start(): Promise<T> {
    this.#next = undefined;
    const running = this.#fetch().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
