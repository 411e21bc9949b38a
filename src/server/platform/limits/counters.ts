import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { upToEntries } from '../cache.ts';
import type { Clock } from '../clock.ts';

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

/** Keys remembered for one limit; the least recently used go first, so that a flood of addresses cannot fill the memory. */
const MAX_KEYS = 100_000;

interface Window {
  used: number;
  readonly endsAt: number;
}

/** A key's window as it is to be saved. */
interface ChangedWindow {
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

/** A place among those that may run at once. */
interface Slot {
  readonly key: string;
  /** Unique over all processes. */
  readonly holder: string;
}

/** Where slots are kept. A slot expires by itself, so that a process that is killed blocks none for long. */
export interface SlotStore {
  /** Takes one of `max` slots of the key, in one atomic step. @returns false when all are taken */
  acquire(slot: Slot, max: number, ttlMs: number): Promise<boolean>;
  renew(slots: readonly Slot[], ttlMs: number): Promise<void>;
  release(slot: Slot): Promise<void>;
}

/** For one process. */
class MemorySlots implements SlotStore {
  readonly #held = new Map<string, Set<string>>();

  async acquire({ key, holder }: Slot, max: number): Promise<boolean> {
    const held = this.#held.get(key) ?? new Set();
    if (held.size >= max) return false;
    this.#held.set(key, held.add(holder));
    return true;
  }

  async renew(): Promise<void> {}

  async release({ key, holder }: Slot): Promise<void> {
    const held = this.#held.get(key);
    held?.delete(holder);
    if (held?.size === 0) this.#held.delete(key);
  }
}

/** How long a slot of a process that was killed stays taken. */
const TTL_MS = 30_000;
const RENEW_EVERY_MS = 10_000;

/**
 * How many of a key may run at once, over all processes. While the shared store is down each process counts for itself, with half the
 * maximum, as rate limits do.
 */
export class ConcurrencySlots {
  readonly #shared: SlotStore | undefined;
  readonly #local = new MemorySlots();
  readonly #onStoreDown: (error: unknown) => void;
  readonly #held = new Set<Slot>();
  #timer: NodeJS.Timeout | undefined;

  /** @param shared undefined: one process, and what runs in it is counted in memory */
  constructor(shared: SlotStore | undefined, onStoreDown: (error: unknown) => void) {
    this.#shared = shared;
    this.#onStoreDown = onStoreDown;
  }

  /** Returns the function that gives the slot back, to be called once, which does not reject; undefined when `max` are taken. */
  async acquire(key: string, max: number): Promise<(() => Promise<void>) | undefined> {
    const slot = { key, holder: randomUUID() };
    const shared = this.#shared;
    if (shared === undefined)
      return (await this.#local.acquire(slot, max)) ? () => this.#local.release(slot) : undefined;
    try {
      if (!(await shared.acquire(slot, max, TTL_MS))) return undefined;
    } catch (error) {
      this.#onStoreDown(error);
      const half = Math.max(1, Math.floor(max / 2));
      return (await this.#local.acquire(slot, half)) ? () => this.#local.release(slot) : undefined;
    }
    this.#held.add(slot);
    this.#timer ??= setInterval(() => this.#renew(shared), RENEW_EVERY_MS).unref();
    return async () => {
      this.#held.delete(slot);
      await shared.release(slot).catch(this.#onStoreDown);
    };
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #renew(shared: SlotStore): void {
    if (this.#held.size > 0) shared.renew([...this.#held], TTL_MS).catch(this.#onStoreDown);
  }
}
