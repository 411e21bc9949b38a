import { type FileHandle, mkdir, open, readdir, rename, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';

/** Stores copies under the ids of their rows. */
export interface ArtifactFileStorage {
  /** Stores a complete local file. Afterwards it is durable under `id`, and `path` may no longer exist. */
  put(id: string, path: string, copy: { readonly bytes: number; readonly sha256: string }): Promise<void>;
  /** Opens the bytes `start` to `end`, both inclusive; undefined if there is no such file. */
  open(id: string, start: number, end: number): Promise<Readable | undefined>;
  /** Path of the file below the base directory, if that is on this machine; undefined if there is no such file. */
  locate?(id: string): Promise<string | undefined>;
  /** Size of the file in bytes; undefined if there is none. */
  size(id: string): Promise<number | undefined>;
  /** Removing a missing file succeeds. */
  remove(id: string): Promise<void>;
  /** Lists all files in batches, with the time of their last change in Unix milliseconds. */
  list(): AsyncIterable<readonly { readonly id: string; readonly changedAt: number }[]>;
  /** Free bytes on the device; undefined if there is no limit. */
  freeBytes(): Promise<number | undefined>;
}

/** A place for files that can be recognized, even if it is empty. */
export interface MarkedStorage extends ArtifactFileStorage {
  /** The marker's path or URL, for administrators. */
  readonly markerName: string;
  isMarked(): Promise<boolean>;
  mark(): Promise<void>;
}

/** Empty file beside the stored ones; no id is a name of this form. */
export const MARKER = '.reelgate-files';

/** Characters of an id that name its folder: 64² folders keep each of them small. */
const FOLDER_LENGTH = 2;

/** Stores the copies of videos as files in a directory shared by all processes. */
export class DiskFileStorage implements MarkedStorage {
  readonly #directory: string;
  constructor(directory: string) {
    this.#directory = directory;
  }

  async put(id: string, path: string): Promise<void> {
    const target = this.pathOf(id);
    await mkdir(dirname(target), { recursive: true });
    await rename(path, target);
    // The name is durable only once its directory has been synced.
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

  get markerName(): string {
    return join(this.#directory, MARKER);
  }

  async isMarked(): Promise<boolean> {
    return (await stat(this.markerName).catch(ignoreMissing)) !== undefined;
  }

  async mark(): Promise<void> {
    await mkdir(this.#directory, { recursive: true });
    await writeFile(this.markerName, '', { flush: true });
  }

  async unmark(): Promise<void> {
    await rm(this.markerName, { force: true });
  }

  async isEmpty(): Promise<boolean> {
    for await (const _ of this.list()) return false;
    return true;
  }

  async freeBytes(): Promise<number> {
    await mkdir(this.#directory, { recursive: true });
    const { bsize, bavail } = await statfs(this.#directory);
    return bsize * bavail;
  }

  /** Path of the file with this id, whether or not it exists. */
  pathOf(id: string): string {
    return join(this.#directory, relativePathOf(id));
  }
}

const relativePathOf = (id: string): string => `${id.slice(0, FOLDER_LENGTH)}/${id}`;

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
}

/**
 * Each read is a round trip to the thread pool, and a larger chunk does not stay in the processor's cache until it is
 * sent.
 */
const PART_BYTES = 256 * 1024;
/** Buffers kept for later downloads. */
const MAX_SPARE = 16;
const spare: Buffer[] = [];

/**
 * A range of a file. Piped to a response, the file is read into one reused buffer, which takes half of the CPU of a
 * plain stream because no memory is allocated for the bytes that pass.
 */
export class FileRangeStream extends Readable {
  readonly #file: FileHandle;
  readonly #end: number;
  #position: number;

  /**
   * @param end last byte, inclusive
   * @param file closed together with this stream
   */
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
      // The buffer may be reused only after the kernel has taken its content.
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

/** @returns false if the receiver has disconnected */
function write(destination: NodeJS.WritableStream, part: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    destination.write(part, (error) => resolve(error == null));
  });
}

/** Appends the whole chunk; a single write may take only part of it. */
export async function writeAll(file: FileHandle, chunk: Buffer): Promise<void> {
  for (let done = 0; done < chunk.length; ) done += (await file.write(chunk, done)).bytesWritten;
}

/** An attempt to store a file. */
interface Attempt {
  readonly id: string;
  readonly tries: number;
}

/** The files of copies in progress: `<id>.<try>` in a directory of their own, on the device that stores the copies. */
export class IncomingFileDirectory {
  readonly #directory: string;
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Returns the path this attempt writes to and removes the files of earlier attempts. */
  async begin({ id, tries }: Attempt): Promise<string> {
    await mkdir(this.#directory, { recursive: true });
    await this.#removeOf(id, (other) => other <= tries);
    return join(this.#directory, `${id}.${tries}`);
  }

  /** Removes the file of an attempt; a later one may have begun meanwhile. */
  remove({ id, tries }: Attempt): Promise<void> {
    return this.#remove(`${id}.${tries}`);
  }

  async removeAll(id: string): Promise<void> {
    await this.#removeOf(id, () => true);
  }

  async #removeOf(id: string, isMeant: (tries: number) => boolean): Promise<void> {
    for (const name of await this.#names())
      if (name.startsWith(`${id}.`) && isMeant(Number(name.slice(id.length + 1)))) await this.#remove(name);
  }

  /** Removes files last written before `before` (Unix milliseconds): their process has died. */
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
