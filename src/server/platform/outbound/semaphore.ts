/** Lets a bounded number in at once; the others wait in order of arrival, up to a bound of their own. */
export class Semaphore {
  readonly #maxHolders: number;
  readonly #maxWaiting: number;
  readonly #waiting = new Set<() => void>();
  #holders = 0;

  constructor(maxHolders: number, maxWaiting: number) {
    this.#maxHolders = maxHolders;
    this.#maxWaiting = maxWaiting;
  }

  get holders(): number {
    return this.#holders;
  }

  /** Returns the function that releases the slot, or undefined when none became free within `timeoutMs`. */
  async acquire(timeoutMs: number): Promise<(() => void) | undefined> {
    if (this.#holders >= this.#maxHolders && !(await this.#wait(timeoutMs))) return undefined;
    else if (this.#holders < this.#maxHolders) this.#holders++;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#release();
    };
  }

  /** A place passes from the one who leaves to the first who waits, without becoming free for a latecomer. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#holders--;
    else next();
  }

  #wait(timeoutMs: number): Promise<boolean> {
    if (this.#waiting.size >= this.#maxWaiting) return Promise.resolve(false);
    return new Promise((resolve) => {
      const settle = (entered: boolean): void => {
        this.#waiting.delete(take);
        clearTimeout(timer);
        resolve(entered);
      };
      const take = (): void => settle(true);
      const timer = setTimeout(() => settle(false), timeoutMs);
      this.#waiting.add(take);
    });
  }
}
