/** What was used of one key in its current window. */
export interface WindowCount {
  readonly used: number;
  /** Milliseconds until the window ends and `used` is 0 again. */
  readonly endsInMs: number;
}

/** Where the figures of one limit are kept. A key's window begins with its first use and is never prolonged. */
export interface Counters {
  /** Adds and returns the new count atomically, so that two callers never see the same one. */
  add(key: string, points: number): Promise<WindowCount>;
  read(key: string): Promise<WindowCount>;
  remove(key: string): Promise<void>;
}

/** The outcome of using a part of a budget. */
export interface TakenPoints extends WindowCount {
  readonly taken: boolean;
  /** When the window ends, Unix milliseconds by the clock of the store; names the window. */
  readonly endsAt: number;
}

/** Counters of which no more than a maximum is ever used, and whose use can be corrected afterwards. */
export interface BudgetCounters {
  /** Adds the points if they fit below the maximum, in one atomic step; otherwise nothing changes. */
  take(key: string, points: number, max: number): Promise<TakenPoints>;
  /** Adds to the window that ends at this time, if it is still the current one; never goes below 0. */
  adjust(key: string, endsAt: number, points: number): Promise<void>;
}

export const EMPTY_WINDOW: WindowCount = { used: 0, endsInMs: 0 };
