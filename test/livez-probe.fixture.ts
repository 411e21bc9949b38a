import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

/** The thread that polls `/livez` for hostile-bodies.test.ts until it is stopped. */
const { baseUrl, pid } = workerData as { readonly baseUrl: string; readonly pid: number };
const cpuMs = (): number => Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

let isOver = false;
parentPort?.once('message', () => {
  isOver = true;
});
let longestMs = 0;
let longestWallMs = 0;
while (!isOver) {
  const cpuBefore = cpuMs();
  const begunAt = performance.now();
  await (await fetch(`${baseUrl}/livez`)).text();
  const wallMs = performance.now() - begunAt;
  longestWallMs = Math.max(longestWallMs, wallMs);
  longestMs = Math.max(longestMs, Math.min(wallMs, cpuMs() - cpuBefore));
  await pause(10);
}
parentPort?.postMessage({ longestMs, longestWallMs });
