import { parseArgs } from 'node:util';
import { type Service, startScript, startService } from './support/child-processes.ts';
import { cpuSeconds } from './support/process-usage.ts';
import { postBytes, rawLoad } from './support/raw-socket-load.ts';

/**
 * CPU time of a video submit that does not wait, in this version and in another one, in alternating rounds:
 * `node bench/submit-versions.ts FOLDER`, a checkout of the other version with its `node_modules`. Each service is one
 * process on SQLite. Prints the median of each and the median difference of the pairs of rounds.
 */
const CONNECTIONS = 32;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '5' },
    /** Seconds until the hot functions are compiled. */
    warm: { type: 'string', default: '15' },
  },
});
const [other] = positionals;
if (other === undefined) throw new Error('name the folder of the other version');
const own = process.cwd();
const upstream = await startScript('bench/support/video-jobs-upstream.ts');
const services: Service[] = [];
let submitCount = 0;

interface Subject {
  readonly name: string;
  readonly service: Service;
  readonly submits: { readonly port: number; readonly connections: number; readonly request: Buffer };
}

async function start(name: string, folder: string, port: number): Promise<Subject> {
  // The service is started from the current folder.
  process.chdir(folder);
  const service = await startService(port, { SYNC_PERIOD_SECONDS: '300' });
  process.chdir(own);
  services.push(service);
  const { operator } = service;
  await operator.addChannel({
    vendor: 'sora',
    base_url: upstream.origin,
    credentials: { api_key: 'sk-bench' },
    models: ['sora-2'],
  });
  await operator.grantQuota(900_000_000_000_000);
  const headers = { authorization: `Bearer ${await operator.makeToken()}` };
  const body = JSON.stringify({ model: 'sora-2', prompt: 'a heron lands on a jetty' });
  return {
    name,
    service,
    submits: { port, connections: CONNECTIONS, request: postBytes('/v1/videos', headers, body) },
  };
}

/** Microseconds of CPU time for each submit. */
async function measure({ service, submits }: Subject, seconds: number): Promise<number> {
  const before = cpuSeconds(service.pid);
  const { requests, failures } = await rawLoad({ ...submits, seconds });
  if (failures > 0) throw new Error(`${failures} submits failed`);
  submitCount += requests;
  return ((cpuSeconds(service.pid) - before) / requests) * 1e6;
}

const median = (figures: readonly number[]): number =>
  figures.toSorted((one, two) => one - two)[Math.floor(figures.length / 2)] ?? Number.NaN;

try {
  const before = await start('before', other, 4301);
  const now = await start('now', own, 4302);
  for (const subject of [before, now]) await measure(subject, Number(values.warm));
  const figures: [number, number][] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    const isSwapped = round % 2 === 1;
    const pair = isSwapped ? [now, before] : [before, now];
    const measured: number[] = [];
    for (const subject of pair) measured.push(await measure(subject, Number(values.seconds)));
    const [one = 0, two = 0] = isSwapped ? measured.toReversed() : measured;
    figures.push([one, two]);
  }
  const changes = figures.map(([one, two]) => (two / one - 1) * 100);
  const shown = (index: 0 | 1): string => median(figures.map((pair) => pair[index])).toFixed(0);
  process.stdout.write(
    `before ${shown(0)} µs, now ${shown(1)} µs CPU for each of ${submitCount} submits; difference ${median(changes).toFixed(1)} % (${changes.map((change) => change.toFixed(1)).join(', ')})\n`,
  );
} finally {
  for (const service of services) await service.stop();
  await upstream.stop();
}
