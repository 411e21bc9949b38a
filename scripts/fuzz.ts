/**
 * `npm run fuzz`: sends generated requests to every endpoint of the real service, in chunks with their own service and
 * database. Prints findings that no chunk may have: statuses from 500, wrong envelopes, event loop turns above 250 ms
 * of CPU time.
 *
 * `npm run fuzz -- --requests 2000000 --seed 7 --database sqlite`. Results of each chunk are stored in out/fuzz, so
 * that a stopped run continues where it was; a failing chunk can be repeated alone with the seed it prints.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    /** In total, over all chunks. */
    requests: { type: 'string', default: '2000000' },
    chunk: { type: 'string', default: '25000' },
    seed: { type: 'string', default: '1' },
    /** By default every fourth chunk runs on PostgreSQL. */
    database: { type: 'string', default: 'both' },
  },
});

interface ChunkResult {
  readonly chunk: number;
  readonly seed: number;
  readonly requests: number;
  readonly seconds: number;
  readonly database: string;
  readonly statuses: Readonly<Record<string, number>>;
  readonly upstreamFailures: number;
  readonly failures: readonly string[];
  readonly stalls: readonly string[];
  readonly longestTurnMs: number;
  readonly longestWaitMs: number;
}

const root = join(import.meta.dirname, '..');
const folder = join(root, 'out', 'fuzz');
const chunkSize = Number(values.chunk);
const chunks = Math.ceil(Number(values.requests) / chunkSize);
const log = join(folder, `${values.database}-${values.seed}-${chunkSize}.jsonl`);
mkdirSync(folder, { recursive: true });

const databaseOf = (chunk: number): string =>
  values.database === 'both' ? (chunk % 4 === 3 ? 'postgres' : 'sqlite') : values.database;

/** A chunk stopped together with the run is repeated by the next run. */
let running: ChildProcess | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    running?.kill('SIGTERM');
    process.exit(130);
  });

async function runChunk(chunk: number): Promise<ChunkResult> {
  const seed = Number(values.seed) * 100_000 + chunk;
  const report = join(folder, `report-${seed}.json`);
  const startedAt = performance.now();
  const child = spawn(process.execPath, [join(root, 'test', 'fuzz', 'fuzz-service-chunk.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      WITHOUT_TEST_RUNNER: '1',
      NODE_COMPILE_CACHE: join(root, 'out', 'compile-cache'),
      FUZZ_REQUESTS: String(chunkSize),
      FUZZ_SEED: String(seed),
      FUZZ_DATABASE: databaseOf(chunk),
      FUZZ_REPORT: report,
    },
  });
  running = child;
  const output: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => output.push(piece));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) console.log(Buffer.concat(output).toString().slice(0, 20_000));
  const found = existsSync(report)
    ? (JSON.parse(readFileSync(report, 'utf8')) as ChunkResult)
    : { requests: 0, statuses: {}, upstreamFailures: 0, failures: [], stalls: [], longestTurnMs: 0, longestWaitMs: 0 };
  rmSync(report, { force: true });
  const failures = code === 0 || found.failures.length + found.stalls.length > 0 ? found.failures : [`exit ${code}`];
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  return { ...found, failures, chunk, seed, seconds, database: databaseOf(chunk) };
}

const results: ChunkResult[] = existsSync(log)
  ? readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as ChunkResult)
  : [];
for (let chunk = results.length; chunk < chunks; chunk++) {
  const result = await runChunk(chunk);
  results.push(result);
  appendFileSync(log, `${JSON.stringify(result)}\n`);
  const { requests, seconds, database, failures, stalls, seed, longestTurnMs } = result;
  console.log(
    `chunk ${chunk + 1} of ${chunks} (${database}, seed ${seed}): ${requests} requests in ${seconds} s, ` +
      `${failures.length} failures, ${stalls.length} stalls, longest turn ${longestTurnMs} ms`,
  );
}

const sum = (of: (result: ChunkResult) => number): number => results.reduce((total, each) => total + of(each), 0);
const statuses: Record<string, number> = {};
for (const result of results)
  for (const [status, count] of Object.entries(result.statuses)) statuses[status] = (statuses[status] ?? 0) + count;
const failures = sum((each) => each.failures.length);
const stalls = sum((each) => each.stalls.length);
console.log(`${sum((each) => each.requests)} requests:`, statuses);
console.log(`${sum((each) => each.upstreamFailures)} statuses from 500 tell of an upstream that is not there.`);
console.log(
  `${failures} failures, ${stalls} stalls; the longest turn took ${Math.max(0, ...results.map((each) => each.longestTurnMs))} ms.`,
);
process.exitCode = failures + stalls > 0 ? 1 : 0;
