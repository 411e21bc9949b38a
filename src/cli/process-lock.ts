import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sleep } from '../sdk/transport.ts';

const RETRY_MS = 50;
/** SQLITE_BUSY */
const BUSY = 5;

/**
 * Runs the work while no other process of this user runs work under the same path. It is an operating system lock, taken
 * through SQLite on an empty file: it is released with the process, so that a killed process leaves no lock behind.
 */
export async function withLock<T>(path: string, work: () => Promise<T>, waitMs = 60_000): Promise<T> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = new DatabaseSync(path);
  try {
    file.exec('pragma busy_timeout = 0');
    const deadline = performance.now() + waitMs;
    while (!tryLock(file)) {
      if (performance.now() > deadline)
        throw new Error(`Another reelgate process has locked ${path} for too long. End it and try again.`);
      await sleep(RETRY_MS * (0.5 + Math.random()));
    }
    return await work();
  } finally {
    file.close();
  }
}

function tryLock(file: DatabaseSync): boolean {
  try {
    file.exec('begin immediate');
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === BUSY) return false;
    throw error;
  }
}
