import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startSandbox } from '../src/sandbox/kit.ts';
import { hailuo } from '../src/sandbox/vendors/hailuo.ts';
import { jimeng } from '../src/sandbox/vendors/jimeng.ts';
import { kling } from '../src/sandbox/vendors/kling.ts';
import { seedance } from '../src/sandbox/vendors/seedance.ts';
import { sora } from '../src/sandbox/vendors/sora.ts';
import { veo } from '../src/sandbox/vendors/veo.ts';
import { vidu } from '../src/sandbox/vendors/vidu.ts';
import { wan } from '../src/sandbox/vendors/wan.ts';

/** The eight simulated vendors with jobs that take an hour. `/channels` tells where they are, `/looks` how often jobs were asked for. */
const simulators = [kling, jimeng, hailuo, seedance, wan, veo, vidu, sora];
const HOUR_MS = 3_600_000;
const sandbox = await startSandbox({
  simulators,
  speed: { queuedMs: 1_000, runningMs: HOUR_MS },
  keepRequests: 0,
});

const server = createServer((request, response) => {
  if (request.url === '/channels') {
    const channels = simulators.map(({ name }) => ({
      vendor: name,
      base_url: sandbox.url(name),
      credentials: sandbox.credentials(name),
    }));
    response.end(JSON.stringify(channels));
    return;
  }
  const looks = simulators.flatMap(({ name }) => sandbox.control.jobs(name).map(({ polls }) => polls));
  response.end(JSON.stringify(looks));
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`listening ${(server.address() as AddressInfo).port}\n`));
