import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { CONTRACT_CASES } from '../../test/vendors/load-contract-cases.ts';

/**
 * One simulator per vendor, with jobs that take an hour. `/channels` returns their URLs, `/polls` the number of polls.
 */
const cases = CONTRACT_CASES.filter(({ vendor, simulator }) => simulator.name === vendor.name);
const simulators = cases.map(({ simulator }) => simulator);
const HOUR_MS = 3_600_000;
const sandbox = await startSandbox({
  simulators,
  timing: { queuedMs: 1_000, runningMs: HOUR_MS },
  keepRequests: 0,
});

const server = createServer((request, response) => {
  if (request.url === '/channels') {
    const channels = cases.map(({ vendor: { name }, model }) => ({
      vendor: name,
      base_url: sandbox.url(name),
      credentials: sandbox.credentials(name),
      models: [model],
    }));
    response.end(JSON.stringify(channels));
    return;
  }
  const polls = simulators.flatMap(({ name }) => sandbox.control.jobs(name).map(({ polls }) => polls));
  response.end(JSON.stringify(polls));
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`listening ${(server.address() as AddressInfo).port}\n`));
