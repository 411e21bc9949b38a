import type { Readable } from 'node:stream';
import type { ArtifactFileStorage } from './artifact-file-storage-type.ts';

/** Copies that are moved from one place to another: new ones are kept at the second, and each is read from where it is. */
export class DiskToS3TransitionFileStorage implements ArtifactFileStorage {
  readonly #from: ArtifactFileStorage;
  readonly #to: ArtifactFileStorage;
  constructor(from: ArtifactFileStorage, to: ArtifactFileStorage) {
    this.#from = from;
    this.#to = to;
  }

  put(id: string, path: string, copy: { readonly bytes: number; readonly sha256: string }): Promise<void> {
    return this.#to.put(id, path, copy);
  }

  async open(id: string, start: number, end: number): Promise<Readable | undefined> {
    return (await this.#from.open(id, start, end)) ?? this.#to.open(id, start, end);
  }

  async size(id: string): Promise<number | undefined> {
    return (await this.#from.size(id)) ?? this.#to.size(id);
  }

  async remove(id: string): Promise<void> {
    await this.#from.remove(id);
    await this.#to.remove(id);
  }

  async *list(): AsyncGenerator<readonly { readonly id: string; readonly changedAt: number }[]> {
    yield* this.#from.list();
    yield* this.#to.list();
  }

  freeBytes(): Promise<number | undefined> {
    return this.#to.freeBytes();
  }
}
