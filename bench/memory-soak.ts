/**
 * An hour at a low rate: what the memory of the service does. `node bench/memory-soak.ts` on SQLite, `node bench/memory-soak.ts --postgres` on
 * a PostgreSQL of its own; `--minutes 6 --rate 100` for an hour's requests in a tenth of it. Prints a line a minute, then the slopes after the first ten and
 * over the second half. Memory rises and falls with the collections of garbage by more than a leak would show: what is used
 * after a full one, each minute, counts.
 *
 * V8 compiles a function again, with notes about what it is given, after some hundred to ten thousand calls. The first ten minutes get
 * several times the rate (`--warm-up-rate`), or the rare functions of a request reach that within the hour, which looks like a leak.
 *
 * `--snapshots 12,40 --into folder` writes heap snapshots after those minutes, for `compare-heap-snapshots.ts`. They
 * disturb what is measured: V8 forgets compiled functions that rest, and compiles them again.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startSandbox } from '../src/sandbox/sandbox.ts';
import { ALL_SIMULATORS } from '../src/sandbox/simulators.ts';
import { AdminClient } from '../test/admin-client.ts';
import { callModelApi } from '../test/call-model-api.ts';
import { chatBody } from '../test/chat/chat-fixture.ts';
import { addChatModelOf, prepare, VIDEO_MODELS } from '../test/faults/submit-steps-and-assertions.ts';
import { freePort, SERVER, ServerProcess } from '../test/operations/server-process.ts';
import { startPostgres } from '../test/start-postgres.ts';

const { values } = parseArgs({
  options: {
    postgres: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '60' },
    /** Requests a second. */
    rate: { type: 'string', default: '10' },
    /** Requests a second during the first ten minutes, or the first sixth of fewer. */
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
/** Of ten requests one is a video, three are model calls (one of them streamed), the others read. */
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

/** In MB, after a full collection. */
interface Memory {
  readonly rss: number;
  /** Objects of JavaScript's heap. */
  readonly heap: number;
  /** What V8 keeps for the heap, of which a part is free. */
  readonly committed: number;
  /** The part of that in which objects begin: V8 doubles it, up to its maximum, when many of them survive. */
  readonly young: number;
  /** Buffers and what else objects of the heap hold beside it. */
  readonly external: number;
  /** The part of `heap` that is compiled functions: bytecode and machine code. */
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

/** MB an hour, by least squares. */
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
