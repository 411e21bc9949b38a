import { setInterval } from 'node:timers';

const INTERVAL_MS = 10;

/** The longest times one turn of the event loop has taken. */
export interface EventLoopStalls {
  /** Milliseconds of CPU time of this thread: what the code and the collector took, and not what other processes took from it. */
  longestCpuMs: number;
  /** Milliseconds by the clock on the wall, a busy machine included. */
  longestWallMs: number;
  stop(): void;
}

/**
 * Watches this thread's event loop. A turn that a busy machine stretches is no stall of the program, so what counts is the
 * CPU time between two turns.
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
