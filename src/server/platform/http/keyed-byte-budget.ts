interface Waiter {
  readonly key: string;
  readonly bytes: number;
  readonly start: () => void;
}

/**
 * Bounds how many bytes may be in memory at once, for each key (an account) and in total. Whoever finds no room waits in
 * order of arrival; a single item larger than a bound goes alone.
 */
export class KeyedByteBudget {
  readonly #maxPerKey: number;
  readonly #maxTotal: number;
  readonly #used = new Map<string, number>();
  #total = 0;
  #waiting: Waiter[] = [];

  constructor(maxPerKey: number, maxTotal: number) {
    this.#maxPerKey = maxPerKey;
    this.#maxTotal = maxTotal;
  }

  /**
   * @param signal ends the wait when the client has disconnected
   * @returns gives the bytes back; calling it again does nothing
   */
  acquire(key: string, bytes: number, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const start = (): void => {
        signal.removeEventListener('abort', leave);
        resolve(this.#take(key, bytes));
      };
      const leave = (): void => {
        this.#waiting = this.#waiting.filter((waiter) => waiter.start !== start);
        reject(signal.reason as Error);
      };
      if (signal.aborted) reject(signal.reason as Error);
      else if (this.#hasRoom(key, bytes) && !this.#waiting.some((waiter) => waiter.key === key)) start();
      else {
        signal.addEventListener('abort', leave, { once: true });
        this.#waiting.push({ key, bytes, start });
      }
    });
  }

  /** Somebody waits for room. */
  get isWaitedFor(): boolean {
    return this.#waiting.length > 0;
  }

  #hasRoom(key: string, bytes: number): boolean {
    const used = this.#used.get(key) ?? 0;
    return (
      (used === 0 || used + bytes <= this.#maxPerKey) && (this.#total === 0 || this.#total + bytes <= this.#maxTotal)
    );
  }

  #take(key: string, bytes: number): () => void {
    this.#used.set(key, (this.#used.get(key) ?? 0) + bytes);
    this.#total += bytes;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = (this.#used.get(key) ?? 0) - bytes;
      if (left > 0) this.#used.set(key, left);
      else this.#used.delete(key);
      this.#total -= bytes;
      this.#startWaiting();
    };
  }

  /** One key's queue keeps its order; a full key does not hold up the others. */
  #startWaiting(): void {
    const blocked = new Set<string>();
    for (const waiter of [...this.#waiting]) {
      if (blocked.has(waiter.key) || !this.#hasRoom(waiter.key, waiter.bytes)) {
        blocked.add(waiter.key);
        continue;
      }
      this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
      waiter.start();
    }
  }
}
