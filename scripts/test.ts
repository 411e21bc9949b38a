/**
 * `npm test`: runs every *.test.ts of src/, importer/ and test/, a dozen files in one process, with one private
 * PostgreSQL.
 * `npm test -- quota faults` runs the files whose path contains one of the words.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { findProgramBundle } from '../bin/find-program-bundle.js';
import { FIXTURE_BUNDLE } from '../test/fixture-programs.ts';
import { killOrphanProcesses, RUN_ID_VARIABLE } from './testing/kill-orphan-processes.ts';
import { groupTestFiles, listTestFiles } from './testing/list-test-files.ts';
import { type FileResult, runTestGroup, type TestRun } from './testing/run-test-group.ts';
import { startSharedDatabases } from './testing/start-shared-databases.ts';
import { createTemporaryFolder } from './testing/temporary-folder.ts';
import { SERVER_BUNDLE, writeBundle } from './write-bundle.ts';

/** More failed files than this indicate a broken build and are not rerun. `npm run hammer` sets 0. */
const MAX_RERUN_FILES = Number(process.env['TEST_RERUN_FILES'] ?? '3');
/** One more than the number of cores, because files wait for timers and child processes about a third of the time. */
const CONCURRENT_FILES = availableParallelism() + 1;
/** Limit while cores are idle nevertheless, as many files wait for timers most of the time. */
const MAX_CONCURRENT_FILES = 3 * availableParallelism() + 1;
/** Memory that one more group needs: files with a browser use the most. */
const GROUP_MEMORY = 1024 ** 3;
const IDLE_CHECK_MS = 2_000;
/** Set by `npm run hammer`, whose tests take minutes per database: both databases run concurrently. */
const isSplit = Boolean(process.env['TEST_SPLIT']);

/** The databases of a split run; `npm run hammer -- --database sqlite` runs one. */
const splitDatabases = (['postgres', 'sqlite'] as const).filter((name) => (process.env.TEST_DATABASE ?? name) === name);

const root = join(import.meta.dirname, '..');
const { positionals: words } = parseArgs({ allowPositionals: true });
const files = listTestFiles(root, words);
if (files.length === 0) {
  console.error(`No test file's path contains ${words.join(' or ')}.`);
  process.exit(1);
}

const startedAt = performance.now();
process.env[RUN_ID_VARIABLE] = `${process.pid}-${Date.now()}`;
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort());

// Tests start these programs hundreds of times; a bundle starts three times as fast.
for (const { programs, folder } of [SERVER_BUNDLE, FIXTURE_BUNDLE])
  if (findProgramBundle(root, `${folder}/manifest.json`) === undefined) await writeBundle({ root, programs, folder });
const temporary = createTemporaryFolder();
process.env.TMPDIR = temporary.path;
const services = await startSharedDatabases();
Object.assign(process.env, services.environment);
// Shared by all files, so that Node strips and compiles common code only once.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'out', 'compile-cache');

