/**
 * `npm run hammer`: the tests of faults at the strength a release wants. `npm run hammer -- --rounds 1000` kills more often.
 *
 * - kills: the service in a process of its own is ended by SIGKILL at a named point of the money path and started again;
 *   device sign-ins likewise, amid their answers; at each point a process is stopped until another has taken its work over
 * - restarts: PostgreSQL goes away under work and comes back
 * - soup: every third call to an upstream fails in a way of its own, and the database with it
 * - races: many at once, over one process and over two
 * - junk and cuts: bodies that callers get wrong, streams that break off anywhere
 *
 * After each, what is in the database is counted: no task and no refund lost, none doubled.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    restarts: { type: 'string', default: '30' },
    /** Videos in the soup, on each database. */
    soup: { type: 'string', default: '600' },
    /** Rounds of each race. */
    races: { type: 'string', default: '200' },
    /** Orders in which a task's news arrives. */
    histories: { type: 'string', default: '5000' },
    /** Streams cut. */
    cuts: { type: 'string', default: '5000' },
    /** Mutated bodies for each kind of submit. */
    junk: { type: 'string', default: '2000' },
    /** Requests made up for each endpoint. */
    fuzz: { type: 'string', default: '1000' },
    /** Another seed makes other junk and another soup; a failing one is told by the test. */
    seed: { type: 'string', default: String(Date.now()) },
  },
});
const strength = {
  KILL_ROUNDS: values.rounds,
  DEVICE_KILL_ROUNDS: String(Math.ceil(Number(values.rounds) / 10)),
  FREEZE_ALL: '1',
  RESTART_ROUNDS: values.restarts,
  SOUP_TASKS: values.soup,
  SOUP_SEED: values.seed,
  RACE_ROUNDS: values.races,
  CUTS: values.cuts,
  HISTORIES: values.histories,
  JUNK_RUNS: values.junk,
  FUZZ_RUNS: values.fuzz,
  JUNK_SEED: values.seed,
  TEST_PATIENCE: '100',
};
console.log(
  Object.entries(strength)
    .map(([name, value]) => `${name}=${value}`)
    .join(' '),
);
const child = spawn(process.execPath, [join(import.meta.dirname, 'test.ts'), 'faults/', 'races', 'cuts', 'histories'], {
  stdio: 'inherit',
  env: { ...process.env, ...strength },
});
const [code] = (await once(child, 'exit')) as [number | null];
process.exitCode = code ?? 1;
