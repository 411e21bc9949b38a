import { join } from 'node:path';
import { Readable } from 'node:stream';
import { run } from 'node:test';
import { spec as Spec } from 'node:test/reporters';
import { inspect } from 'node:util';

/** The files of one process, restricted to one database if `npm run hammer` runs both concurrently. */
export interface TestRun {
  readonly paths: readonly string[];
  readonly database?: 'sqlite' | 'postgres';
  /** Another attempt of a single file, with the complete hook that finds the test of an uncaught error. */
  readonly isRepeat?: boolean;
}

/** Result of one test file. */
export interface FileResult {
  readonly name: string;
  /** The file alone, for another attempt. */
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

interface TestEvent {
  readonly type: string;
  readonly data: {
    readonly name: string;
    readonly nesting: number;
    readonly message?: string;
    readonly skip?: string | boolean;
    readonly todo?: string | boolean;
    readonly details: {
      readonly type?: string;
      readonly duration_ms: number;
      readonly error?: { failureType?: string };
    };
  };
}

/** Test processes start service after service; fewer collections save them a seventh of their CPU time. */
const YOUNG_GENERATION = '--max-semi-space-size=64';
const LIMIT_MS = 600_000;
const BATTERY_LIMIT_MS = 900_000;
/** Files that start many processes; each takes a minute of CPU time or more. */
const BATTERY = /^test\/(browser|faults|flows|operations|upgrades)\//;

/**
 * Runs the files of a group in one process and reports each when it ends. Files that the process did not reach, or that
 * may have caused its failure, run again. Never rejects: crashes, timeouts and failed tests are part of the results.
 *
 * @param onResult called again for a file that ran again
 */
export async function runTestGroup(
  root: string,
  group: TestRun,
  stop: AbortSignal,
  onResult: (result: FileResult) => void,
): Promise<void> {
  const { paths } = group;
  const { suspects, unreached } = await runProcess(root, group, stop, onResult);
  if (paths.length === 1) return;
  for (const part of [unreached.slice(0, 1), unreached.slice(1), ...suspects.map((path) => [path])])
    if (part.length > 0 && !stop.aborted)
      await runTestGroup(root, { ...group, paths: part, isRepeat: true }, stop, onResult);
}

interface ProcessResult {
  /** Files that passed in a process that failed for a reason that belongs to no test. */
  readonly suspects: readonly string[];
  /** Files without a result. */
  readonly unreached: readonly string[];
}

async function runProcess(
  root: string,
  group: TestRun,
  stop: AbortSignal,
  onResult: (result: FileResult) => void,
): Promise<ProcessResult> {
  const { paths, database, isRepeat = false } = group;
  const isAlone = paths.length === 1;
  const unreached = [...paths];
  const passed: string[] = [];
  const timeUp = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const restartTimer = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => timeUp.abort(), limitOf(unreached[0] ?? paths[0]));
  };
  const events = run({
    files: [isAlone ? join(root, paths[0] ?? '') : join(root, 'scripts/testing/test-group.ts')],
    argv: isAlone ? [] : [...paths],
    execArgv: [
      YOUNG_GENERATION,
      ...(isAlone && isRepeat ? [] : ['--require', join(root, 'scripts/testing/untracked-promises.cjs')]),
    ],
    cwd: root,
    env: database === undefined ? process.env : { ...process.env, TEST_DATABASE: database },
    signal: AbortSignal.any([stop, timeUp.signal]),
  });
  const report = async (path: string, own: readonly TestEvent[], problem?: string): Promise<void> => {
    unreached.splice(0, unreached.length, ...unreached.filter((each) => each !== path));
    const result = await toResult({ ...group, paths: [path] }, own, problem);
    if (result.failed === 0) passed.push(path);
    onResult(result);
  };
  let isExplained = true;
  let own: TestEvent[] = [];
  restartTimer();
  for await (const event of events as AsyncIterable<TestEvent>) {
    own.push(event);
    if (isLateError(event)) isExplained = false;
    if (isAlone || event.data.nesting !== 0 || !/^test:(pass|fail)$/.test(event.type)) continue;
    if (!unreached.includes(event.data.name)) isExplained &&= isTestFailure(event);
    else if (!needsOwnProcess(event)) await report(event.data.name, own);
    own = [];
    restartTimer();
  }
  clearTimeout(timer);
  const [current] = unreached;
  const suspects = isExplained ? [] : passed;
  if (current === undefined || stop.aborted) return { suspects, unreached };
  if (timeUp.signal.aborted)
    await report(
      current,
      own,
      `timed out after ${limitOf(current) / 1000} s: a test hangs, or the file left a handle open`,
    );
  else if (isAlone) await report(current, own);
  return { suspects, unreached };
}

/** The process failed because tests did, or the event is no failure. */
const isTestFailure = ({ type, data }: TestEvent): boolean =>
  type !== 'test:fail' || data.details.error?.failureType === 'subtestsFailed';

/** Node's message about an error of a test that had ended. */
const isLateError = ({ type, data }: TestEvent): boolean =>
  type === 'test:diagnostic' && /asynchronous activity after the test ended/.test(data.message ?? '');

/** A module with a top-level `await` anywhere in its imports cannot be loaded synchronously. */
const needsOwnProcess = ({ data }: TestEvent): boolean =>
  inspect(data.details.error).includes('ERR_REQUIRE_ASYNC_MODULE');

const limitOf = (path = ''): number =>
  (BATTERY.test(path) ? BATTERY_LIMIT_MS : LIMIT_MS) * Number(process.env.TEST_PATIENCE ?? '1');

async function toResult(one: TestRun, events: readonly TestEvent[], problem: string | undefined): Promise<FileResult> {
  const [path = ''] = one.paths;
  let [tests, passed, failed] = [0, 0, problem === undefined ? 0 : 1];
  const skips: string[] = [];
  for (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const { skip, todo } = data;
    const isTest = data.details.type !== 'suite';
    if (isTest) tests++;
    if (type === 'test:fail' && data.details.error?.failureType !== 'subtestsFailed' && !todo) failed++;
    const reason = type === 'test:pass' ? (skip ?? todo ?? false) : false;
    if (reason !== false) skips.push(`${data.name}: ${reason === true || reason === '' ? 'no reason given' : reason}`);
    else if (isTest && type === 'test:pass') passed++;
  }
  let report = '';
  for await (const text of Readable.from(events).compose(new Spec())) report += String(text);
  const ends = events.filter(({ type, data }) => /^test:(pass|fail)$/.test(type) && data.nesting === 0);
  return {
    name: one.database === undefined ? path : `${path} (${one.database})`,
    run: one,
    tests,
    passed,
    failed,
    skips,
    durationMs: ends.reduce((sum, { data }) => sum + data.details.duration_ms, 0),
    report: problem === undefined ? report : `${report}${problem}\n`,
  };
}
