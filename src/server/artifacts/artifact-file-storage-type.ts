import type { Readable } from 'node:stream';

/** Where copies are kept, by the id of their row. */
export interface ArtifactFileStorage {
  /** Takes over a complete file of this machine; afterwards it is durable under `id`, and `path` may be gone. */
  put(id: string, path: string, copy: { readonly bytes: number; readonly sha256: string }): Promise<void>;
  /** Bytes `start` to `end`, both included; undefined: there is no such file. */
  open(id: string, start: number, end: number): Promise<Readable | undefined>;
  /** Path of the file below the directory of all, where that is on this machine; undefined: there is no such file. */
  locate?(id: string): Promise<string | undefined>;
  /** Bytes of the file; undefined: there is none. */
  size(id: string): Promise<number | undefined>;
  /** A file that is not there is removed already. */
  remove(id: string): Promise<void>;
  /** All files in batches, with the time of their last change in Unix milliseconds. */
  list(): AsyncIterable<readonly { readonly id: string; readonly changedAt: number }[]>;
  /** What more fits on its device; undefined: without a bound. */
  freeBytes(): Promise<number | undefined>;
}
