import { startSandbox } from '../src/sandbox/sandbox.ts';
import { openOutbound } from '../src/server/platform/outbound/client.ts';
import type { AdapterContext } from '../src/server/upstreams/upstream.ts';
import type { VideoRequest } from '../src/server/vendors/adapter.ts';
import { CONTRACT_CASES } from '../test/vendors/load-contract-cases.ts';

/**
 * CPU cost of a submit in each adapter compared with Sora's, which passes bodies through: building, signing and
 * parsing, with the vendor's recorded response instead of a network. Also counts how often a token was created over all
 * submits. Run `node bench/adapter-cpu.ts [submits]`.
 */
const SUBMITS = Number(process.argv[2] ?? '20000');
/** The pass-through adapter comes first, as the baseline for the others. */
const ROWS = CONTRACT_CASES.toSorted(
  (a, b) => Number(b.vendor.passthrough ?? false) - Number(a.vendor.passthrough ?? false),
);

const outbound = openOutbound();
let basis = 0;
for (const row of ROWS) {
  const { simulator, vendor } = row;
  const sandbox = await startSandbox({ simulators: [simulator] });
  const kept = new Map<string, string>();
  let answer: Awaited<ReturnType<AdapterContext['sendJson']>> | undefined;
  let tokens = 0;
  const recording: AdapterContext = {
    baseUrl: sandbox.url(simulator.name),
    credentials: sandbox.credentials(simulator.name),
    options: { private: true },
    now: Date.now,
    sendJson: async (exchange) => {
      answer = await outbound.requestJson({ totalTimeoutMs: 5_000, ...exchange, private: true });
      return answer;
    },
    async cachedSecret(key, make) {
      const found = kept.get(key);
      if (found !== undefined) return found;
      tokens++;
      const { value } = await make();
      kept.set(key, value);
      return value;
    },
    signal: new AbortController().signal,
  };
  const request: VideoRequest = {
    taskId: 'task_0123456789abcdefghijklmnopqrstuv',
    prompt: 'A paper boat drifting down a rainy street',
    images: [],
    metadata: {},
    extraFields: [],
    model: row.model,
    ...row.text.request,
  };
  await vendor.submit(request, recording);
  const submitted = answer;
  if (submitted === undefined) throw new Error(`${simulator.name} asked nobody`);
  const playing: AdapterContext = { ...recording, sendJson: async () => submitted };
  for (let index = 0; index < SUBMITS / 10; index++) await vendor.submit(request, playing);
  const before = process.cpuUsage();
  for (let index = 0; index < SUBMITS; index++) await vendor.submit(request, playing);
  const { user, system } = process.cpuUsage(before);
  const cpuUs = (user + system) / SUBMITS;
  if (vendor.passthrough) basis = cpuUs;
  process.stdout.write(
    `${simulator.name.padEnd(12)} ${cpuUs.toFixed(1).padStart(6)} µs a submit, ${(cpuUs - basis).toFixed(1).padStart(6)} beyond sora; tokens made: ${tokens}\n`,
  );
  await sandbox.stop();
}
await outbound.close();
