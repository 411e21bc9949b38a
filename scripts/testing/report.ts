import { inspect, styleText } from 'node:util';
import { type Counts, type FileResult, hasFailed } from './run-test-file.ts';

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const indent = (text: string) => text.replace(/^/gm, '    ');

function toText(error: unknown): string {
  if (typeof error === 'string') return error;
  // The message of a failed assertion holds the difference already.
  if (error instanceof Error && error.name === 'AssertionError') return error.stack ?? error.message;
  return inspect(error, { depth: 6 });
}

/**
 * One line for a file that passed; for one that failed also each failure and what it wrote.
 *
 * @param showsOutput of files that passed, too: long tests write what they counted
 */
export function printFile(result: FileResult, showsOutput = false): void {
  const { counts, path, failures, output } = result;
  const isGood = !hasFailed(result);
  const skipped = counts.skipped + counts.todo;
  const line = [
    path,
    `${counts.tests} tests`,
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    seconds(result.durationMs),
  ];
  console.log(isGood ? `${styleText('green', '✔')} ${line.join('  ')}` : `${styleText('red', '✖')} ${line.join('  ')}`);
  for (const failure of failures) {
    console.log(`  ${styleText('red', failure.name)}\n${indent(toText(failure.error))}`);
  }
  if ((!isGood || showsOutput) && output.trim() !== '')
    console.log(indent(`what it wrote:\n${output.slice(-20_000).trimEnd()}`));
}

export interface Summary {
  results: readonly FileResult[];
  /** First runs of files that passed when run again alone. */
  unstable: readonly FileResult[];
  counts: Counts;
  /** Commands of processes that had to be ended after the run. */
  orphans: readonly string[];
  /** Files that the interrupted run did not reach. */
  notRun: readonly string[];
  durationMs: number;
}

const MAX_ERROR_LENGTH = 2000;
/** How many files and tests are listed as the slowest. */
const SLOWEST = 10;

/** The whole run. The last lines are those of node's own runner, which tools read. */
export function printSummary({ results, unstable, counts, orphans, notRun, durationMs }: Summary): void {
  const bySlowness = results.toSorted((a, b) => b.durationMs - a.durationMs);
  printList(
    'Slowest files',
    bySlowness.slice(0, SLOWEST).map((result) => `${seconds(result.durationMs)}  ${result.path}`),
  );
  const tests = results.flatMap(({ path, slowest }) => slowest.map((test) => ({ path, ...test })));
  tests.sort((a, b) => b.durationMs - a.durationMs);
  printList(
    'Slowest tests',
    tests.slice(0, SLOWEST).map(({ path, name, durationMs }) => `${seconds(durationMs)}  ${path}  ${name}`),
  );
  printList(
    'Skipped',
    results.flatMap((result) => result.skips.map((skip) => `${result.path}  ${skip.name}: ${skip.reason}`)),
  );
  // With their errors once more: the log of a whole run is often kept by its end only.
  printList('Unstable: failed, and passed when run again alone', unstable.flatMap(listFailures));
  printList('Failed', results.flatMap(listFailures));
  printList('Left running and ended now', orphans);
  if (notRun.length > 0) console.log(`\nInterrupted: ${notRun.length} files were not run.`);
  console.log();
  console.log(`ℹ files ${results.length}`);
  console.log(`ℹ tests ${counts.tests}`);
  console.log(`ℹ suites ${counts.suites}`);
  console.log(`ℹ pass ${counts.passed}`);
  console.log(`ℹ fail ${counts.failed}`);
  console.log(`ℹ cancelled ${counts.cancelled}`);
  console.log(`ℹ skipped ${counts.skipped}`);
  console.log(`ℹ todo ${counts.todo}`);
  console.log(`ℹ duration_ms ${Math.round(durationMs)}`);
}

const listFailures = ({ path, failures }: FileResult): string[] =>
  failures.map(({ name, error }) => `${path}  ${name}\n${indent(toText(error).slice(0, MAX_ERROR_LENGTH))}`);

function printList(title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  console.log(`\n${title} (${lines.length})`);
  for (const line of lines) console.log(`  ${line}`);
}
