import { writeFileSync } from 'node:fs';

/**
 * Preloaded into a server (`node --import`): on SIGUSR2 writes to `EVENT_LOOP_DELAY_FILE` how long its event loop was
 * blocked at most since the previous signal, and for how much of that time its thread ran on a CPU; the rest was spent
 * waiting for a CPU or for helper threads.
 */
export interface LongestStall {
  readonly ms: number;
  readonly cpuMs: number;
}

const EVERY_MS = 1;
const file = process.env.EVENT_LOOP_DELAY_FILE;
let longest: LongestStall = { ms: 0, cpuMs: 0 };
let before = readClocks();

/** Wall clock and the thread's CPU time, each from an arbitrary origin. */
function readClocks(): { readonly ms: number; readonly cpuMs: number } {
  const { user, system } = process.threadCpuUsage();
  return { ms: performance.now(), cpuMs: (user + system) / 1_000 };
}

setInterval(() => {
  const at = readClocks();
  const ms = at.ms - before.ms - EVERY_MS;
  if (ms > longest.ms) longest = { ms, cpuMs: at.cpuMs - before.cpuMs };
  before = at;
}, EVERY_MS).unref();

process.on('SIGUSR2', () => {
  if (file !== undefined) writeFileSync(file, JSON.stringify(longest));
  longest = { ms: 0, cpuMs: 0 };
});
