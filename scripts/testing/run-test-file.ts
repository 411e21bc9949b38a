import type { TestsStream } from 'node:test';
import { run } from 'node:test';
import type { TestRun } from './list-test-files-and-runs.ts';

export interface Counts {
  tests: number;
  passed: number;
  failed: number;
  cancelled: number;
  skipped: number;
  todo: number;
  suites: number;
}

export const NO_COUNTS: Counts = { tests: 0, passed: 0, failed: 0, cancelled: 0, skipped: 0, todo: 0, suites: 0 };

export function addCounts(a: Counts, b: Counts): Counts {
  return {
    tests: a.tests + b.tests,
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    cancelled: a.cancelled + b.cancelled,
    skipped: a.skipped + b.skipped,
    todo: a.todo + b.todo,
    suites: a.suites + b.suites,
  };
}

export interface FileResult {
  /** With the database, where that is one of two. */
  path: string;
  run: TestRun;
  counts: Counts;
  durationMs: number;
  /** Names are the path of a test inside its file: `refund › runs once`. */
  failures: { name: string; error: unknown }[];
  skips: { name: string; reason: string }[];
  /** Its tests that took longest, suites left out. */
  slowest: { name: string; durationMs: number }[];
  /** What the file wrote; shown where it failed. */
  output: string;
}

export const hasFailed = ({ counts, failures }: FileResult): boolean =>
  failures.length > 0 || counts.failed + counts.cancelled > 0;

/** A test file that has not finished after this time is killed: several times what a slow machine needs. */
const LIMIT_MS = 300_000;
const BATTERY_LIMIT_MS = 900_000;
/** Files that start many processes, a minute of CPU time and more each. */
const BATTERY = /^test\/(browser|faults|flows|operations|upgrades)\//;

/** Runs one file in its own process. Never throws: a crash, a hang and a failed test are all in the result. */
export async function runTestFile(root: string, one: TestRun, stop: AbortSignal): Promise<FileResult> {
  const { path, database } = one;
  const limitMs = (BATTERY.test(path) ? BATTERY_LIMIT_MS : LIMIT_MS) * Number(process.env.TEST_PATIENCE ?? '1');
  const timeUp = AbortSignal.timeout(limitMs);
  const env = database === undefined ? process.env : { ...process.env, TEST_DATABASE: database };
  const events = run({ files: [`${root}/${path}`], cwd: root, env, signal: AbortSignal.any([stop, timeUp]) });
  const result = await readEvents(one, events);
  if (timeUp.aborted) {
    const error = `ended after ${limitMs / 1000} s: a test hangs, or something it opened is still open`;
    result.failures.push({ name: '(the file)', error });
  } else if (stop.aborted) {
    result.failures.push({ name: '(the file)', error: 'ended because the run was stopped' });
  }
  return result;
}

async function readEvents(one: TestRun, events: TestsStream): Promise<FileResult> {
  const result: FileResult = {
    path: one.database === undefined ? one.path : `${one.path} (${one.database})`,
    run: one,
    counts: NO_COUNTS,
    durationMs: 0,
    failures: [],
    skips: [],
    slowest: [],
    output: '',
  };
  const slowest: FileResult['slowest'] = [];
  const trail: string[] = [];
  const nameAt = (nesting: number) => trail.slice(0, nesting + 1).join(' › ');
  const noteSkip = (nesting: number, mark: string | boolean | undefined, word: string) => {
    if (mark === undefined || mark === false) return;
    result.skips.push({
      name: nameAt(nesting),
      reason: mark === true || mark === '' ? `${word} without a reason` : `${mark}`,
    });
  };
  for await (const { type, data } of events) {
    if (type === 'test:start') {
      trail[data.nesting] = data.name;
      trail.length = data.nesting + 1;
    } else if (type === 'test:pass') {
      if (data.details.type !== 'suite')
        slowest.push({ name: nameAt(data.nesting), durationMs: data.details.duration_ms });
      noteSkip(data.nesting, data.skip, 'skipped');
      noteSkip(data.nesting, data.todo, 'todo');
    } else if (type === 'test:fail') {
      const failure = readFailure(data.details.error);
      if (failure !== undefined) result.failures.push({ name: nameAt(data.nesting), error: failure });
    } else if (type === 'test:stdout' || type === 'test:stderr') {
      result.output += data.message;
    } else if (type === 'test:summary' && data.file === undefined) {
      const { passed, failed, cancelled, skipped, todo, suites, tests } = data.counts;
      result.counts = { tests, passed, failed, cancelled, skipped, todo, suites };
      result.durationMs = data.duration_ms;
    }
  }
  result.slowest = slowest.sort((a, b) => b.durationMs - a.durationMs).slice(0, 10);
  return result;
}

/** The cause of a failure; undefined where another entry reports it: the parent of a failed test, or a file that was killed. */
function readFailure(error: Error & { failureType?: string }): unknown {
  return error.failureType === 'subtestsFailed' || error.failureType === 'testAborted'
    ? undefined
    : (error.cause ?? error);
}
