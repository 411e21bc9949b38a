/**
 * `npm run hammer`: the tests of faults at the strength a release wants. `npm run hammer -- --rounds 1000` kills more often,
 * `npm run hammer -- drain faults/clock image` runs some of it: the test files whose path contains one of the words, the image, the release.
 *
 * - kills: the service in a process of its own is ended by SIGKILL at a named point of the money path and started again;
 *   model calls while they stream, converted ones too, and device sign-ins while responding; at each point a process is also
 *   paused until another has taken over its work
 * - restarts: PostgreSQL is stopped under load and started again; two processes behind HAProxy and nginx are restarted in
 *   turn until so many requests were sent, of which none may fail; databases freeze, fall silent and fail over
 * - soup: every third call to an upstream fails, in different ways, and database calls fail as well
 * - deviations: upstreams and vendors answer as real ones do, in recorded shapes and altered answers
 * - stored videos: vendors' files expire, lie about their length, break off and are pages while they are copied and read
 * - races: many at once, over one process and over two
 * - upgrades: processes of two releases take turns under load
 * - junk and cuts: bodies that callers get wrong, streams that break off anywhere
 * - image: the container image is built and run read-only (scripts/try-container-image.ts), where buildah and mmdebstrap are installed
 * - release: a release is made in a clone (scripts/try-release-in-clone.ts)
 *
 * After each, what is in the database is counted: no task and no refund lost, none doubled.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { listTestFiles } from './testing/list-test-files.ts';

const { values, positionals: chosen } = parseArgs({
  allowNegative: true,
  allowPositionals: true,
  options: {
    /** `--no-image` leaves the image out, which takes minutes. */
    image: { type: 'boolean', default: true },
    rounds: { type: 'string', default: '200' },
    restarts: { type: 'string', default: '30' },
    /** Requests sent while processes are restarted behind load balancers. */
    rolling: { type: 'string', default: '20000' },
    /** Kills of a process that reports and delivers events, on each database. */
    events: { type: 'string', default: '1500' },
    /** Kills of a process that copies and deletes videos, on each database. */
    copies: { type: 'string', default: '500' },
    /** Videos of vendors whose files expire, break off or are pages, which are copied and read meanwhile, on each database. */
    artifacts: { type: 'string', default: '10000' },
    /** Videos of the `soup` test (random upstream and database failures), on each database. */
    soup: { type: 'string', default: '600' },
    /** Rounds of each race. */
    races: { type: 'string', default: '200' },
    /** Kills of an import, on each database. */
    imports: { type: 'string', default: '100' },
    /** Orders in which the events of a task arrive. */
    histories: { type: 'string', default: '5000' },
    /** Receipts against the ledger, on each database; `--receipts 1000000` for a million. */
    receipts: { type: 'string', default: '20000' },
    /** Model calls over upstreams that deviate from their documentation. */
    calls: { type: 'string', default: '100000' },
    /** Videos of vendors that deviate from their documentation. */
    videos: { type: 'string', default: '20000' },
    /** Streams cut. */
    cuts: { type: 'string', default: '5000' },
    /** Mutated bodies for each kind of submit. */
    junk: { type: 'string', default: '2000' },
    /** Made-up requests over all endpoints, on each database; `npm run fuzz` sends millions. */
    fuzz: { type: 'string', default: '100000' },
    /** Seed of the random data for `junk`, `soup` and deviations; a failing test prints its seed. */
    seed: { type: 'string', default: String(Date.now()) },
  },
});
const strength = {
  KILL_ROUNDS: values.rounds,
  CHAT_KILL_ROUNDS: String(Math.ceil(Number(values.rounds) / 20)),
  DEVICE_KILL_ROUNDS: String(Math.ceil(Number(values.rounds) / 10)),
  FREEZE_ALL: '1',
  EVENT_KILLS: values.events,
  ARTIFACT_KILLS: values.copies,
  ARTIFACT_TASKS: values.artifacts,
  ARTIFACT_SEED: values.seed,
  RESTART_ROUNDS: values.restarts,
  ROLLING_REQUESTS: values.rolling,
  OUTAGES_ALL: '1',
  RANDOM_FAULT_TASKS: values.soup,
  RANDOM_FAULT_SEED: values.seed,
  RACE_ROUNDS: values.races,
  IMPORT_KILLS: values.imports,
  CUTS: values.cuts,
  HISTORIES: values.histories,
  INVALID_SUBMIT_RUNS: values.junk,
  FUZZ_REQUESTS: values.fuzz,
  FUZZ_SEED: values.seed,
  INVALID_SUBMIT_SEED: values.seed,
  RECEIPT_CASES: values.receipts,
  RECEIPT_DATABASE_CASES: values.receipts,
  DEVIATING_CALLS: values.calls,
  DEVIATING_VIDEOS: values.videos,
  DEVIATION_SEED: values.seed,
  TEST_PATIENCE: '100',
  TEST_RERUN_FILES: '0',
  TEST_SPLIT: '1',
};
console.log(
  Object.entries(strength)
    .map(([name, value]) => `${name}=${value}`)
    .join(' '),
);
/** Each is a part of the path of test files. */
const WORDS = [
  'faults/',
  'fuzz/',
  'artifacts/kill-during-copying',
  'artifacts/vendor-file-faults',
  'operations/database-outages',
  'operations/drain',
  'upgrades/',
  'import/kill-during-import',
  '/races',
  'client-disconnects',
  'crash-and-stop',
  'out-of-order-updates',
  'receipt-lines',
  'requests/random-receipts',
];
const root = join(import.meta.dirname, '..');
const absent = WORDS.filter((word) => listTestFiles(root, [word]).length === 0);
if (absent.length > 0) throw new Error(`no test file's path contains ${absent.join(', ')}`);
const isChosen = (name: string): boolean => chosen.length === 0 || chosen.some((word) => name.includes(word));
const files = listTestFiles(root, WORDS).filter(isChosen);
if (files.length === 0 && !isChosen('image') && !isChosen('release'))
  throw new Error(`nothing of it is named ${chosen.join(' or ')}`);
if (files.length > 0) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'test.ts'), ...files], {
    stdio: 'inherit',
    env: { ...process.env, ...strength },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
}
if (
  values.image &&
  isChosen('image') &&
  spawnSync('buildah', ['--version']).error === undefined &&
  spawnSync('mmdebstrap', ['--version']).error === undefined
) {
  const image = spawnSync(process.execPath, [join(import.meta.dirname, 'try-container-image.ts')], {
    stdio: 'inherit',
  });
  if (image.status !== 0) process.exitCode = 1;
}
if (isChosen('release')) {
  const release = spawnSync(process.execPath, [join(import.meta.dirname, 'try-release-in-clone.ts')], {
    stdio: 'inherit',
  });
  if (release.status !== 0) process.exitCode = 1;
}
