import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Environment variable that every process of one run inherits, with a value no other run has. */
export const RUN_ID_VARIABLE = 'REELGATE_TEST_RUN';

const GRACE_MS = 2_000;

/**
 * Ends processes that tests of this run started and forgot (a killed test file cannot clean up after itself).
 * Returns their commands. Reads /proc, so it finds nothing on other systems than Linux.
 */
export async function killOrphanProcesses(): Promise<string[]> {
  const mark = `${RUN_ID_VARIABLE}=${process.env[RUN_ID_VARIABLE]}`;
  const deadline = Date.now() + GRACE_MS;
  let found = findMarked(mark);
  while (found.length > 0 && Date.now() < deadline) {
    await sleep(100);
    found = findMarked(mark);
  }
  for (const { pid } of found) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself in between.
    }
  }
  return found.map(({ command }) => command);
}

function findMarked(mark: string): { pid: number; command: string }[] {
  return listPids().flatMap((pid) => {
    const variables = readProc(pid, 'environ').split('\0');
    if (!variables.includes(mark)) return [];
    return [{ pid, command: readProc(pid, 'cmdline').replaceAll('\0', ' ').trim().slice(0, 200) }];
  });
}

function listPids(): number[] {
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0 && pid !== process.pid);
  } catch {
    return [];
  }
}

function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
