import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pause } from '../sdk/index.ts';

const LOOK_MS = 50;
/** SQLITE_BUSY */
const BUSY = 5;

/**
 * Runs the work while no other process of this person runs work under the same path. The lock is the operating system's, by
 * way of SQLite's own on an empty file: it ends with the process, so that one that was killed leaves nothing behind.
 */
export async function withLock<T>(path: string, work: () => Promise<T>, waitMs = 60_000): Promise<T> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = new DatabaseSync(path);
  try {
    file.exec('pragma busy_timeout = 0');
    const deadline = performance.now() + waitMs;
    while (!tryLock(file)) {
      if (performance.now() > deadline)
        throw new Error(`Another reelgate process holds ${path} for too long. End it and try again.`);
      await pause(LOOK_MS * (0.5 + Math.random()));
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
