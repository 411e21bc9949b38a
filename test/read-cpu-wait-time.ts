import { readFileSync } from 'node:fs';

/**
 * Milliseconds for which the main thread of this process was ready to run and had no CPU (proc(5), schedstat), so that a limit on a
 * recovery counts no wait that other programs of the machine caused. 0 where there is no /proc.
 */
export function readCpuWaitMs(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}
