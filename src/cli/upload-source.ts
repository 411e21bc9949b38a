import { constants, openAsBlob } from 'node:fs';
import { access, readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { UsageError } from './errors.ts';

/** A file of this machine to upload. */
interface UploadSource {
  readonly content: Blob;
  readonly filename: string;
}

/**
 * Opens a file, which is read while it is sent. A pipe, such as `<(command)` or `/dev/stdin`, has no size and is read
 * before.
 */
export async function openUploadSource(path: string): Promise<UploadSource> {
  const found = await stat(path);
  if (found.isDirectory()) throw new UsageError(`${path} is a folder. Name a file in it.`);
  await access(path, constants.R_OK);
  const content = found.isFile() ? await openAsBlob(path) : new Blob([await readFile(path)]);
  return { content, filename: basename(path) };
}
