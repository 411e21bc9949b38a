import { mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import type { ArtifactFileStorage } from './artifact-file-storage-type.ts';
import { FileRangeStream } from './file-range-stream.ts';

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
