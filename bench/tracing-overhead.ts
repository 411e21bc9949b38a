import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { load } from './support/http-load.ts';
import { cpuSeconds } from './support/process-usage.ts';
import { median, quantile } from './support/quantile.ts';
import { COMPLETION, startChatService } from './support/start-chat-service.ts';
import { startNginx } from './support/start-nginx.ts';

/**
 * Cost of tracing for a model call, in CPU time of the service: `node bench/tracing-overhead.ts`; needs nginx. Four
 * services alternate: two without tracing, whose difference is the measurement's uncertainty, one that records every
 * call, and one that records a twentieth. `trace-span-cost.ts` measures the spans alone, whose cost is below that
 * uncertainty unless the machine is otherwise idle.
 */
const ROUNDS = Number(process.env.ROUNDS ?? '8');
const SECONDS = Number(process.env.SECONDS ?? '2');

const body = JSON.stringify({ model: 'bench-chat', messages: [{ role: 'user', content: 'Say a few words.' }] });

const upstream = await startNginx(`location / { return 200 '${COMPLETION}'; }`);
const collector = createServer((request, response) => request.resume().on('end', () => response.end('{}')));
collector.listen(0, '127.0.0.1');
await once(collector, 'listening');
const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
const share = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.05' };
const subjects: readonly { name: string; env: Record<string, string> }[] = [
  { name: 'off', env: {} },
  { name: 'off, another process', env: {} },
  { name: 'a twentieth', env: { OTEL_EXPORTER_OTLP_ENDPOINT, ...share } },
  { name: 'every call', env: { OTEL_EXPORTER_OTLP_ENDPOINT } },
];
const running = [];
for (const [index, { name, env }] of subjects.entries())
  running.push({ name, cpuUs: [] as number[], ...(await startChatService(4_390 + index, upstream.origin, env)) });

// The first two rounds warm up. Every other round runs in reverse, so that no service always comes first after a pause
// of the machine.
for (let round = -1; round <= ROUNDS; round += 1)
  for (const { service, key, cpuUs } of round % 2 === 0 ? running : running.toReversed()) {
    const before = cpuSeconds(service.pid);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const request = () => ({ method: 'POST' as const, path: '/v1/chat/completions', headers, body });
    const { requests, failures, firstFailure } = await load({
      origin: service.origin,
      connections: 16,
      seconds: SECONDS,
      request,
    });
    if (failures > 0) throw new Error(firstFailure);
    if (round > 0) cpuUs.push(((cpuSeconds(service.pid) - before) / requests) * 1e6);
  }
const [off] = running;
for (const { name, cpuUs } of running) {
  // Computed per round, so that a temporary slowdown of the machine affects both.
  const ratios = cpuUs.map((us, round) => us / (off?.cpuUs[round] ?? us));
  console.log(
    `${name}: ${median(cpuUs).toFixed(1)} µs CPU a call (least ${Math.min(...cpuUs).toFixed(1)}), ` +
      `${median(ratios).toFixed(3)} × off (half of the rounds ${quantile(ratios, 0.25).toFixed(3)} to ${quantile(ratios, 0.75).toFixed(3)})`,
  );
}

for (const { service } of running) await service.stop();
await upstream.stop();
collector.closeAllConnections();
collector.close();
