import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CLI_OAUTH_CLIENT } from '../src/contract/device-auth.ts';
import { newUserCode } from '../src/server/device-auth/codes.ts';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import { hashToken, randomText } from '../src/server/platform/tokens.ts';
import type { Tables } from '../src/server/tables.ts';
import { type Process, startScript } from './support/child-processes.ts';
import { type LoadResult, load } from './support/http-load.ts';
import { cpuSeconds } from './support/process-cpu-and-memory.ts';

/**
 * Device codes and polls of pending codes, compared with npm oidc-provider (memory adapter) and better-auth's device
 * plugin on SQLite: `cd bench && npm ci && cd .. && node bench/device-auth.ts [--seconds 5] [--connections 64]`.
 * Reelgate runs on SQLite with synchronous=FULL, and each code is durable before the response is sent. One process
 * each, sequentially.
 */
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '5' }, connections: { type: 'string', default: '64' } },
});
const seconds = Number(values.seconds);
const connections = Number(values.connections);
/** Enough codes to poll in turn that no poll is early enough to be answered with `slow_down`. */
const CODES = 4_000;
const PENDING = 100_000;

interface Rival {
  readonly name: string;
  start(): Promise<Process & { readonly folder?: string }>;
  code(index: number): Request;
  poll(deviceCode: string, index: number): Request;
}

interface Request {
  readonly method: 'POST';
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

const json = (path: string, body: unknown, headers: Record<string, string> = {}): Request => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});
const form = (path: string, body: Record<string, string>): Request => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams(body).toString(),
});

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const OIDC = { client_id: 'bench', client_secret: 'bench-secret-0123456789' };
const client = { client_id: CLI_OAUTH_CLIENT.id, client_secret: CLI_OAUTH_CLIENT.secret };
const script = (name: string) => () => startScript(new URL(`rivals/${name}.ts`, import.meta.url).pathname);

/** Starts Reelgate in a process without device code limits, which the ordinary server always has. */
async function startOurs(): Promise<Process & { readonly folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'reelgate-bench-'));
  const program = new URL('../test/faults/device-auth-server.fixture.ts', import.meta.url).pathname;
  const running = await startScript(program, {
    PORT: '0',
    DATABASE_URL: `sqlite:${join(folder, 'bench.db')}`,
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    ADMIN_PASSWORD: 'bench-password-1',
    LOG_LEVEL: 'warn',
  });
  return { ...running, folder };
}

const rivals: readonly Rival[] = [
  {
    name: 'reelgate',
    start: startOurs,
    code: () => json('/api/auth/device/code', { client_id: client.client_id }),
    poll: (device_code) => json('/api/auth/device/token', { device_code, ...client }),
  },
  {
    name: 'oidc-provider, in memory',
    start: script('oidc-provider'),
    code: () => form('/device/auth', { ...OIDC, scope: 'openid' }),
    poll: (device_code) => form('/token', { grant_type: GRANT, device_code, ...OIDC }),
  },
  {
    name: 'better-auth, SQLite',
    start: script('better-auth'),
    code: () => json('/api/auth/device/code', { client_id: 'bench' }),
    poll: (device_code) => json('/api/auth/device/token', { grant_type: GRANT, device_code, client_id: 'bench' }),
  },
];

/** Creates codes to poll, 64 at a time. */
async function makeCodes(rival: Rival, origin: string, most: number): Promise<string[]> {
  const codes: string[] = [];
  const endsAt = performance.now() + 20_000;
  const worker = async (): Promise<void> => {
    while (codes.length < most && performance.now() < endsAt) {
      const { path, ...request } = rival.code(codes.length);
      const answer = (await (await fetch(origin + path, request)).json()) as {
        device_code?: string;
        data?: { device_code: string };
      };
      codes.push(answer.data?.device_code ?? answer.device_code ?? '');
    }
  };
  await Promise.all(Array.from({ length: 64 }, worker));
  if (codes.includes('')) throw new Error(`${rival.name} gave no code`);
  return codes;
}

/** A measured load with the server's CPU time per request, which hardly depends on other load on the machine. */
interface Measured extends LoadResult {
  readonly cpuMicros: number;
}

/** Runs the same load twice: the first run warms up the process, the second is measured. */
async function measure(running: Process, request: (index: number) => Request): Promise<Measured> {
  const run = () => load({ origin: running.origin, connections, seconds, expect: [200, 400], request });
  await run();
  const before = cpuSeconds(running.pid);
  const result = await run();
  return { ...result, cpuMicros: ((cpuSeconds(running.pid) - before) / result.requests) * 1e6 };
}

const pollAll = (rival: Rival, running: Process, codes: readonly string[]): Promise<Measured> =>
  measure(running, (index) => rival.poll(codes[index % codes.length] ?? '', index));

/** Inserts pending records, in addition to the polled ones, directly into the tables. */
async function addPending(folder: string): Promise<void> {
  const database = openDatabase<Tables>(`sqlite:${join(folder, 'bench.db')}`);
  const now = Date.now();
  for (let done = 0; done < PENDING; done += 1_000) {
    const rows = Array.from({ length: 1_000 }, () => ({
      device_code_hash: hashToken(randomText(32)),
      user_code: newUserCode(),
      client_id: client.client_id,
      client_name: 'Bench',
      device_id: randomText(20),
      address: '192.0.2.1',
      network: '192.0.2.1',
      user_agent: 'bench',
      status: 'pending' as const,
      created_at: now,
      expires_at: now + 600_000,
      interval_seconds: 5,
      sweep_at: now + 86_400_000,
    }));
    await database.kysely
      .insertInto('device_codes')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  await database.close();
}

const rows: string[] = [];
const report = (name: string, what: string, result: Measured): void => {
  const { perSecond, p50Ms, p99Ms, cpuMicros, failures, firstFailure } = result;
  rows.push(
    `| ${name} | ${what} | ${Math.round(perSecond)} | ${p50Ms.toFixed(1)} | ${p99Ms.toFixed(1)} | ${Math.round(cpuMicros)} |`,
  );
  if (failures > 0) rows.push(`| | ${failures} failed: ${firstFailure} | | | | |`);
};

for (const rival of rivals) {
  const running = await rival.start();
  report(rival.name, 'make a code', await measure(running, rival.code));
  const codes = await makeCodes(rival, running.origin, CODES);
  report(rival.name, 'poll a pending code', await pollAll(rival, running, codes));
  if (running.folder !== undefined) {
    await addPending(running.folder);
    report(rival.name, `poll beside ${PENDING} more`, await pollAll(rival, running, codes));
  }
  await running.stop();
}
process.stdout.write(
  `| | | requests/s | p50 ms | p99 ms | CPU µs a request |\n|---|---|---|---|---|---|\n${rows.join('\n')}\n`,
);
