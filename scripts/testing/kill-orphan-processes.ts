import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Environment variable inherited by every process of one run, with a value unique to that run. */
export const RUN_ID_VARIABLE = 'REELGATE_TEST_RUN';

/**
 * Kills processes left behind by tests of this run (a killed test file cannot clean up) and returns their commands.
 * Reads /proc, so it finds none on systems other than Linux.
 */
export async function killOrphanProcesses(): Promise<string[]> {
  // Gives processes time to exit on their own.
  for (let tries = 0; tries < 20 && findOrphans().length > 0; tries++) await sleep(100);
  return findOrphans().map((pid) => {
    const command = read(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
    read(() => process.kill(pid, 'SIGKILL'));
    return command.replaceAll('\0', ' ').trim().slice(0, 200);
  });
}

function findOrphans(): number[] {
  const mark = `${RUN_ID_VARIABLE}=${process.env[RUN_ID_VARIABLE]}`;
  return read(() => readdirSync('/proc').join(' '))
    .split(' ')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid)
    .filter((pid) =>
      read(() => readFileSync(`/proc/${pid}/environ`, 'utf8'))
        .split('\0')
        .includes(mark),
    );
}

/** Empty if the process has ended in the meantime. */
function read(attempt: () => unknown): string {
  try {
    return String(attempt());
  } catch {
    return '';
  }
}
