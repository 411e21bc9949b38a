/**
 * `npm run hammer`: runs the fault tests at release strength. `npm run hammer -- --rounds 1000` kills more often;
 * `npm run hammer -- drain faults/clock image` runs a part: the test files whose path contains one of the words, the
 * image, the release.
 *
 * - kills: the service runs in a separate process, which SIGKILL ends at a named point of the money path and which is
 *   then restarted; likewise during model calls that stream, converted ones too, and during responses to device
 *   sign-ins; at each point a process is also paused until another has taken over its work
 * - queue: eight processes that are killed in turn share a limit of five videos; none is lost or doubled
 * - batches: the process that works on batches of 10,000 lines is killed; each line reaches its vendor once at most
 * - power: what a disk may hold after a power failure is checked: every write that was reported, none in part
 * - restarts: PostgreSQL is stopped under load and restarted; two processes behind HAProxy and nginx are restarted
 *   alternately until the given number of requests was sent, none of which may fail; databases freeze, stop responding
 *   and fail over
 * - soup: every third call to an upstream fails, in varying ways, and database calls fail as well
 * - deviations: upstreams and vendors respond like real ones, with recorded responses and altered ones
 * - stored videos: while vendors' files are copied and read, they expire, lie about their length, end early or turn out
 *   to be pages
 * - races: many concurrent requests, over one process and over two
 * - upgrades: processes of two releases alternate under load
 * - models: every listed combination of all video models, and random requests; what they list is accepted, anything
 *   else reserves nothing
 * - junk and cuts: malformed bodies from callers, streams and device sign-ins that break at any byte
 * - flows: clients and wire forms, which `npm test` tries on one database, on both; stories of the console, which it
 *   tells in one language, in both
 * - image: builds the container image and runs it read-only (scripts/try-container-image.ts), if buildah and mmdebstrap
 *   are installed
 * - release: makes a release in a clone (scripts/try-release.ts)
 *
 * Each test then counts the rows of the database: no task and no refund is lost or duplicated.
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
    /** `--no-image` skips the image, which takes minutes. */
    image: { type: 'boolean', default: true },
    /** `sqlite` or `postgres`; default: both, concurrently. */
    database: { type: 'string' },
    rounds: { type: 'string', default: '200' },
    restarts: { type: 'string', default: '30' },
    /** Requests sent while processes restart behind load balancers. */
    rolling: { type: 'string', default: '20000' },
    /** Kills of a process that records and delivers events, per database. */
    events: { type: 'string', default: '1500' },
    /** Kills of a process that copies and deletes videos, per database. */
    copies: { type: 'string', default: '500' },
    /** Videos copied and read while the vendors' files expire, end early or turn out to be pages, per database. */
    artifacts: { type: 'string', default: '10000' },
    /** Videos of the `soup` test (random upstream and database failures), per database. */
    soup: { type: 'string', default: '600' },
    /** Rounds per race. */
    races: { type: 'string', default: '200' },
    /** Kills of an import, per database. */
    imports: { type: 'string', default: '100' },
    /** Submits that wait at a limit of five while eight processes are killed, per database. */
    queue: { type: 'string', default: '1000' },
    /** Tested orders in which the events of a task arrive. */
    histories: { type: 'string', default: '5000' },
    /** Receipts compared with the ledger, per database; `--receipts 1000000` for a million. */
    receipts: { type: 'string', default: '20000' },
    /** Lines of batches per database, and kills of the process that works on them. */
    lines: { type: 'string', default: '10000' },
    'batch-kills': { type: 'string', default: '24' },
    /** Model calls to upstreams that deviate from their documentation. */
    calls: { type: 'string', default: '100000' },
    /** Videos at vendors that deviate from their documentation. */
    videos: { type: 'string', default: '20000' },
    /** Wrong user codes tried from one network, per database. */
    codes: { type: 'string', default: '10000' },
    /** Power failures of a disk that drops, keeps or mixes what was not flushed. */
    power: { type: 'string', default: '500' },
    /** Number of interrupted streams. */
    cuts: { type: 'string', default: '5000' },
    /** Mutated bodies per kind of submit. */
    junk: { type: 'string', default: '2000' },
    /** Random requests over all video models, listed and unlisted. */
    models: { type: 'string', default: '10000' },
    /** Generated requests over all endpoints, per database; `npm run fuzz` sends millions. */
    fuzz: { type: 'string', default: '100000' },
    /** Reservations of 20 members of an organization, per database. */
    members: { type: 'string', default: '50000' },
    /** Seed of the random data for `junk`, `soup` and deviations; failing tests print their seed. */
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
  MEMBER_RESERVATIONS: values.members,
  RESTART_ROUNDS: values.restarts,
  ROLLING_REQUESTS: values.rolling,
  OUTAGES_ALL: '1',
  RANDOM_FAULT_TASKS: values.soup,
  RANDOM_FAULT_SEED: values.seed,
  POWER_FAILURES: values.power,
  POWER_SEED: values.seed,
  RACE_ROUNDS: values.races,
  IMPORT_KILLS: values.imports,
  QUEUE_SUBMITS: values.queue,
  QUEUE_PROCESSES: '8',
  CUTS: values.cuts,
  WRONG_CODES: values.codes,
  ALL_LANGUAGES: '1',
  LOST_RESPONSE_STEP: '1',
  HISTORIES: values.histories,
  INVALID_SUBMIT_RUNS: values.junk,
  LISTED_REQUESTS: values.models,
  LISTED_PRODUCT: 'whole',
  LISTED_SEED: values.seed,
  FUZZ_REQUESTS: values.fuzz,
  FUZZ_SEED: values.seed,
  INVALID_SUBMIT_SEED: values.seed,
  RECEIPT_CASES: values.receipts,
  RECEIPT_DATABASE_CASES: values.receipts,
  BATCH_LINES: values.lines,
  BATCH_KILLS: values['batch-kills'],
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
/** Each word matches part of the path of test files. */
const WORDS = [
  'faults/',
  'flows/',
  'fuzz/',
  'invalid-input/',
  'vendors/listed-models',
  'artifacts/kill-during-copying',
  'batches/killed-batches',
  'artifacts/vendor-file-faults',
  'browser/',
  'operations/database-outages',
  'operations/drain',
  'upgrades/',
  'importer/test/kill-during-import',
  '/races',
  'client-disconnects',
  'crash-and-stop',
  'device-code-service',
  'video/update-order',
  'receipt-lines',
  'requests/random-receipts',
];
const root = join(import.meta.dirname, '..');
const absent = WORDS.filter((word) => listTestFiles(root, [word]).length === 0);
if (absent.length > 0) throw new Error(`no test file's path contains ${absent.join(', ')}`);
const isChosen = (name: string): boolean => chosen.length === 0 || chosen.some((word) => name.includes(word));
const files = listTestFiles(root, WORDS).filter(isChosen);
if (values.database !== undefined && !['sqlite', 'postgres'].includes(values.database))
  throw new Error('--database is sqlite or postgres');
if (files.length === 0 && !isChosen('image') && !isChosen('release'))
  throw new Error(`nothing of it is named ${chosen.join(' or ')}`);
if (files.length > 0) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'test.ts'), ...files], {
    stdio: 'inherit',
    env: { ...process.env, ...strength, ...(values.database && { TEST_DATABASE: values.database }) },
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
  const release = spawnSync(process.execPath, [join(import.meta.dirname, 'try-release.ts')], {
    stdio: 'inherit',
  });
  if (release.status !== 0) process.exitCode = 1;
}
