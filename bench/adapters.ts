import { startSandbox } from '../src/sandbox/kit.ts';
import { openOutbound } from '../src/server/platform/outbound/door.ts';
import type { VendorCall, VideoRequest } from '../src/server/video/vendor.ts';
import { hailuoRow } from '../test/vendors/hailuo.ts';
import { jimengRow } from '../test/vendors/jimeng.ts';
import { klingRow } from '../test/vendors/kling.ts';
import type { VendorRow } from '../test/vendors/row.ts';
import { seedanceRow } from '../test/vendors/seedance.ts';
import { soraRow } from '../test/vendors/sora.ts';
import { veoRow, veoVertexRow } from '../test/vendors/veo.ts';
import { viduRow } from '../test/vendors/vidu.ts';
import { wanRow } from '../test/vendors/wan.ts';

/**
 * What each adapter costs a submit beyond Sora's, which passes bodies through: CPU time of building, signing and reading, with
 * the vendor's own answer played back instead of a network. Also how often a token was made over all submits. Repeat with
 * `node bench/adapters.ts [submits]`.
 */
const SUBMITS = Number(process.argv[2] ?? '20000');
const ROWS: readonly VendorRow[] = [
  soraRow,
  klingRow,
  jimengRow,
  seedanceRow,
  hailuoRow,
  viduRow,
  wanRow,
  veoRow,
  veoVertexRow,
];

const outbound = openOutbound();
let basis = 0;
for (const row of ROWS) {
  const { simulator, vendor } = row;
  const sandbox = await startSandbox({ simulators: [simulator] });
  const kept = new Map<string, string>();
  let answer: Awaited<ReturnType<VendorCall['json']>> | undefined;
  let tokens = 0;
  const recording: VendorCall = {
    baseUrl: sandbox.url(simulator.name),
    credentials: sandbox.credentials(simulator.name),
    options: { private: true },
    now: Date.now,
    json: async (exchange) => {
      answer = await outbound.json({ totalTimeoutMs: 5_000, ...exchange, private: true });
      return answer;
    },
    async cached(key, make) {
      const found = kept.get(key);
      if (found !== undefined) return found;
      tokens++;
      const { value } = await make();
      kept.set(key, value);
      return value;
    },
    loadImage: () => Promise.reject(new Error('no pictures here')),
    signal: new AbortController().signal,
  };
  const request: VideoRequest = {
    taskId: 'task_0123456789abcdefghijklmnopqrstuv',
    prompt: 'A paper boat drifting down a rainy street',
    images: [],
    metadata: {},
    extra: [],
    model: row.model,
    ...row.text.request,
  };
  await vendor.submit(request, recording);
  const submitted = answer;
  if (submitted === undefined) throw new Error(`${simulator.name} asked nobody`);
  const playing: VendorCall = { ...recording, json: async () => submitted };
  for (let index = 0; index < SUBMITS / 10; index++) await vendor.submit(request, playing);
  const before = process.cpuUsage();
  for (let index = 0; index < SUBMITS; index++) await vendor.submit(request, playing);
  const { user, system } = process.cpuUsage(before);
  const cpuUs = (user + system) / SUBMITS;
  if (vendor === soraRow.vendor) basis = cpuUs;
  process.stdout.write(
    `${simulator.name.padEnd(12)} ${cpuUs.toFixed(1).padStart(6)} µs a submit, ${(cpuUs - basis).toFixed(1).padStart(6)} beyond sora; tokens made: ${tokens}\n`,
  );
  await sandbox.stop();
}
await outbound.close();
