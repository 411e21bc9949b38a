/** Lets a bounded number in at once; the others wait in order of arrival, up to a bound of their own. */
export class Gate {
  readonly #maxInside: number;
  readonly #maxWaiting: number;
  readonly #waiting = new Set<() => void>();
  #inside = 0;

  constructor(maxInside: number, maxWaiting: number) {
    this.#maxInside = maxInside;
    this.#maxWaiting = maxWaiting;
  }

  get inside(): number {
    return this.#inside;
  }

  /** Answers the function that gives the place back, or undefined when none came free within `timeoutMs`. */
  async enter(timeoutMs: number): Promise<(() => void) | undefined> {
    if (this.#inside >= this.#maxInside && !(await this.#wait(timeoutMs))) return undefined;
    else if (this.#inside < this.#maxInside) this.#inside++;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#leave();
    };
  }

  /** A place passes from the one who leaves to the first who waits, without becoming free for a latecomer. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#inside--;
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
