import { writeFileSync } from 'node:fs';

/**
 * Preloaded into a server (`node --import`): on SIGUSR2 it writes to `EVENT_LOOP_DELAY_FILE` the longest time its event loop was held up since the
 * last time, and how much of that its thread was on a processor; the rest it waited for one, or for its helper threads.
 */
export interface LongestStall {
  readonly ms: number;
  readonly cpuMs: number;
}

const EVERY_MS = 1;
const file = process.env.EVENT_LOOP_DELAY_FILE;
let longest: LongestStall = { ms: 0, cpuMs: 0 };
let before = readClocks();

/** By the clock and of the thread's CPU, since an arbitrary time each. */
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
