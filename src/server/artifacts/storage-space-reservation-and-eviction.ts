import { KeyedMutex } from '../platform/keyed-mutex.ts';
import type { ArtifactFileStorage } from './artifact-file-storage-type.ts';
import type { ArtifactRemover } from './artifact-remover.ts';
import type { RemovalStore } from './removal-store.ts';
import type { StorageUsageStore } from './storage-usage-store.ts';

export interface StorageSpaceDependencies {
  readonly usage: StorageUsageStore;
  readonly removals: RemovalStore;
  readonly files: ArtifactFileStorage;
  readonly remover: ArtifactRemover;
  /** Bytes of all copies together. */
  readonly maxBytes: number;
  /** Bytes left free on the device. */
  readonly minFreeBytes: number;
  /** The space of all is out, and copies of others were removed for newer ones; never throws. */
  readonly onFull: () => Promise<void>;
}

/** No space for a copy. `isPermanent`: it is larger than what the account gets at all. */
export class NoSpaceError extends Error {
  readonly isPermanent: boolean;
  constructor(message: string, isPermanent: boolean) {
    super(message);
    this.name = 'NoSpaceError';
    this.isPermanent = isPermanent;
  }
}

/** Space held for a copy under way. */
export interface Reservation {
  /** Holds at least so many bytes. @throws NoSpaceError */
  growTo(bytes: number): Promise<void>;
  release(): void;
}

const EVICTION_BATCH = 50;
/** A copy of unknown length takes its space in steps. */
const STEP_BYTES = 32 * 1024 ** 2;

/**
 * Keeps the copies within the space of their account and of all: the oldest make room for the newest. Counts what is stored
 * by the sums over the rows, and what this process is about to store by its reservations.
 */
export class StorageSpace {
  readonly #dependencies: StorageSpaceDependencies;
  readonly #mutex = new KeyedMutex<'space'>();
  readonly #reservedByUser = new Map<number, number>();
  #reserved = 0;

  constructor(dependencies: StorageSpaceDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * @param bytes undefined: not known
   * @param limitBytes what the account gets
   * @throws NoSpaceError
   */
  async reserve(userId: number, bytes: number | undefined, limitBytes: number): Promise<Reservation> {
    let held = 0;
    const growTo = async (wanted: number): Promise<void> => {
      if (wanted <= held) return;
      const next = bytes === undefined ? Math.ceil(wanted / STEP_BYTES) * STEP_BYTES : wanted;
      await this.#mutex.runExclusive('space', async () => {
        await this.#makeRoom(userId, next - held, limitBytes, wanted);
        this.#change(userId, next - held);
        held = next;
      });
    };
    await growTo(bytes ?? 1);
    return { growTo, release: () => this.#change(userId, -held) };
  }

  #change(userId: number, bytes: number): void {
    this.#reserved += bytes;
    const ofUser = (this.#reservedByUser.get(userId) ?? 0) + bytes;
    if (ofUser === 0) this.#reservedByUser.delete(userId);
    else this.#reservedByUser.set(userId, ofUser);
  }

  async #makeRoom(userId: number, bytes: number, limitBytes: number, fileBytes: number): Promise<void> {
    const { usage, files, maxBytes, minFreeBytes, onFull } = this.#dependencies;
    if (fileBytes > Math.min(limitBytes, maxBytes))
      throw new NoSpaceError(`a file of ${fileBytes} bytes is larger than the space of the account`, true);
    const used = (await usage.of(userId)).bytes + (this.#reservedByUser.get(userId) ?? 0);
    await this.#evict(used + bytes - limitBytes, userId);
    const total = (await usage.ofAll()).bytes + this.#reserved;
    const free = (await files.freeBytes()) ?? Number.POSITIVE_INFINITY;
    const missing = Math.max(total + bytes - maxBytes, minFreeBytes + bytes + this.#reserved - free);
    if (missing <= 0) return;
    await this.#evict(missing, undefined);
    await onFull();
  }

  /** Removes the oldest copies until `missing` bytes more are free. @throws NoSpaceError */
  async #evict(missing: number, userId: number | undefined): Promise<void> {
    const { removals, remover } = this.#dependencies;
    for (let left = missing; left > 0; ) {
      const oldest = await removals.listOldest(userId, EVICTION_BATCH);
      if (oldest.length === 0) throw new NoSpaceError('there is no space for a copy', false);
      for (const { id, bytes } of oldest) {
        if (left <= 0) break;
        await removals.markRemoved([id]);
        await remover.remove(id);
        left -= bytes;
      }
    }
  }
}
