import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { constants, setPriority, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { startSandbox } from '../src/sandbox/sandbox.ts';
import { kling } from '../src/sandbox/vendors/kling.ts';
import { startService } from './support/child-processes.ts';
import type { LongestStall } from './support/loop-delay.ts';
import { memoryMb } from './support/process-usage.ts';
import { median, spreadOf } from './support/quantile.ts';
import { reportFigure } from './support/report-figure.ts';

/**
 * Peak memory of a submit with an image of 10 MB in Base64, beyond the memory held before; the same for fifty
 * concurrent submits, and how long those block the event loop. Median of five rounds. Run
 * `node bench/image-upload-memory.ts`; the simulated vendor runs in this process, the service in another.
 */
const IMAGE = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
  Buffer.alloc(9_900_000, 0x5a),
]).toString('base64');
const ROUNDS = 5;
const AT_ONCE = 50;
const ASKED_MB = 1_500;
const ASKED_STALL_MS = 50;

const sandbox = await startSandbox({ simulators: [kling], keepRequests: 0 });
const delayFolder = mkdtempSync(join(tmpdir(), 'reelgate-bench-'));
const delayFile = join(delayFolder, 'event-loop-delay');
const service = await startService(4_340, {
  NODE_OPTIONS: `--import=${resolve('bench/support/loop-delay.ts')}`,
  EVENT_LOOP_DELAY_FILE: delayFile,
});
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
  const bodyOf = (more: object): Buffer =>
    Buffer.from(JSON.stringify({ model: 'kling-v1-6', prompt: 'it runs', ...more }));
  const [withoutImage, withImage] = [bodyOf({}), bodyOf({ image: IMAGE })];
  const submit = async (body: Buffer): Promise<void> => {
    const sent = request(`${origin}/v1/video/generations`, { method: 'POST', headers }).end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const answer = await text(response);
    if (response.statusCode !== 200) throw new Error(answer);
  };
  for (let index = 0; index < 20; index++) await submit(withoutImage);
  lowerPriority();
  const megabytes = IMAGE.length / 1e6;
  const ratios: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    await pause(2_000);
    const before = memoryMb(pid);
    const peak = await peakOf(() => submit(withImage));
    ratios.push((peak - before) / megabytes);
    process.stdout.write(
      `round ${round}: ${megabytes.toFixed(1)} MB of Base64; ${before} MB before, ${peak} MB at most: ${((peak - before) / megabytes).toFixed(1)} times its size\n`,
    );
  }
  const [firstRatio = 0, ...laterRatios] = ratios;
  const subject = `of ${megabytes.toFixed(0)} MB of Base64, memory`;
  const unit = '× its size';
  reportFigure({ subject: `first image ${subject}`, unit, measured: firstRatio, asked: 3 });
  reportFigure({ subject: `each later image ${subject}`, unit, measured: Math.max(...laterRatios), asked: 3 });
  await longestStall();
  await pause(3_000);
  process.stdout.write(`longest stall in 3 s without a request: ${describe(await longestStall())}\n`);
  const peaks: number[] = [];
  const stalls: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const peak = await peakOf(() => Promise.all(Array.from({ length: AT_ONCE }, () => submit(withImage))));
    const stall = await longestStall();
    forgetImages();
    process.stdout.write(`${AT_ONCE} at once: ${peak} MB at most, longest stall ${describe(stall)}\n`);
    peaks.push(peak);
    stalls.push(stall.ms);
  }
  const together = `${AT_ONCE} images at once`;
  reportFigure({ subject: `${together}, memory`, unit: 'MB', measured: Math.max(...peaks), asked: ASKED_MB });
  reportFigure({
    subject: `${together}, longest stall`,
    unit: 'ms',
    measured: median(stalls),
    spread: spreadOf(stalls),
    asked: ASKED_STALL_MS,
  });
} finally {
  rmSync(delayFolder, { recursive: true, force: true });
  await service.stop();
  await sandbox.stop();
}

/**
 * Lowers this process's priority: callers and vendor would be on other machines and must not take cores from the
 * service. Linux has a priority per thread, and the garbage collection threads are as busy here as the main one.
 */
function lowerPriority(): void {
  for (const thread of readdirSync('/proc/self/task')) setPriority(Number(thread), constants.priority.PRIORITY_LOW);
}

/**
 * Drops the images that the simulator keeps with its jobs: 650 MB per round, which this process's garbage collections
 * would traverse.
 */
function forgetImages(): void {
  for (const { input } of sandbox.control.jobs('kling')) delete (input as { body: { image?: string } }).body.image;
}

/** @returns the service's peak memory during the work, in MB */
async function peakOf(work: () => Promise<unknown>): Promise<number> {
  let peak = memoryMb(service.pid);
  const watch = setInterval(() => {
    peak = Math.max(peak, memoryMb(service.pid));
  }, 2);
  await work();
  clearInterval(watch);
  return peak;
}

function describe({ ms, cpuMs }: LongestStall): string {
  return `${ms.toFixed(0)} ms, of which its thread was on a processor for ${cpuMs.toFixed(0)}`;
}

/** The longest stall since the previous call. */
async function longestStall(): Promise<LongestStall> {
  process.kill(service.pid, 'SIGUSR2');
  await pause(200);
  return JSON.parse(readFileSync(delayFile, 'utf8')) as LongestStall;
}
