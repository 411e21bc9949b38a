import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { median } from '../bench/support/quantile.ts';
import { AdminClient } from './admin-client.ts';
import { type CrashingServer, startCrashingServer } from './faults/start-crashing-server.ts';

const BYTES = 30_000_000;
const fill = (opening: string, piece: string, closing: string): Buffer =>
  Buffer.concat([
    Buffer.from(opening),
    Buffer.alloc(BYTES - opening.length - closing.length - (BYTES % piece.length), piece),
    Buffer.from(closing),
  ]);
const HEAD = '{"model":"sora-2","prompt":"x","messages":[1],"input":"x"';

/** Bodies of 30 MB, each expensive to parse in its own way; nearly all of them are valid JSON. */
const SHAPES: Readonly<Record<string, () => Buffer>> = {
  'wide array': () => fill(`${HEAD},"images":[`, '1,', '1]}'),
  'wide array of texts': () => fill(`${HEAD},"images":[`, '"a",', '"a"]}'),
  'array of empty objects': () => fill(`${HEAD},"images":[`, '{},', '{}]}'),
  'wide object': () => fill(`${HEAD},"metadata":{`, '"k":1,', '"k":1}}'),
  'duplicate members': () => fill(`${HEAD},`, '"image":"x",', '"image":"x"}'),
  'long name': () => fill(`${HEAD},"`, 'k', '":1}'),
  nested: () => fill(`${HEAD},"images":`, '[', ']'),
  'one number': () => fill(`${HEAD},"duration":`, '1', '}'),
  'many numbers': () => fill(`${HEAD},"images":[`, '1e9,', '1]}'),
  'one text': () => fill(`${HEAD},"image":"`, 'A', '"}'),
  'text of escapes': () => fill(`${HEAD},"image":"`, '\\u0041', '"}'),
  'text of quotes': () => fill(`${HEAD},"image":"`, '\\"', '"}'),
  'text of other scripts': () => fill(`${HEAD},"image":"`, 'é', '"}'),
  blanks: () => fill(`${HEAD}`, ' ', '}'),
};

const PATHS = [
  '/v1/video/generations',
  '/v1/videos',
  '/v1/chat/completions',
  '/v1/responses',
  '/v1/messages',
  '/v1beta/models/sora-2:generateContent',
  '/v1/embeddings',
  '/v1/images/generations',
  '/kling/v1/videos/text2video',
  '/kling/native/v1/videos/text2video',
  '/jimeng/?Action=CVSync2AsyncSubmitTask&Version=2022-08-31',
  '/jimeng/native/?Action=CVSync2AsyncSubmitTask&Version=2022-08-31',
  '/api/videos',
  '/api/videos/quote',
  '/api/user/login',
  '/no/such/path',
] as const;

/** Bodies that are received completely or almost so before they are rejected. */
const HEAVIEST = ['one text', 'text of other scripts', 'wide array of texts', 'blanks'] as const;

/** Each body goes to every fourth path, starting at a different one. */
const PATH_GROUPS = 4;

const CPU_SECONDS_AT_MOST = 1;
/**
 * Raised to twice the time that one text of this size takes on this machine if that is longer: such a text cannot be
 * created in pieces.
 */
const LOOP_DELAY_MS_AT_MOST = 100;
const MEMORY_MB_AT_MOST = 150;
const AT_ONCE = 8;

/** Seconds of CPU time a process has used (proc(5), fields 14 and 15 in hundredths). */
function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/**
 * Milliseconds of CPU time to create one text of the maximum size in a process without reusable memory: on some virtual
 * machines a fresh page costs fifty times as much as a reused one.
 */
