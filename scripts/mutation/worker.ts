/** The process that runs tests against mutants: loads a test file once and runs it whenever the parent asks. */
import { pathToFileURL } from 'node:url';
import { activate, reachedAtLoad } from './activate-mutant-and-record-reached.ts';
import { loadFile, type RunResult, runFile } from './in-process-node-test-replacement.ts';

export interface WorkerRequest {
  readonly testFile: string;
  /** Absent: no mutant. */
  readonly mutant?: number;
  /** Numbers of the tests with the limit of each in ms; all tests when left out. */
  readonly limitsMs?: Readonly<Record<string, number>>;
  readonly isTrial: boolean;
}
export interface WorkerReply extends RunResult {
  /** Mutants of code that ran while modules were loaded, so far. */
  readonly reachedAtLoad: readonly number[];
  readonly loadError?: string;
}

/** How often the process says that it is not stuck in a loop. */
const BEAT_MS = 1_000;

/** Before a limit is known. */
const FIRST_LIMIT_MS = 60_000;
/** Hooks at the top of these belong to whole files (the end of a shared server), so no file may take them for its own. */
const SHARED = ['../../test/for-each-database.ts', '../../test/openapi-response-check.ts'];

const files = new Map<string, ReturnType<typeof loadFile>>();
const load = (path: string) => {
  const url = pathToFileURL(path).href;
  const known = files.get(path) ?? loadFile(url);
  files.set(path, known);
  return known;
};
await Promise.all(SHARED.map((path) => import(path)));
// Mutants of code that runs at load time are on from the beginning.
const fromStart = process.env['MUTATION_ACTIVE'];
if (fromStart !== undefined) activate(Number(fromStart));

async function handle({ testFile, mutant, limitsMs, isTrial }: WorkerRequest): Promise<WorkerReply> {
  let root: Awaited<ReturnType<typeof load>>;
  try {
    root = await load(testFile);
  } catch (error) {
    return { records: [], reachedAtLoad: [], loadError: String(error) };
  }
  if (fromStart === undefined) activate(mutant);
  const longest = Math.max(FIRST_LIMIT_MS / 4, ...Object.values(limitsMs ?? {}));
  const result = await runFile(root, {
    ...(limitsMs !== undefined && { tests: Object.keys(limitsMs) }),
    isTrial,
    limitOf: (id) => (limitsMs === undefined ? FIRST_LIMIT_MS : (limitsMs[id] ?? longest)),
  });
  if (fromStart === undefined) activate(undefined);
  return { ...result, reachedAtLoad: isTrial ? [] : [...reachedAtLoad] };
}

process.on('message', (request: WorkerRequest) => void handle(request).then((reply) => process.send?.(reply)));
process.on('disconnect', () => process.exit());
setInterval(() => process.send?.('beat'), BEAT_MS).unref();
process.send?.('ready');
