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
import { cpuSeconds } from './support/process-usage.ts';
import { median, spreadOf } from './support/quantile.ts';
import { reportFigure } from './support/report-figure.ts';
import { warmUp } from './support/warm-up.ts';

/**
 * Device codes and polls of pending codes beside npm oidc-provider (memory adapter) and better-auth's device plugin on
 * SQLite, in alternating rounds: `cd bench && npm ci && cd .. && node bench/device-auth.ts [--seconds 4] [--rounds 3]
 * [--connections 64]`. Reelgate runs on SQLite with synchronous=FULL, and each code is durable before the response is
 * sent. The later rounds repeat the load beside 100,000 pending codes of the same address.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
  },
});
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);
const connections = Number(values.connections);
/**
 * Load before each measured window: during the others' turns V8 drops code compiled for shapes whose last object was
 * collected. A lead-in of four seconds measured its compiler.
 */
const leadIn = seconds * 2;
const PENDING = 100_000;
/** The address of the load generator, whose codes are counted. */
const NETWORK = '127.0.0.1';

interface Rival {
  readonly name: string;
  /** Codes to poll in turn: enough that ours are not refused as a flood, and no more than oidc-provider keeps. */
  readonly codes: number;
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
    name: 'Reelgate',
    codes: 4_000,
    start: startOurs,
    code: () => json('/api/auth/device/code', { client_id: client.client_id }),
    poll: (device_code) => json('/api/auth/device/token', { device_code, ...client }),
  },
  {
    name: 'oidc-provider in memory',
    codes: 300,
    start: script('oidc-provider'),
    code: () => form('/device/auth', { ...OIDC, scope: 'openid' }),
    poll: (device_code) => form('/token', { grant_type: GRANT, device_code, ...OIDC }),
  },
  {
    name: 'better-auth, SQLite',
    codes: 300,
    start: script('better-auth'),
    code: () => json('/api/auth/device/code', { client_id: 'bench' }),
    poll: (device_code) => json('/api/auth/device/token', { grant_type: GRANT, device_code, client_id: 'bench' }),
  },
];

/** Creates the codes to poll, and checks that polls find them. */
async function makeCodes(rival: Rival, origin: string): Promise<string[]> {
  const codes: string[] = [];
  const send = async ({ path, ...request }: Request) => (await fetch(origin + path, request)).json();
  const worker = async (): Promise<void> => {
    while (codes.length < rival.codes) {
      const answer = (await send(rival.code(codes.length))) as { device_code?: string; data?: { device_code: string } };
      codes.push(answer.data?.device_code ?? answer.device_code ?? '');
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  const { error } = (await send(rival.poll(codes[0] ?? '', 0))) as { error?: string };
  if (error !== 'authorization_pending') throw new Error(`${rival.name} answered a poll with ${error}`);
  return codes;
}

/** A load with the server's CPU time per request, which hardly depends on other load on the machine. */
interface Measured extends LoadResult {
  readonly cpuMicros: number;
}

async function measure(running: Process, request: (index: number) => Request, leadIn = 0): Promise<Measured> {
  const target = { origin: running.origin, connections, expect: [200, 400], request };
  if (leadIn > 0) await load({ ...target, seconds: leadIn });
  const before = cpuSeconds(running.pid);
  const result = await load({ ...target, seconds });
  if (result.failures > 0) throw new Error(`${result.failures} failed: ${result.firstFailure}`);
  return { ...result, cpuMicros: ((cpuSeconds(running.pid) - before) / result.requests) * 1e6 };
}

/** Inserts pending codes of the load generator's address directly into the tables. */
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
      address: NETWORK,
      network: NETWORK,
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
  await database.kysely
    .updateTable('device_code_counts')
    .set((row) => ({ codes: row('codes', '+', PENDING) }))
    .where('network', '=', NETWORK)
    .execute();
  await database.close();
}

const KINDS = ['codes', 'polls'] as const;
type Kind = (typeof KINDS)[number];
/** The required multiple of oidc-provider's rate. */
const ASKED: Readonly<Record<Kind, number>> = { codes: 1, polls: 1.5 };

/** The rounds of every rival, by its name and the kind of request. */
type Rounds = ReadonlyMap<string, Readonly<Record<Kind, Measured[]>>>;

async function runRounds(running: ReadonlyMap<Rival, Process>, count: number): Promise<Rounds> {
  const results = new Map(
    [...running.keys()].map(({ name }) => [name, { codes: [] as Measured[], polls: [] as Measured[] }]),
  );
  for (let round = 0; round < count; round++)
    for (const [rival, process] of running) {
      results.get(rival.name)?.codes.push(await measure(process, rival.code, leadIn));
      const codes = await makeCodes(rival, process.origin);
      const poll = (index: number) => rival.poll(codes[index % codes.length] ?? '', index);
      results.get(rival.name)?.polls.push(await measure(process, poll, leadIn));
    }
  return results;
}

function report(results: Rounds, situation: string): void {
  const of = (name: string, kind: Kind, figure: keyof Measured): number[] =>
    (results.get(name)?.[kind] ?? []).map((round) => Number(round[figure]));
  for (const kind of KINDS) {
    for (const name of results.keys()) {
      const at = (figure: keyof Measured): number => median(of(name, kind, figure));
      const cells = [at('perSecond').toFixed(0), at('p99Ms').toFixed(1), at('cpuMicros').toFixed(0)];
      process.stdout.write(`| ${name} | device ${kind}${situation} | ${cells.join(' | ')} |\n`);
    }
    const [ours, theirs] = rivals.map(({ name }) => of(name, kind, 'perSecond'));
    const ratios = (ours ?? []).map((rate, round) => rate / (theirs?.[round] ?? Number.NaN));
    reportFigure({
      subject: `device ${kind}${situation}`,
      unit: '×',
      measured: median(ratios),
      asked: ASKED[kind],
      peer: "of oidc-provider's rate in memory",
      spread: spreadOf(ratios),
    });
    const cpu = of('Reelgate', kind, 'cpuMicros');
    reportFigure({
      subject: `device ${kind}${situation}, CPU`,
      unit: 'µs',
      measured: median(cpu),
      asked: median(of('oidc-provider in memory', kind, 'cpuMicros')),
      peer: 'oidc-provider',
      spread: spreadOf(cpu),
    });
  }
}

const running = new Map<Rival, Process & { readonly folder?: string }>();
for (const rival of rivals) running.set(rival, await rival.start());
try {
  for (const [rival, process] of running) {
    await warmUp(async () => (await measure(process, rival.code)).cpuMicros);
    const codes = await makeCodes(rival, process.origin);
    await warmUp(
      async () => (await measure(process, (index) => rival.poll(codes[index % codes.length] ?? '', index))).cpuMicros,
    );
  }
  process.stdout.write('| | | requests/s | p99 ms | CPU µs |\n|---|---|---|---|---|\n');
  report(await runRounds(running, rounds), '');
  for (const { folder } of running.values()) if (folder !== undefined) await addPending(folder);
  report(await runRounds(running, rounds), ` beside ${PENDING.toLocaleString('en-US')} pending`);
} finally {
  for (const process of running.values()) await process.stop();
}
