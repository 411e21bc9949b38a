import { run } from 'node:test';
import { spec as Spec } from 'node:test/reporters';

/** One process: a file, restricted to one database if `npm run hammer` runs both concurrently. */
export interface TestRun {
  readonly path: string;
  readonly database?: 'sqlite' | 'postgres';
}

/** Result of one test file. */
export interface FileResult {
  readonly name: string;
  readonly run: TestRun;
  readonly tests: number;
  readonly passed: number;
  readonly failed: number;
  /** Skipped and todo tests with their reasons. */
  readonly skips: readonly string[];
  readonly durationMs: number;
  /** Text of Node's own reporter, which ends with the failures and includes the file's output. */
  readonly report: string;
}

const LIMIT_MS = 300_000;
const BATTERY_LIMIT_MS = 900_000;
/** Files that start many processes; each takes a minute of CPU time or more. */
const BATTERY = /^test\/(browser|faults|flows|operations|upgrades)\//;

/**
 * Runs one file. `run()` withholds the results of later files until earlier ones end, so each file gets its own call
 * and a failure is shown immediately. Never rejects: crashes, timeouts and failed tests are part of the result.
 */
export async function runTestFile(root: string, one: TestRun, stop: AbortSignal): Promise<FileResult> {
  const { path, database } = one;
  const limitMs = (BATTERY.test(path) ? BATTERY_LIMIT_MS : LIMIT_MS) * Number(process.env.TEST_PATIENCE ?? '1');
  const timeUp = AbortSignal.timeout(limitMs);
  const env = database === undefined ? process.env : { ...process.env, TEST_DATABASE: database };
  let [tests, passed, failed, durationMs] = [0, 0, 0, 0];
  const skips: string[] = [];
  const events = run({ files: [`${root}/${path}`], cwd: root, env, signal: AbortSignal.any([stop, timeUp]) })
    .on('test:pass', ({ name, skip, todo }) => {
      const reason = skip ?? todo ?? false;
      if (reason !== false) skips.push(`${name}: ${reason === true || reason === '' ? 'no reason given' : reason}`);
    })
    .on('test:fail', ({ todo, details: { error } }) => {
      const isSuite = 'failureType' in error && error.failureType === 'subtestsFailed';
      if (!isSuite && !todo) failed++;
    })
    .on('test:summary', ({ file, counts, duration_ms }) => {
      if (file !== undefined) return;
      ({ tests, passed } = counts);
      durationMs = duration_ms;
    });
  let report = '';
  for await (const text of events.compose(new Spec())) report += String(text);
  if (timeUp.aborted) report += `timed out after ${limitMs / 1000} s: a test hangs, or the file left a handle open\n`;
  return {
    name: database === undefined ? path : `${path} (${database})`,
    run: one,
    tests,
    passed,
    failed: timeUp.aborted || stop.aborted ? Math.max(failed, 1) : failed,
    skips,
    durationMs,
    report,
  };
}
