import { makeApp } from '../../src/server/app.ts';
import { readConfig } from '../../src/server/platform/config.ts';

/** The service in a process of its own, which kills itself the n-th time it reaches a named point of the money path. */
const point = process.env.KILL_AT;
let left = Number(process.env.KILL_COUNT ?? '1');

const app = await makeApp(readConfig(process.env), {
  at: (reached) => {
    if (reached !== point) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  },
});
const { port } = await app.listen();
process.stdout.write(`listening ${port}\n`);
process.on('SIGTERM', () => void app.close(1_000).then(() => process.exit(0)));
