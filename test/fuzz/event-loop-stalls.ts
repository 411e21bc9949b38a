import { setInterval } from 'node:timers';

const INTERVAL_MS = 10;

/** The longest turns of the event loop. */
export interface EventLoopStalls {
  /** Milliseconds of this thread's CPU time: code and garbage collection, without time taken by other processes. */
  longestCpuMs: number;
  /** Milliseconds of elapsed time, including waits on a busy machine. */
  longestWallMs: number;
  stop(): void;
}

/**
 * Watches this thread's event loop. The measure is the CPU time between two turns, because a turn stretched by a busy
 * machine is not a stall of the program.
 *
 * @param onStall called after a turn of more than `limitMs` of CPU time
 */
export function watchEventLoop(limitMs: number, onStall: (cpuMs: number) => void): EventLoopStalls {
  const cpuMs = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let lastWall = performance.now();
  let lastCpu = cpuMs();
  const timer = setInterval(() => {
    const wall = performance.now();
    const cpu = cpuMs();
    stalls.longestWallMs = Math.max(stalls.longestWallMs, wall - lastWall - INTERVAL_MS);
    stalls.longestCpuMs = Math.max(stalls.longestCpuMs, cpu - lastCpu);
    if (cpu - lastCpu > limitMs) onStall(cpu - lastCpu);
    lastWall = wall;
    lastCpu = cpu;
  }, INTERVAL_MS);
  const stalls: EventLoopStalls = { longestCpuMs: 0, longestWallMs: 0, stop: () => clearInterval(timer) };
  return stalls;
}