const usesBothDatabases = (path: string): boolean =>
  /\bfor(?:Each|One)Database\(/.test(readFileSync(join(root, path), 'utf8'));
const queue: TestRun[] = isSplit
  ? files.flatMap((path): TestRun[] =>
      usesBothDatabases(path) ? splitDatabases.map((database) => ({ paths: [path], database })) : [{ paths: [path] }],
    )
  : groupTestFiles(root, files).map((paths) => ({ paths }));
const planned = queue.reduce((sum, { paths }) => sum + paths.length, 0);
const resultsByName = new Map<string, FileResult>();
function record(result: FileResult): void {
  resultsByName.set(result.name, result);
  printFile(result);
}
let running = 0;
/** @param most groups to run */
async function work(most = Number.POSITIVE_INFINITY): Promise<void> {
  running += 1;
  for (let done = 0; done < most && !stop.signal.aborted; done++) {
    const next = queue.shift();
    if (next === undefined) break;
    await runTestGroup(root, next, stop.signal, record);
  }
  running -= 1;
}

/** Runs all groups; while a quarter of a core is idle, one more group than otherwise. */
async function runAll(): Promise<void> {
  const readIdleCores = idleCores();
  const extra: Promise<void>[] = [];
  const timer = setInterval(() => {
    const hasRoom = readIdleCores() > 0.25 && process.availableMemory() > GROUP_MEMORY;
    if (hasRoom && running < MAX_CONCURRENT_FILES && queue.length > 0) extra.push(work(1));
  }, IDLE_CHECK_MS);
  await Promise.all(Array.from({ length: CONCURRENT_FILES }, () => work()));
  clearInterval(timer);
  await Promise.all(extra);
}

/**
 * Reruns the few failed files alone: a timeout on a busy machine then passes, a defect fails again.
 *
 * @returns the first results of files that passed the second time
 */
async function rerunFailed(): Promise<FileResult[]> {
  const failed = [...resultsByName.values()].filter(hasFailed);
  if (failed.length > MAX_RERUN_FILES) return [];
  const passed: FileResult[] = [];
  for (const first of failed) {
    if (stop.signal.aborted) break;
    await runTestGroup(root, { ...first.run, isRepeat: true }, stop.signal, record);
    const second = resultsByName.get(first.name);
    if (second !== undefined && !hasFailed(second)) passed.push(first);
  }
  return passed;
}

let unstable: FileResult[] = [];
try {
  await runAll();
  unstable = await rerunFailed();
} finally {
  await services.stop();
}
const orphans = await killOrphanProcesses();
temporary.remove();

const results = [...resultsByName.values()];
const failed = results.filter(hasFailed);
const skips = results.flatMap(({ name, skips: own }) => own.map((skip) => `${name}  ${skip}`));
const slowest = results.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, 10);
printList(
  'Slowest files',
  slowest.map(({ name, durationMs }) => `${seconds(durationMs)}  ${name}`),
);
printList('Skipped', skips);
printList('Unstable: failed, then passed when rerun alone', unstable.map(failuresOf));
printList('Failed', failed.map(failuresOf));
printList('Orphaned processes, killed', orphans);
const missing = planned - results.length;
if (missing > 0) console.log(`\nInterrupted: ${missing} files were not run.`);
const sum = (key: 'tests' | 'passed' | 'failed'): number => results.reduce((total, result) => total + result[key], 0);
console.log(`\nℹ files ${results.length}\nℹ tests ${sum('tests')}\nℹ pass ${sum('passed')}\nℹ fail ${sum('failed')}`);
console.log(`ℹ skipped ${skips.length}\nℹ duration_ms ${Math.round(performance.now() - startedAt)}`);

const isUnproven = Boolean(process.env['CI']) && skips.length > 0;
if (isUnproven) console.error(`CI allows no skipped test; ${skips.length} did not run.`);
process.exitCode = missing > 0 || stop.signal.aborted || failed.length > 0 || isUnproven ? 1 : 0;

function hasFailed({ failed: count }: FileResult): boolean {
  return count > 0;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/**
 * Prints one line for a file that passed and the full report of one that failed. Hammer prints every report in full,
 * because long tests write counts.
 */
function printFile(result: FileResult): void {
  const mark = hasFailed(result) ? styleText('red', '✖') : styleText('green', '✔');
  const skipped = result.skips.length > 0 ? `  ${result.skips.length} skipped` : '';
  console.log(`${mark} ${result.name}  ${result.tests} tests${skipped}  ${seconds(result.durationMs)}`);
  if (hasFailed(result) || isSplit) console.log(result.report.slice(-20_000));
}

/** Repeats the failures at the end of the run, because often only the end of a log is kept. */
function failuresOf({ name, report }: FileResult): string {
  return `${name}\n${report.slice(Math.max(0, report.lastIndexOf('failing tests:'))).slice(0, 4_000)}`;
}

function printList(title: string, lines: readonly string[]): void {
  if (lines.length > 0) console.log(`\n${title} (${lines.length})\n${lines.map((line) => `  ${line}`).join('\n')}`);
}

/** Returns a function that tells how many cores of the machine were idle on average since its previous call. */
function idleCores(): () => number {
  let before = sumTimes();
  return () => {
    const now = sumTimes();
    const [idle, all] = [now.idle - before.idle, now.all - before.all];
    before = now;
    return all === 0 ? 0 : (idle / all) * cpus().length;
  };
}

function sumTimes(): { readonly idle: number; readonly all: number } {
  let [idle, all] = [0, 0];
  for (const { times } of cpus()) {
    idle += times.idle;
    all += times.idle + times.user + times.nice + times.sys + times.irq;
  }
  return { idle, all };
}
