import { setTimeout as pause } from 'node:timers/promises';
import { startSandbox } from '../src/sandbox/sandbox.ts';
import { kling } from '../src/sandbox/vendors/kling.ts';
import { startService } from './support/child-processes.ts';
import { memoryMb } from './support/http-load.ts';
import { reportFigure } from './support/report-figure.ts';

/**
 * How much memory a submit with a picture of 10 MB in Base64 takes at its peak, beyond what the service held before.
 * Repeat with `node bench/image-upload-memory.ts`; the simulated vendor runs in this process, the service in another.
 */
const PICTURE = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
  Buffer.alloc(9_900_000, 0x5a),
]).toString('base64');
const ROUNDS = 5;

const sandbox = await startSandbox({ simulators: [kling] });
const service = await startService(4_340);
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
  for (let round = 1; round <= ROUNDS; round++) {
    await pause(2_000);
    const before = memoryMb(pid);
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, memoryMb(pid));
    }, 2);
    await submit({ image: PICTURE });
    clearInterval(watch);
    reportFigure({
      subject: `picture ${round} of ${megabytes.toFixed(0)} MB of Base64, memory`,
      unit: '× its size',
      measured: (peak - before) / megabytes,
      asked: 3,
    });
    process.stdout.write(
      `round ${round}: ${megabytes.toFixed(1)} MB of Base64; ${before} MB before, ${peak} MB at most: ${((peak - before) / megabytes).toFixed(1)} times its size\n`,
    );
  }
} finally {
  await service.stop();
  await sandbox.stop();
}
