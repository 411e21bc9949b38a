/**
 * `node --expose-gc bench/video-copy-memory.ts [--copies 200] [--mib 24]`: memory while that many videos are copied to
 * disk concurrently. Prints one JSON line: MB above the idle process at the peak and at the median of the samples,
 * MB/s, CPU ms per MiB.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { migrate } from '../src/server/platform/db/migrate.ts';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import { openOutbound } from '../src/server/platform/outbound/client.ts';
import { migrations, type Tables } from '../src/server/tables.ts';
import { makeArtifactFixture } from '../test/artifacts/artifact-fixture.ts';
import { startScript } from './support/child-processes.ts';

const { values } = parseArgs({
  options: { copies: { type: 'string', default: '200' }, mib: { type: 'string', default: '24' } },
});
const [copies, mib] = [Number(values.copies), Number(values.mib)];
const MB = 1024 ** 2;

const folder = mkdtempSync(join(tmpdir(), 'rg-copies-'));
// Untrusted hosts get 64 sockets each.
const upstreams = await Promise.all(
  Array.from({ length: 4 }, () => startScript('bench/support/video-file-upstream.ts', { MIB: values.mib })),
);
const outbound = openOutbound();
const database = openDatabase<Tables>(`sqlite:${join(folder, 'copies.db')}`);
await migrate(database, migrations);
const fixture = await makeArtifactFixture(database, { ARTIFACTS_MAX_GB: '4000' });
const hosts = upstreams.map(({ origin }) => new URL(origin).host);
let opened = 0;
fixture.artifacts.start({
  async openVideo(_taskId, signal) {
    const url = `http://${hosts[opened++ % hosts.length]}/video.mp4`;
    const response = await outbound.requestUntrusted({
      method: 'GET',
      url,
      signal,
      readAheadBytes: 0,
      allowedPrivateHosts: hosts,
    });
    return { body: response.body, bytes: Number(response.headers['content-length']) };
  },
});

// The first copies load shared code.
for (let index = 0; index < 4; index++) await fixture.enqueue(`warm_${index}`);
while ((await fixture.artifacts.countPending()) > 0) await pause(20);
globalThis.gc?.();
await pause(500);
const idle = process.memoryUsage.rss();
const samples: number[] = [];
const external: number[] = [];
const sampling = setInterval(() => {
  samples.push(process.memoryUsage.rss());
  external.push(process.memoryUsage().arrayBuffers);
}, 20);
const cpu = process.cpuUsage();
const begun = performance.now();
for (let index = 0; index < copies; index++) await fixture.enqueue(`task_${index}`);
while ((await fixture.artifacts.countPending()) > 0) {
  await pause(50);
  // Lets rejected copies retry.
  fixture.clock.advance(50);
}
const seconds = (performance.now() - begun) / 1000;
const { user, system } = process.cpuUsage(cpu);
clearInterval(sampling);
const sorted = samples.toSorted((one, other) => one - other);
console.log(
  JSON.stringify({
    copies,
    mib,
    idleMb: Math.round(idle / MB),
    peakMb: Math.round(((sorted.at(-1) ?? 0) - idle) / MB),
    medianMb: Math.round(((sorted[sorted.length >> 1] ?? 0) - idle) / MB),
    buffersPeakMb: Math.round(Math.max(...external) / MB),
    mbPerSecond: Math.round((copies * mib) / seconds),
    cpuMsPerMib: Number(((user + system) / 1000 / copies / mib).toFixed(2)),
  }),
);
await fixture.stop();
await outbound.close();
await database.close();
await Promise.all(upstreams.map((each) => each.stop()));
rmSync(folder, { recursive: true, force: true });
process.exit(0);
