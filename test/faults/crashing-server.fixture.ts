import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { makeApp } from '../../src/server/app.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { CHEAP_PASSWORD_HASHING } from '../cheap-password-hashing.ts';
import type { CrashPlan } from './start-crashing-server.ts';

/** The service in its own process, which kills or suspends itself the n-th time it reaches a named fault point. */
let point = process.env.CRASH_AT;
let signal = process.env.CRASH_SIGNAL === 'SIGSTOP' ? 'SIGSTOP' : 'SIGKILL';
let left = Number(process.env.CRASH_COUNT ?? '1');
createInterface({ input: process.stdin }).on('line', (line) => {
  const plan = JSON.parse(line) as CrashPlan;
  ({ at: point, count: left, signal = 'SIGKILL' } = plan);
  process.stdout.write('armed\n');
});

const config = parseConfig(process.env);
const app = await makeApp(
  { ...config, syncPeriodSeconds: Number(process.env.POLL_PERIOD_SECONDS ?? config.syncPeriodSeconds) },
  {
    passwordCost: CHEAP_PASSWORD_HASHING,
    onFaultPoint: (reached) => {
      if (reached !== point) return;
      left -= 1;
      if (left !== 0) return;
      if (signal === 'SIGSTOP') writeSync(1, 'freezing\n');
      process.kill(process.pid, signal);
    },
  },
);
const { port } = await app.listen();
process.stdout.write(`listening ${port}\n`);
process.on('SIGTERM', () => void app.close(1_000).then(() => process.exit(0)));
