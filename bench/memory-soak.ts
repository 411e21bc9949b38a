/**
 * Memory of the service during an hour at a low rate. `node bench/memory-soak.ts` runs on SQLite,
 * `node bench/memory-soak.ts --postgres` on its own PostgreSQL; `--minutes 6 --rate 100` sends an hour's requests in a
 * tenth of the time. Prints a line per minute, then the slopes after the first ten minutes and over the second half.
 * Garbage collection makes memory fluctuate by more than a leak would, so each minute's figure is the memory in use
 * after a full collection.
 *
 * V8 recompiles a function, with type feedback, after some hundred to ten thousand calls. The first ten minutes
 * therefore get several times the rate (`--warm-up-rate`); otherwise rarely called functions would reach that count
 * during the hour, which looks like a leak.
 *
 * `--snapshots 12,40 --into folder` writes heap snapshots after those minutes, for `compare-heap-snapshots.ts`.
 * Snapshots disturb the measurement: V8 drops idle compiled functions and recompiles them.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ALL_SIMULATORS, startSandbox } from '../src/sandbox/sandbox.ts';
import { AdminClient } from '../test/admin-client.ts';
import { callModelApi } from '../test/call-model-api.ts';
import { chatBody } from '../test/chat/chat-fixture.ts';
import { addChatModelOf, prepare, VIDEO_MODELS } from '../test/faults/submit-steps.ts';
import { freePort, SERVER, ServerProcess } from '../test/operations/server-process.ts';
import { startPostgres } from '../test/start-postgres.ts';
import { reportFigure } from './support/report-figure.ts';

const { values } = parseArgs({
  options: {
    postgres: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '60' },
    /** Requests per second. */
    rate: { type: 'string', default: '10' },
    /** Requests per second during the first ten minutes, or during the first sixth of shorter runs. */
    'warm-up-rate': { type: 'string', default: '25' },
    snapshots: { type: 'string', default: '' },
    into: { type: 'string', default: tmpdir() },
  },
});
const minutes = Number(values.minutes);
const warmUpMinutes = Math.min(10, minutes / 6);
const snapshotMinutes = values.snapshots.split(',').map(Number);

const folder = mkdtempSync(join(tmpdir(), 'reelgate-soak-'));
const postgres = values.postgres ? await startPostgres() : undefined;
const sandbox = await startSandbox({ simulators: ALL_SIMULATORS, keepRequests: 0 });
const databaseUrl = postgres?.url ?? `sqlite:${join(folder, 'soak.db')}`;
const PRELOAD = new URL('./support/memory-on-signal.ts', import.meta.url).href;
const snapshots = [`--diagnostic-dir=${resolve(values.into)}`, '--heapsnapshot-signal=SIGURG'];
const program = [...snapshots, '--expose-gc', '--import', PRELOAD, SERVER];
const server = await new ServerProcess(databaseUrl, await freePort(), {}, program).untilReady();
const key = await prepare(server.baseUrl, sandbox);
const operator = await new AdminClient(server.baseUrl).signIn();
await operator.grantQuota(1_000_000_000_000);
await addChatModelOf(sandbox, operator);

let failed = 0;
let sent = 0;
let lastVideo = '';
/** Of ten requests one is a video, three are model calls (one of them streamed), and the rest are reads. */
async function request(n: number): Promise<void> {
  const kind = n % 10;
  const call = (method: string, path: string, body?: object) => callModelApi(server.baseUrl, key, method, path, body);
  sent += 1;
  const answer = await (kind === 0
    ? call('POST', '/v1/videos', { model: VIDEO_MODELS.kling, prompt: `soak ${n}` })
    : kind < 3
      ? call('POST', '/v1/chat/completions', chatBody(`soak ${n}`))
      : kind < 5 && lastVideo !== ''
        ? call('GET', `/v1/videos/${lastVideo}`)
        : kind === 5
          ? stream(n)
          : call('GET', '/v1/videos')
  ).catch(() => undefined);
  if (answer?.status !== 200) failed += 1;
  else if (kind === 0 && 'body' in answer) lastVideo = String((answer.body as { id: string }).id);
}

async function stream(n: number): Promise<{ status: number }> {
  const response = await fetch(`${server.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(chatBody(`soak ${n}`, { stream: true })),
  });
  await response.text();
  return response;
}

/** Memory in MB after a full garbage collection. */
interface Memory {
  readonly rss: number;
  /** Objects on JavaScript's heap. */
  readonly heap: number;
  /** Memory V8 has committed for the heap, part of which is free. */
  readonly committed: number;
  /** V8's young generation, part of the committed heap: V8 doubles it, up to its maximum, when many objects survive. */
  readonly young: number;
  /** Buffers and other memory held by heap objects outside the heap. */
  readonly external: number;
  /** The part of `heap` used by compiled functions: bytecode and machine code. */
  readonly code: number;
}

async function readMemory(): Promise<Memory> {
  const before = server.output.length;
  server.signal('SIGUSR2');
  for (;;) {
    const found = /memory (\{.*\})\n/.exec(server.output.slice(before));
    if (found !== null) return JSON.parse(found[1] ?? '') as Memory;
    await pause(20);
  }
}

/** Slope in MB per hour, by least squares. */
function slope(samples: readonly (readonly [minute: number, mb: number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(samples.map(([minute]) => minute)), mean(samples.map(([, mb]) => mb))];
  const covariance = samples.reduce((sum, [minute, mb]) => sum + (minute - x) * (mb - y), 0);
  return (60 * covariance) / samples.reduce((sum, [minute]) => sum + (minute - x) ** 2, 0);
}

const samples: (Memory & { readonly minute: number })[] = [];
const startedAt = performance.now();
for (let n = 0, minute = 0; minute < minutes; n += 1) {
  void request(n);
  await pause(1_000 / Number(minute < warmUpMinutes ? values['warm-up-rate'] : values.rate));
  const passed = (performance.now() - startedAt) / 60_000;
  if (passed < minute + 1) continue;
  minute += 1;
  const memory = await readMemory();
  samples.push({ minute: passed, ...memory });
  const mb = (what: keyof Memory) => memory[what].toFixed(1);
  console.log(
    `${minute} min: heap ${memory.heap.toFixed(2)} MB (code ${memory.code.toFixed(2)}) of ${mb('committed')} (young ${mb('young')}), external ${mb('external')} MB, ` +
      `resident ${mb('rss')} MB, ${sent} requests, ${failed} failed`,
  );
  if (snapshotMinutes.includes(minute)) server.signal('SIGURG');
}
const settledHeap = samples
  .filter(({ minute }) => minute > minutes / 2)
  .map(({ minute, heap, code }) => [minute, heap - code]);
if (settledHeap.length > 2)
  reportFigure({
    subject: 'heap without code, growth an hour',
    unit: 'MB',
    measured: slope(settledHeap as [number, number][]),
    asked: 1,
  });
for (const from of [warmUpMinutes, minutes / 2]) {
  const settled = samples.filter(({ minute }) => minute > from);
  if (settled.length < 3) continue;
  for (const what of ['heap', 'code', 'external', 'rss'] as const) {
    const mbAnHour = slope(settled.map((sample) => [sample.minute, sample[what]]));
    console.log(`${what} after ${from} minutes: ${mbAnHour.toFixed(2)} MB an hour`);
  }
  const objects = slope(settled.map(({ minute, heap, code }) => [minute, heap - code]));
  console.log(`heap without code after ${from} minutes: ${objects.toFixed(2)} MB an hour`);
}

await server.stop();
await sandbox.stop();
await postgres?.stop();
rmSync(folder, { recursive: true, force: true });