function msOfOneText(): number {
  const program = `
    const bytes = Buffer.alloc(${BYTES}, 'A');
    const before = process.cpuUsage();
    const text = bytes.latin1Slice();
    const { user, system } = process.cpuUsage(before);
    console.log((user + system) / 1_000, text.length);`;
  return median(
    Array.from({ length: 3 }, () =>
      Number.parseFloat(execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' })),
    ),
  );
}

const memoryMbOf = (pid: number, figure: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`${figure}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** T62: a caller with a key but no quota sends bodies of the maximum size. */
describe('hostile bodies of 30 MB', { skip: process.platform === 'linux' ? false : 'needs /proc' }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-bodies-'));
  let service: CrashingServer;
  /** Headers that authenticate a caller: a key, and on the console's paths a session. */
  let key: Record<string, string> = {};
  let session: Record<string, string> = {};
  before(async () => {
    service = await startCrashingServer(`sqlite:${join(folder, 'test.db')}`, {});
    const admin = await new AdminClient(service.baseUrl).signIn();
    await admin.addChannel({
      vendor: 'sora',
      base_url: 'http://127.0.0.1:1',
      credentials: { api_key: 'sk-none' },
      models: ['sora-2'],
    });
    key = { authorization: `Bearer ${await admin.makeToken()}` };
    session = admin.headers;
  });
  after(async () => {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const send = async (path: string, body: Buffer): Promise<number> => {
    const response = await fetch(service.baseUrl + path, {
      method: 'POST',
      headers: { ...(path.startsWith('/api/') ? session : key), 'content-type': 'application/json' },
      body: new Uint8Array(body),
      // Only detects a blocked service: the measure is CPU time, because a busy machine stretches elapsed time.
      signal: AbortSignal.timeout(180_000),
    });
    await response.arrayBuffer();
    return response.status;
  };

  for (const [index, [name, make]] of Object.entries(SHAPES).entries())
    it(`${name}: rejected on every kind of path for little CPU time`, async () => {
      const body = make();
      for (const path of PATHS.filter((_, n) => n % PATH_GROUPS === index % PATH_GROUPS)) {
        const before = cpuSecondsOf(service.pid);
        const status = await send(path, body);
        // 503: a valid body for a model that no channel serves.
        assert.ok((status >= 400 && status < 500) || status === 503, `${path}: ${status}`);
        const seconds = cpuSecondsOf(service.pid) - before;
        assert.ok(seconds < CPU_SECONDS_AT_MOST, `${path}: ${seconds.toFixed(2)} s`);
      }
    });

  it(`${AT_ONCE} at once leave other callers served and memory bounded`, async (t) => {
    const probe = startProbe(service);
    // Measured on a warm process: the code and heap it retains after a few hundred requests of any kind are not growth
    // caused by these.
    const memoryMbBefore = memoryMbOf(service.pid, 'VmRSS');
    for (const name of HEAVIEST) {
      const body = SHAPES[name]?.() ?? Buffer.alloc(0);
      const cpuBefore = cpuSecondsOf(service.pid);
      const begunAt = performance.now();
      await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => send(PATHS[n % 3] ?? '/v1/videos', body)));
      const cpu = cpuSecondsOf(service.pid) - cpuBefore;
      const wall = (performance.now() - begunAt) / 1_000;
      t.diagnostic(`${name}: ${cpu.toFixed(2)} s of CPU time, ${wall.toFixed(2)} s in all`);
      assert.ok(cpu < (AT_ONCE * CPU_SECONDS_AT_MOST) / 2, `${name}: ${cpu.toFixed(2)} s`);
    }
    const grown = memoryMbOf(service.pid, 'VmHWM') - memoryMbBefore;
    const { longestMs, longestWallMs } = await probe.stop();
    const ofOneText = msOfOneText();
    t.diagnostic(
      `${Math.round(grown)} MB more; /livez ${Math.round(longestMs)} ms, ${Math.round(longestWallMs)} by the wall; one text ${Math.round(ofOneText)} ms`,
    );
    assert.ok(grown < MEMORY_MB_AT_MOST, `${Math.round(grown)} MB more`);
    const atMost = Math.max(LOOP_DELAY_MS_AT_MOST, 2 * ofOneText);
    assert.ok(longestMs < atMost, `/livez waited for ${Math.round(longestMs)} ms of work of ${Math.round(atMost)}`);
  });
});

interface Probe {
  stop(): Promise<{ longestMs: number; longestWallMs: number }>;
}

/**
 * Polls `/livez` from a dedicated thread. The measure is the CPU time that the service's main thread used while a
 * request waited (proc(5), schedstat, nanoseconds), because on a busy machine even an idle service answers late.
 */
function startProbe({ baseUrl, pid }: CrashingServer): Probe {
  const worker = new Worker(new URL('./livez-probe.fixture.ts', import.meta.url), { workerData: { baseUrl, pid } });
  const result = once(worker, 'message');
  return {
    async stop() {
      worker.postMessage('stop');
      const [found] = (await result) as [{ longestMs: number; longestWallMs: number }];
      await worker.terminate();
      return found;
    },
  };
}
