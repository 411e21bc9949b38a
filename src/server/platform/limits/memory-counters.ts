import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { upToEntries } from '../lru-cache-entry-limit-options.ts';
import {
  type BudgetCounters,
  type Counters,
  EMPTY_WINDOW,
  type TakenPoints,
  type WindowCount,
} from './counter-types.ts';

/** Keys remembered for one limit; the least recently used go first, so that a flood of addresses cannot fill the memory. */
const MAX_KEYS = 100_000;

interface Window {
  used: number;
  readonly endsAt: number;
}

/** A key's window as it is to be saved. */
export interface ChangedWindow {
  readonly key: string;
  readonly used: number;
  readonly endsAt: number;
}

/** For one process. */
export class MemoryCounters implements Counters, BudgetCounters {
  // Bounded by size and not by `max`, which would set aside room for all keys at once: megabytes for every limit.
  readonly #windows = new LRUCache<string, Window>(upToEntries(MAX_KEYS));
  readonly #durationMs: number;
  readonly #clock: Clock;
  /** Keys changed since they were last taken; undefined where nobody saves them. */
  #changed: Set<string> | undefined;

  constructor(durationMs: number, clock: Clock) {
    this.#durationMs = durationMs;
    this.#clock = clock;
  }

  async add(key: string, points: number): Promise<WindowCount> {
    const window = this.#current(key) ?? { used: 0, endsAt: this.#clock.now() + this.#durationMs };
    window.used = Math.max(0, window.used + points);
    this.#windows.set(key, window);
    this.#changed?.add(key);
    return this.#toCount(window);
  }

  async read(key: string): Promise<WindowCount> {
    const window = this.#current(key);
    return window === undefined ? EMPTY_WINDOW : this.#toCount(window);
  }

  async remove(key: string): Promise<void> {
    this.#windows.delete(key);
    this.#changed?.add(key);
  }

  async take(key: string, points: number, max: number): Promise<TakenPoints> {
    const window = this.#current(key) ?? { used: 0, endsAt: this.#clock.now() + this.#durationMs };
    const taken = window.used + points <= max;
    if (taken) {
      window.used += points;
      this.#windows.set(key, window);
      this.#changed?.add(key);
    }
    return { ...this.#toCount(window), taken, endsAt: window.endsAt };
  }

  async adjust(key: string, endsAt: number, points: number): Promise<void> {
    const window = this.#current(key);
    if (window === undefined || window.endsAt !== endsAt) return;
    window.used = Math.max(0, window.used + points);
    this.#changed?.add(key);
  }

  /** Takes over a window of an earlier process, and notes changes from now on. */
  restore(windows: readonly ChangedWindow[]): void {
    this.#changed = new Set();
    for (const { key, used, endsAt } of windows) this.#windows.set(key, { used, endsAt });
  }

  /** At most `max` windows that have changed; one that was removed has nothing used. */
  takeChanged(max: number): ChangedWindow[] {
    const taken: ChangedWindow[] = [];
    for (const key of this.#changed ?? []) {
      if (taken.length >= max) break;
      this.#changed?.delete(key);
      const window = this.#current(key);
      taken.push({ key, used: window?.used ?? 0, endsAt: window?.endsAt ?? 0 });
    }
    return taken;
  }

  #current(key: string): Window | undefined {
    const window = this.#windows.get(key);
    return window !== undefined && window.endsAt > this.#clock.now() ? window : undefined;
  }

  #toCount({ used, endsAt }: Window): WindowCount {
    return { used, endsInMs: endsAt - this.#clock.now() };
  }
}
