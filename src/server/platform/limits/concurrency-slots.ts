import { randomUUID } from 'node:crypto';

/** A place among those that may run at once. */
export interface Slot {
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
export class MemorySlots implements SlotStore {
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
