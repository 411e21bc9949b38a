import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startSandbox } from '../src/sandbox/sandbox.ts';
import { kling } from '../src/sandbox/vendors/kling.ts';
import { startService } from './support/child-processes.ts';
import { memoryMb } from './support/process-cpu-and-memory.ts';
import { reportFigure } from './support/report-figure.ts';

/**
 * How much memory a submit with a picture of 10 MB in Base64 takes at its peak, beyond what the service held before, and what fifty of them at
 * once take, and how long they keep everything else waiting: the median of five rounds.
 * Repeat with `node bench/image-upload-memory.ts`; the simulated vendor runs in this process, the service in another.
 */
const PICTURE = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
  Buffer.alloc(9_900_000, 0x5a),
]).toString('base64');
const ROUNDS = 5;
const AT_ONCE = 50;
const ASKED_MB = 1_500;
const ASKED_STALL_MS = 50;

const sandbox = await startSandbox({ simulators: [kling] });
const delayFolder = mkdtempSync(join(tmpdir(), 'reelgate-bench-'));
const delayFile = join(delayFolder, 'event-loop-delay');
const service = await startService(4_340, {
  NODE_OPTIONS: `--import=${resolve('bench/support/event-loop-delay-on-signal.ts')}`,
  EVENT_LOOP_DELAY_FILE: delayFile,
});
// The callers and the vendor, this process, would be on other machines: where cores are few, they must not keep the service from them.
setPriority(constants.priority.PRIORITY_LOW);
try {
  const { operator, origin, pid } = service;
  await operator.addChannel({
    vendor: 'kling',
    base_url: sandbox.url('kling'),
    credentials: sandbox.credentials('kling'),
    models: ['kling-v1-6'],
  });
  await operator.grantQuota(1_000_000_000);
  const headers = { authorization: `Bearer ${await operator.makeToken()}`, 'content-type': 'application/json' };
  const submit = async (more: object): Promise<void> => {
    const body = JSON.stringify({ model: 'kling-v1-6', prompt: 'it runs', ...more });
    const response = await fetch(`${origin}/v1/video/generations`, { method: 'POST', headers, body });
    if (response.status !== 200) throw new Error(await response.text());
    await response.arrayBuffer();
  };
  for (let index = 0; index < 20; index++) await submit({});
  const megabytes = PICTURE.length / 1e6;
  const ratios: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    await pause(2_000);
    const before = memoryMb(pid);
    const peak = await peakOf(() => submit({ image: PICTURE }));
    ratios.push((peak - before) / megabytes);
    process.stdout.write(
      `round ${round}: ${megabytes.toFixed(1)} MB of Base64; ${before} MB before, ${peak} MB at most: ${((peak - before) / megabytes).toFixed(1)} times its size\n`,
    );
  }
  const [firstRatio = 0, ...laterRatios] = ratios;
  const subject = `of ${megabytes.toFixed(0)} MB of Base64, memory`;
  const unit = '× its size';
  reportFigure({ subject: `first picture ${subject}`, unit, measured: firstRatio, asked: 3 });
  reportFigure({ subject: `each later picture ${subject}`, unit, measured: Math.max(...laterRatios), asked: 3 });
  await longestStall();
  await pause(3_000);
  process.stdout.write(`longest stall in 3 s without a request: ${(await longestStall()).toFixed(0)} ms\n`);
  const peaks: number[] = [];
  const stalls: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const peak = await peakOf(() => Promise.all(Array.from({ length: AT_ONCE }, () => submit({ image: PICTURE }))));
    const stall = await longestStall();
    process.stdout.write(`${AT_ONCE} at once: ${peak} MB at most, longest stall ${stall.toFixed(0)} ms\n`);
    peaks.push(peak);
    stalls.push(stall);
  }
  const together = `${AT_ONCE} pictures at once`;
  reportFigure({ subject: `${together}, memory`, unit: 'MB', measured: Math.max(...peaks), asked: ASKED_MB });
  reportFigure({
    subject: `${together}, longest stall`,
    unit: 'ms',
    measured: stalls.toSorted((a, b) => a - b)[ROUNDS >> 1] ?? 0,
    spread: [Math.min(...stalls), Math.max(...stalls)],
    asked: ASKED_STALL_MS,
  });
} finally {
  rmSync(delayFolder, { recursive: true, force: true });
  await service.stop();
  await sandbox.stop();
}

/** @returns most MB the service holds meanwhile */
async function peakOf(work: () => Promise<unknown>): Promise<number> {
  let peak = memoryMb(service.pid);
  const watch = setInterval(() => {
    peak = Math.max(peak, memoryMb(service.pid));
  }, 2);
  await work();
  clearInterval(watch);
  return peak;
}

/** Milliseconds since it was last asked. */
async function longestStall(): Promise<number> {
  process.kill(service.pid, 'SIGUSR2');
  await pause(200);
  return Number(readFileSync(delayFile, 'utf8'));
}
