/**
 * `npm run hammer`: the tests of faults at the strength a release wants. `npm run hammer -- --rounds 1000` kills more often.
 *
 * A round starts the service in a process of its own, ends it by SIGKILL at a named point of the money path, starts it again
 * and counts: no task and no refund lost, none doubled.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    /** Mutated bodies for each kind of submit. */
    junk: { type: 'string', default: '2000' },
    /** Another seed makes other junk; a failing one is told by the test. */
    seed: { type: 'string', default: String(Date.now()) },
  },
});
const strength = { KILL_ROUNDS: values.rounds, JUNK_RUNS: values.junk, JUNK_SEED: values.seed, TEST_PATIENCE: '100' };
console.log(
  Object.entries(strength)
    .map(([name, value]) => `${name}=${value}`)
    .join(' '),
);
const child = spawn(process.execPath, [join(import.meta.dirname, 'test.ts'), 'faults/'], {
  stdio: 'inherit',
  env: { ...process.env, ...strength },
});
const [code] = (await once(child, 'exit')) as [number | null];
process.exitCode = code ?? 1;
