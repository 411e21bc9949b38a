import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

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
