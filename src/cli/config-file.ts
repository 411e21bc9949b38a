import { chmod, mkdir, open, readFile, realpath, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A file of this user's settings or sign-ins. @throws SyntaxError if it is not JSON */
export async function readConfigFile(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });
  // Editors of Windows begin a file with a byte order mark.
  return text === undefined ? undefined : JSON.parse(text.replace(/^\ufeff/, ''));
}

/**
 * Replaces a file that only its owner can read (0600) durably and atomically, so that a crash while writing leaves the
 * previous one intact. A symbolic link stays one: some people keep such files in a repository.
 */
export async function writeConfigFile(path: string, value: unknown): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const target = await realpath(path).catch(() => path);
  const draft = `${target}.${process.pid}.${Date.now()}`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(value, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, target).catch(async (error: unknown) => {
    await rm(draft, { force: true });
    throw error;
  });
  await chmod(target, 0o600);
}
