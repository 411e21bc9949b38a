import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NO_TRACING } from '../src/server/platform/tracing/tracing.ts';
import { startChatService } from './chat-service.ts';
import { cpuSeconds, load } from './http-load.ts';
import { startNginx } from './nginx.ts';
import { median } from './quantile.ts';

/**
 * What traces cost a model call, in CPU time of the service: `node bench/traces.ts`; needs nginx. Four services take turns: two without
 * traces, whose difference is what the measurement cannot tell apart, one that records every call and one that records a twentieth. What
 * remains in the code where traces are off is measured by itself, since it is less than that difference.
 */
const ROUNDS = Number(process.env.ROUNDS ?? '8');
const SECONDS = Number(process.env.SECONDS ?? '2');

const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_795_140_000,
  model: 'bench-chat',
  choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(72).trim() }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 32, completion_tokens: 72, total_tokens: 104 },
});
const body = JSON.stringify({ model: 'bench-chat', messages: [{ role: 'user', content: 'Say a few words.' }] });

const upstream = await startNginx(`location / { return 200 '${ANSWER}'; }`);
const collector = createServer((request, response) => request.resume().on('end', () => response.end('{}')));
collector.listen(0, '127.0.0.1');
await once(collector, 'listening');
const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
const share = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.05' };
const subjects = [
  { name: 'off', env: {} },
  { name: 'off, another process', env: {} },
  { name: 'a twentieth', env: { OTEL_EXPORTER_OTLP_ENDPOINT, ...share } },
  { name: 'every call', env: { OTEL_EXPORTER_OTLP_ENDPOINT } },
];
const running = [];
for (const [index, { name, env }] of subjects.entries())
  running.push({ name, cpuUs: [] as number[], ...(await startChatService(4_390 + index, upstream.origin, env)) });

// The first round warms up.
for (let round = 0; round <= ROUNDS; round += 1)
  for (const { service, key, cpuUs } of running) {
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
const base = median(running[0]?.cpuUs ?? []);
for (const { name, cpuUs } of running)
  console.log(`${name}: ${median(cpuUs).toFixed(1)} µs CPU a call, ${(median(cpuUs) / base).toFixed(3)} × off`);

/** What a model call does with traces that are off: a span of the request, one of the attempt, three times asked for a parent. */
function callWithoutTraces(): void {
  const span = NO_TRACING.start({ name: 'POST', kind: 'server', parent: undefined });
  NO_TRACING.run(span, () => NO_TRACING.current());
  const attempt = NO_TRACING.start({ name: 'chat', kind: 'client', attributes: { model: body, channel: ROUNDS } });
  NO_TRACING.run(attempt, () => NO_TRACING.current() ?? NO_TRACING.current());
}
const CALLS = 5_000_000;
for (let call = 0; call < CALLS; call += 1) callWithoutTraces();
const startedAt = performance.now();
for (let call = 0; call < CALLS; call += 1) callWithoutTraces();
const ownUs = ((performance.now() - startedAt) / CALLS) * 1_000;
console.log(
  `left in the code where traces are off: ${ownUs.toFixed(3)} µs a call, ${((100 * ownUs) / base).toFixed(2)} %`,
);

for (const { service } of running) await service.stop();
await upstream.stop();
collector.closeAllConnections();
collector.close();
