import { readFileSync } from 'node:fs';

/**
 * Milliseconds for which the main thread of this process was runnable but had no CPU (proc(5), schedstat), so that a
 * recovery time limit excludes waits caused by other programs. 0 without /proc.
 */
export function readCpuWaitMs(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}
