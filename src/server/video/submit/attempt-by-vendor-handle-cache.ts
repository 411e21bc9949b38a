import { hash } from 'node:crypto';

/** The attempt whose submit a vendor's handle answered. */
export interface VendorHandleAttempt {
  /** Of the task. */
  readonly id: string;
  readonly attempt: number;
  /** When the handle became known, Unix milliseconds. */
  readonly at: number;
}

const SETS = 1_024;
const SLOTS_PER_SET = 16;
const SLOTS = SETS * SLOTS_PER_SET;
/** `task_` and 32 letters and digits. */
const MAX_ID_BYTES = 40;

/**
 * Owners of the latest accepted handles, some ten thousand, by the hash of a channel and a handle. All memory is allocated at
 * once, 0.9 MB: as objects of a map, 230 bytes each, they would let the heap of a process grow for hours.
 *
 * The place of an entry is one of the slots of its set, and a new entry replaces the oldest one there.
 */
export class AttemptByVendorHandleCache {
  /** 64 bits of SHA-256 each; 0 means that the slot is free. */
  readonly #hashes = new BigUint64Array(SLOTS);
  readonly #times = new Float64Array(SLOTS);
  readonly #attempts = new Uint8Array(SLOTS);
  readonly #idLengths = new Uint8Array(SLOTS);
  readonly #ids = Buffer.alloc(SLOTS * MAX_ID_BYTES);
  /** For each set, which of its slots is written next. */
  readonly #next = new Uint8Array(SETS);

  /** @returns whose the handle is already; undefined when it is the given owner's from now on */
  claim(channelId: number, handle: string, owner: VendorHandleAttempt): VendorHandleAttempt | undefined {
    const digest = hash('sha256', `${channelId} ${handle}`, 'buffer').readBigUInt64LE();
    const set = Number(digest % BigInt(SETS));
    const first = set * SLOTS_PER_SET;
    const found = this.#hashes.subarray(first, first + SLOTS_PER_SET).indexOf(digest);
    if (found !== -1) return this.#read(first + found);
    const next = this.#next[set] ?? 0;
    this.#next[set] = (next + 1) % SLOTS_PER_SET;
    this.#write(first + next, digest, owner);
    return undefined;
  }

  #read(slot: number): VendorHandleAttempt {
    const start = slot * MAX_ID_BYTES;
    return {
      id: this.#ids.toString('latin1', start, start + (this.#idLengths[slot] ?? 0)),
      attempt: this.#attempts[slot] ?? 0,
      at: this.#times[slot] ?? 0,
    };
  }

  #write(slot: number, digest: bigint, { id, attempt, at }: VendorHandleAttempt): void {
    if (id.length > MAX_ID_BYTES) throw new RangeError(`a task id of ${id.length} characters`);
    this.#ids.write(id, slot * MAX_ID_BYTES, 'latin1');
    this.#idLengths[slot] = id.length;
    this.#attempts[slot] = attempt;
    this.#times[slot] = at;
    this.#hashes[slot] = digest;
  }
}
