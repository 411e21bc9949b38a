/** Where everybody gets the time from. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** A clock in a test's hand. */
export class MovableClock implements Clock {
  #now: number;
  constructor(now: number = Date.now()) {
    this.#now = now;
  }
  now(): number {
    return this.#now;
  }
  set(unixMs: number): void {
    this.#now = unixMs;
  }
  advance(ms: number): void {
    this.#now += ms;
  }
}
