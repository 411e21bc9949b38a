/**
 * `npm test`: every *.test.ts of src/ and test/, each file in its own process, over one private PostgreSQL.
 * `npm test -- quota faults` runs the files whose path contains one of the words. Ends with what took longest.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundlePrograms } from './testing/bundle-programs.ts';
import { readDurations, writeDurations } from './testing/durations.ts';
import { killOrphanProcesses, RUN_ID_VARIABLE } from './testing/kill-orphan-processes.ts';
import { listTestFiles, splitByDatabase, type TestRun } from './testing/list-test-files-and-runs.ts';
import { printFile, printSummary } from './testing/report.ts';
import { addCounts, type FileResult, hasFailed, NO_COUNTS, runTestFile } from './testing/run-test-file.ts';
import { startSharedDatabases } from './testing/start-shared-databases.ts';

/** More failed files than this are a broken build: they are not run again. `npm run hammer` sets 0. */
const MAX_RERUN_FILES = Number(process.env['TEST_RERUN_FILES'] ?? '3');
/** One more than there are cores, since files wait for timers and child processes for about a third of their time. */
const CONCURRENT_FILES = availableParallelism() + 1;

const { positionals: words } = parseArgs({ allowPositionals: true });
const root = join(import.meta.dirname, '..');
const durationsFile = join(root, 'out', 'test-durations.json');
const files = listTestFiles(root, words, readDurations(durationsFile));
if (files.length === 0) {
  console.error(`No test file's path contains ${words.join(' or ')}.`);
  process.exit(1);
}

const startedAt = performance.now();
process.env[RUN_ID_VARIABLE] = `${process.pid}-${Date.now()}`;
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort());

await bundlePrograms(root);
const services = await startSharedDatabases();
Object.assign(process.env, services.environment);
// Every file loads much of the same code: stripped of types and compiled once, it is read from here afterwards.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'out', 'compile-cache');

const results: FileResult[] = [];
/** Set by `npm run hammer`, whose tests take minutes on each database: both at the same time. */
const isSplit = Boolean(process.env['TEST_SPLIT']);
const queue = isSplit ? splitByDatabase(root, files) : files.map((path): TestRun => ({ path }));
const runs = queue.length;
async function work(): Promise<void> {
  for (let next = queue.shift(); next !== undefined && !stop.signal.aborted; next = queue.shift()) {
    const result = await runTestFile(root, next, stop.signal);
    results.push(result);
    printFile(result, isSplit);
  }
}

/**
 * Runs the few failed files again, one at a time and with nothing beside them: a time limit missed on a busy machine passes then, a defect
 * fails again. What passed only then is listed in the summary as unstable, with its first error. `npm run hammer` runs nothing twice.
 */
async function rerunFailed(): Promise<FileResult[]> {
  const failed = results.filter(hasFailed);
  if (failed.length > MAX_RERUN_FILES) return [];
  const unstable: FileResult[] = [];
  for (const first of failed) {
    if (stop.signal.aborted) break;
    const second = await runTestFile(root, first.run, stop.signal);
    printFile(second);
    if (hasFailed(second)) continue;
    unstable.push(first);
    results[results.indexOf(first)] = second;
  }
  return unstable;
}

let unstable: FileResult[] = [];
try {
  await Promise.all(Array.from({ length: CONCURRENT_FILES }, work));
  unstable = await rerunFailed();
} finally {
  await services.stop();
}
const leftovers = await killOrphanProcesses();

writeDurations(durationsFile, results);
const counts = results.reduce((sum, result) => addCounts(sum, result.counts), NO_COUNTS);
const isComplete = results.length === runs;
printSummary({
  results,
  unstable,
  counts,
  orphans: leftovers,
  notRun: queue.map(({ path }) => path),
  durationMs: performance.now() - startedAt,
});

const unproven = counts.skipped + counts.todo;
const isCi = Boolean(process.env['CI']);
if (isCi && unproven > 0) console.error(`CI allows no skipped test; ${unproven} did not run.`);
process.exitCode = isComplete && counts.failed + counts.cancelled === 0 && !(isCi && unproven > 0) ? 0 : 1;
