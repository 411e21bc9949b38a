import { type FileHandle, mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';

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

/** Characters of an id that name its folder: 64² folders keep each of them small. */
const FOLDER_LENGTH = 2;

/** Stores the copies of videos as files in a directory that all processes share. */
export class DiskFileStorage implements ArtifactFileStorage {
  readonly #directory: string;
  constructor(directory: string) {
    this.#directory = directory;
  }

  async put(id: string, path: string): Promise<void> {
    const target = this.pathOf(id);
    await mkdir(dirname(target), { recursive: true });
    await rename(path, target);
    // The name is durable only with its directory.
    const folder = await open(dirname(target), 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  async open(id: string, start: number, end: number): Promise<Readable | undefined> {
    const file = await open(this.pathOf(id), 'r').catch(ignoreMissing);
    return file && new FileRangeStream(file, start, end);
  }

  async locate(id: string): Promise<string | undefined> {
    return (await this.size(id)) === undefined ? undefined : relativePathOf(id);
  }

  async size(id: string): Promise<number | undefined> {
    const found = await stat(this.pathOf(id)).catch(ignoreMissing);
    return found?.size;
  }

  async remove(id: string): Promise<void> {
    await rm(this.pathOf(id), { force: true });
  }

  async *list(): AsyncGenerator<{ id: string; changedAt: number }[]> {
    for (const folder of (await readdir(this.#directory).catch(ignoreMissing)) ?? []) {
      const found = [];
      for (const id of (await readdir(join(this.#directory, folder)).catch(ignoreMissing)) ?? []) {
        const stats = await stat(join(this.#directory, folder, id)).catch(ignoreMissing);
        if (stats !== undefined) found.push({ id, changedAt: stats.mtimeMs });
      }
      if (found.length > 0) yield found;
    }
  }

  async freeBytes(): Promise<number> {
    await mkdir(this.#directory, { recursive: true });
    const { bsize, bavail } = await statfs(this.#directory);
    return bsize * bavail;
  }

  /** Where the file of this id is, if it is there. */
  pathOf(id: string): string {
    return join(this.#directory, relativePathOf(id));
  }
}

const relativePathOf = (id: string): string => `${id.slice(0, FOLDER_LENGTH)}/${id}`;

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
}

/** Each read is a trip to another thread, and a larger part does not stay in the processor's cache until it is sent. */
const PART_BYTES = 256 * 1024;
/** Buffers kept for the next downloads. */
const MAX_SPARE = 16;
const spare: Buffer[] = [];

/**
 * A part of a file. Piped to a response it is read into one buffer over and over, which takes half of the CPU of a plain stream:
 * no memory is allocated for the bytes that pass.
 */
export class FileRangeStream extends Readable {
  readonly #file: FileHandle;
  readonly #end: number;
  #position: number;

  /** @param end the last byte @param file closed with this stream */
  constructor(file: FileHandle, start: number, end: number) {
    super({ highWaterMark: PART_BYTES });
    this.#file = file;
    this.#position = start;
    this.#end = end;
  }

  override _read(): void {
    if (this.#position > this.#end) return void this.push(null);
    this.#fill(Buffer.allocUnsafeSlow(Math.min(PART_BYTES, this.#end + 1 - this.#position))).then(
      (part) => this.destroyed || this.push(part),
      (error: Error) => this.destroy(error),
    );
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#file.close().then(
      () => callback(error),
      (failed: Error) => callback(error ?? failed),
    );
  }

  override pipe<T extends NodeJS.WritableStream>(destination: T): T {
    this.#sendTo(destination).catch((error: Error) => this.destroy(error));
    return destination;
  }

  async #sendTo(destination: NodeJS.WritableStream): Promise<void> {
    const buffer = spare.pop() ?? Buffer.allocUnsafeSlow(PART_BYTES);
    while (this.#position <= this.#end) {
      const part = await this.#fill(buffer);
      // Used again only when the system has taken what is in it.
      const isWritten = !this.destroyed && (await write(destination, part));
      if (!isWritten) return void this.destroy();
    }
    if (spare.length < MAX_SPARE) spare.push(buffer);
    destination.end();
    this.push(null);
    this.resume();
  }

  async #fill(buffer: Buffer): Promise<Buffer> {
    const length = Math.min(buffer.length, this.#end + 1 - this.#position);
    const { bytesRead } = await this.#file.read(buffer, 0, length, this.#position);
    if (bytesRead === 0) throw new Error('the file ended early');
    this.#position += bytesRead;
    return buffer.subarray(0, bytesRead);
  }
}

/** @returns false when the receiver has gone */
function write(destination: NodeJS.WritableStream, part: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    destination.write(part, (error) => resolve(error == null));
  });
}

/** The files of copies under way: `<id>.<try>` in a directory of their own, on the device the copies are kept on. */
export class IncomingFileDirectory {
  readonly #directory: string;
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Where this try writes; what earlier tries left is removed. */
  async begin({ id, tries }: { readonly id: string; readonly tries: number }): Promise<string> {
    await mkdir(this.#directory, { recursive: true });
    await this.removeAll(id);
    return join(this.#directory, `${id}.${tries}`);
  }

  async removeAll(id: string): Promise<void> {
    for (const name of await this.#names()) if (name.startsWith(`${id}.`)) await this.#remove(name);
  }

  /** Removes what was last written before `before` (Unix milliseconds): its process has ended. */
  async removeOlder(before: number): Promise<void> {
    for (const name of await this.#names()) {
      const changedAt = await stat(join(this.#directory, name)).then(
        ({ mtimeMs }) => mtimeMs,
        () => Number.POSITIVE_INFINITY,
      );
      if (changedAt < before) await this.#remove(name);
    }
  }

  async #names(): Promise<string[]> {
    return readdir(this.#directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return [];
    });
  }

  #remove(name: string): Promise<void> {
    return rm(join(this.#directory, name), { force: true });
  }
}
