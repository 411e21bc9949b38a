import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { upToEntries } from '../cache.ts';
import type { Clock } from '../clock.ts';

/** The window of one key after an attempt to use points. */
export interface TakenPoints {
  readonly taken: boolean;
  readonly used: number;
  /** End of the window in Unix milliseconds, by the clock of the store; identifies the window. */
  readonly endsAt: number;
  /** Milliseconds until the window ends and `used` is 0 again. */
  readonly endsInMs: number;
}

/** A maximum that admits any number of points. */
export const NO_MAX = Number.MAX_SAFE_INTEGER;
/** A maximum that admits nothing: the window is only read. */
export const READ_ONLY = -1;

/** The counters of one limit. The window of a key starts with its first use and is never prolonged. */
export interface Counters {
  /**
   * Adds the points if they fit below the maximum, in one atomic step; otherwise nothing changes. Negative points are a
   * refund, and `used` never goes below 0.
   */
  take(key: string, points: number, max: number): Promise<TakenPoints>;
  /** Adds points to the window that ends at this time, if it is still the current one. */
  adjust(key: string, endsAt: number, points: number): Promise<void>;
  remove(key: string): Promise<void>;
}

/** Keys kept for one limit. The least recently used are evicted, so a flood of addresses cannot exhaust the memory. */
export const MAX_KEYS = 100_000;

interface Window {
  used: number;
  readonly endsAt: number;
}

/** The window of a key as it is saved. */
interface ChangedWindow {
  readonly key: string;
  readonly used: number;
  readonly endsAt: number;
}

/** Counters of a single process. */
export class MemoryCounters implements Counters {
  // Limited by size, because `max` would allocate megabytes for every limit.
  readonly #windows = new LRUCache<string, Window>(upToEntries(MAX_KEYS));
  readonly #durationMs: number;
  readonly #clock: Clock;
  /** Keys changed since the last `takeChanged`; undefined when they are not saved. */
  #changed: Set<string> | undefined;

  constructor(durationMs: number, clock: Clock) {
    this.#durationMs = durationMs;
    this.#clock = clock;
  }

  async remove(key: string): Promise<void> {
    this.#windows.delete(key);
    this.#changed?.add(key);
  }

  async take(key: string, points: number, max: number): Promise<TakenPoints> {
    const window = this.#current(key) ?? { used: 0, endsAt: this.#clock.now() + this.#durationMs };
    const taken = window.used + points <= max;
    if (taken) {
      window.used = Math.max(0, window.used + points);
      this.#windows.set(key, window);
      this.#changed?.add(key);
    }
    const { used, endsAt } = window;
    return { taken, used, endsAt, endsInMs: endsAt - this.#clock.now() };
  }

  async adjust(key: string, endsAt: number, points: number): Promise<void> {
    const window = this.#current(key);
    if (window === undefined || window.endsAt !== endsAt) return;
    window.used = Math.max(0, window.used + points);
    this.#changed?.add(key);
  }

  /** Restores the windows of an earlier process, and records changes from now on. */
  restore(windows: readonly ChangedWindow[]): void {
    this.#changed = new Set();
    for (const { key, used, endsAt } of windows) this.#windows.set(key, { used, endsAt });
  }

  /** At most `max` changed windows; a removed one has 0 points. */
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

  /** Lets `takeChanged` return a window again, because it could not be saved. */
  keepChanged(key: string): void {
    this.#changed?.add(key);
  }

  #current(key: string): Window | undefined {
    const window = this.#windows.get(key);
    return window !== undefined && window.endsAt > this.#clock.now() ? window : undefined;
  }
}

/** One of the calls of a key that may run concurrently. */
interface Slot {
  readonly key: string;
  /** Unique across all processes. */
  readonly holder: string;
}

/** The slots of one limit. A slot expires, so a killed process does not block it for long. */
export interface SlotStore {
  /** Acquires one of `max` slots of the key, in one atomic step. @returns false when all are taken */
  acquire(slot: Slot, max: number, ttlMs: number): Promise<boolean>;
  renew(slots: readonly Slot[], ttlMs: number): Promise<void>;
  release(slot: Slot): Promise<void>;
}

/** Slots of a single process. */
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

/** How long the slot of a killed process remains occupied. */
const TTL_MS = 30_000;
const RENEW_EVERY_MS = 10_000;

/**
 * Limits the concurrent calls of a key across all processes. While the shared store is down, each process counts for
 * itself with half the maximum, like rate limits do.
 */
export class ConcurrencySlots {
  readonly #shared: SlotStore | undefined;
  readonly #local = new MemorySlots();
  readonly #onStoreDown: (error: unknown) => void;
  readonly #held = new Set<Slot>();
  #timer: NodeJS.Timeout | undefined;

  /** @param shared undefined for a single process, which counts in memory */
  constructor(shared: SlotStore | undefined, onStoreDown: (error: unknown) => void) {
    this.#shared = shared;
    this.#onStoreDown = onStoreDown;
  }

  /**
   * Resolves to the function that releases the slot, which must be called once and never rejects; undefined when `max`
   * slots are occupied.
   */
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
