import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * Builds a folder next to the one it replaces and swaps the two at the end: a build that fails or is interrupted leaves
 * the previous folder intact, and readers never see an incomplete one.
 *
 * @param build writes into the empty folder it receives
 */
export async function replaceFolder(folder: string, build: (temporary: string) => Promise<void> | void): Promise<void> {
  const parent = dirname(folder);
  const prefix = `.${basename(folder)}-`;
  mkdirSync(parent, { recursive: true });
  for (const name of readdirSync(parent))
    if (name.startsWith(prefix) && !isRunning(Number.parseInt(name.slice(prefix.length), 10)))
      rmSync(join(parent, name), { recursive: true, force: true });
  const temporary = join(parent, `${prefix}${process.pid}`);
  const old = join(parent, `${prefix}${process.pid}-old`);
  mkdirSync(temporary);
  try {
    await build(temporary);
    if (existsSync(folder)) renameSync(folder, old);
    renameSync(temporary, folder);
  } finally {
    for (const path of [temporary, old]) rmSync(path, { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
