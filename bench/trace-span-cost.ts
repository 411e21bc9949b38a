/**
 * CPU cost of a model call's spans: `node bench/trace-span-cost.ts`; needs nginx, which acts as the collector. Creates
 * a request span and one attempt span as the service does, alternately with and without tracing, including export and
 * response. Unlike the difference of two services under load (`tracing-overhead.ts`), this works on a busy machine: the
 * minimum of many short rounds counts, because other load can only add to it.
 */
import { openOpenTelemetry } from '../src/server/platform/tracing/open-telemetry.ts';
import { NO_TRACING, type Tracing, type TracingSettings } from '../src/server/platform/tracing/tracing.ts';
import { median } from './support/quantile.ts';
import { startNginx } from './support/start-nginx.ts';

/** Half of the spans the SDK buffers before it drops some. */
const CALLS = 500;
const CALLS_WITHOUT = 500_000;
const ROUNDS = 40;

/** Creates the spans of a model call and the tracing queries the service makes in between. */
function spansOfCall(tracing: Tracing): void {
  const request = tracing.start({ name: 'POST', kind: 'server', parent: undefined });
  request?.set({ 'http.request.method': 'POST', 'url.path': '/v1/chat/completions' });
  request?.rename('POST /v1/chat/completions');
  tracing.run(request, () => {
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'bench-chat',
      'server.address': '127.0.0.1',
      'reelgate.channel.id': 1,
    };
    const parent = tracing.current();
    const attempt = tracing.start({ name: 'chat bench-chat', kind: 'client', parent, attributes });
    tracing.run(attempt, () => tracing.current());
    attempt?.set({ 'gen_ai.usage.input_tokens': 32, 'gen_ai.usage.output_tokens': 72 });
    attempt?.end();
  });
  request?.set({ 'http.response.status_code': 200 });
  request?.end();
}

/** µs of CPU per call, until every span is exported. */
async function cpuOf(open: () => Tracing, calls: number): Promise<number> {
  const before = process.cpuUsage();
  const tracing = open();
  for (let call = 0; call < calls; call += 1) spansOfCall(tracing);
  await tracing.close();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

const collector = await startNginx('client_max_body_size 50m; location / { return 200 "{}"; }');
const settings = (sampler: string, share?: string): TracingSettings => ({
  otelSdkDisabled: false,
  otelExporterOtlpEndpoint: undefined,
  otelExporterOtlpTracesEndpoint: undefined,
  otelExporterOtlpHeaders: {},
  otelServiceName: 'reelgate',
  otelResourceAttributes: {},
  otelTracesSampler: sampler,
  otelTracesSamplerArg: share,
});
const openWith = (sampler: string, share?: string) => () =>
  openOpenTelemetry(`${collector.origin}/v1/traces`, settings(sampler, share), { instance: 'bench', version: '0' });
const subjects = [
  { name: 'off', open: () => NO_TRACING, calls: CALLS_WITHOUT, cpuUs: [] as number[] },
  { name: 'every call', open: openWith('parentbased_always_on'), calls: CALLS, cpuUs: [] as number[] },
  { name: 'a twentieth', open: openWith('parentbased_traceidratio', '0.05'), calls: 10 * CALLS, cpuUs: [] as number[] },
];
// The first rounds warm up.
for (let round = -5; round < ROUNDS; round += 1)
  for (const { open, calls, cpuUs } of subjects) {
    const measured = await cpuOf(open, calls);
    if (round >= 0) cpuUs.push(measured);
  }
for (const { name, cpuUs } of subjects)
  console.log(
    `${name}: ${Math.min(...cpuUs).toFixed(3)} µs CPU a call at least, ${median(cpuUs).toFixed(3)} in the median`,
  );
await collector.stop();
