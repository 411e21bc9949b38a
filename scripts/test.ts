/**
 * `npm test`: every *.test.ts of src/ and test/, each file in its own process, two at a time, over one private PostgreSQL.
 * `npm test -- quota faults` runs the files whose path holds one of the words.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { endLeftovers, RUN_MARK } from './testing/leftovers.ts';
import { listTestFiles } from './testing/list-files.ts';
import { printFile, printSummary } from './testing/report.ts';
import { addCounts, type FileResult, NO_COUNTS, runTestFile } from './testing/run-file.ts';
import { startServices } from './testing/services.ts';

const CONCURRENT_FILES = 2;

const { positionals: words } = parseArgs({ allowPositionals: true });
const root = join(import.meta.dirname, '..');
const files = listTestFiles(root, words);
if (files.length === 0) {
  console.error(`No test file's path holds ${words.join(' or ')}.`);
  process.exit(1);
}

const startedAt = performance.now();
process.env[RUN_MARK] = `${process.pid}-${Date.now()}`;
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort());

const services = await startServices();
Object.assign(process.env, services.environment);

const results: FileResult[] = [];
const queue = [...files];
async function work(): Promise<void> {
  for (let path = queue.shift(); path !== undefined && !stop.signal.aborted; path = queue.shift()) {
    const result = await runTestFile(root, path, stop.signal);
    results.push(result);
    printFile(result);
  }
}

try {
  await Promise.all(Array.from({ length: CONCURRENT_FILES }, work));
} finally {
  await services.stop();
}
const leftovers = await endLeftovers();

const counts = results.reduce((sum, result) => addCounts(sum, result.counts), NO_COUNTS);
const isComplete = results.length === files.length;
printSummary({ results, counts, leftovers, notRun: queue, durationMs: performance.now() - startedAt });

const unproven = counts.skipped + counts.todo;
const isCi = Boolean(process.env['CI']);
if (isCi && unproven > 0) console.error(`CI allows no skipped test; ${unproven} did not run.`);
process.exitCode = isComplete && counts.failed + counts.cancelled === 0 && !(isCi && unproven > 0) ? 0 : 1;
