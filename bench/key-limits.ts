import { load } from './support/http-load.ts';
import { cpuSeconds } from './support/process-usage.ts';
import { reportFigure } from './support/report-figure.ts';
import { COMPLETION, startChatService } from './support/start-chat-service.ts';
import { startNginx } from './support/start-nginx.ts';

/**
 * Cost of key limits for a model call, in CPU time of the service: `node bench/key-limits.ts`; needs nginx. Keys of one
 * service alternate: two without limits, whose difference is the measurement's uncertainty, and one with every limit
 * set but never reached. The order changes from round to round, so that effects of the previous turn affect all keys
 * equally.
 */
const ROUNDS = Number(process.env.ROUNDS ?? '12');
const SECONDS = Number(process.env.SECONDS ?? '2');

const body = JSON.stringify({
  model: 'bench-chat',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Say a few words.' }],
});
const HIGH = {
  requests_per_minute: 1_000_000,
  tokens_per_minute: 1_000_000_000,
  concurrent_calls: 1_000,
  concurrent_tasks: 1_000,
};

const upstream = await startNginx(`location / { return 200 '${COMPLETION}'; }`);
const { service, key } = await startChatService(4_396, upstream.origin);
const subjects = [
  { name: 'without limits', key, cpuUs: [] as number[] },
  { name: 'without limits, another key', key: await service.operator.makeToken(), cpuUs: [] as number[] },
  { name: 'with every limit', key: await service.operator.makeToken(HIGH), cpuUs: [] as number[] },
];
// The first round warms up.
for (let round = 0; round <= ROUNDS; round += 1)
  for (let turn = 0; turn < subjects.length; turn += 1) {
    const subject = subjects[(round + turn) % subjects.length];
    if (subject === undefined) continue;
    const before = cpuSeconds(service.pid);
    const headers = { authorization: `Bearer ${subject.key}`, 'content-type': 'application/json' };
    const { requests, failures, firstFailure } = await load({
      origin: service.origin,
      connections: 16,
      seconds: SECONDS,
      request: () => ({ method: 'POST', path: '/v1/chat/completions', headers, body }),
    });
    if (failures > 0) throw new Error(firstFailure);
    if (round > 0) subject.cpuUs.push(((cpuSeconds(service.pid) - before) / requests) * 1e6);
  }
await service.stop();
await upstream.stop();

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const base = median(subjects[0]?.cpuUs ?? []);
const limited = subjects.at(-1);
if (limited !== undefined)
  reportFigure({
    subject: 'model call of a key with every limit, CPU',
    unit: '×',
    measured: median(limited.cpuUs) / base,
    asked: 1,
    peer: 'a key without limits',
  });
for (const { name, cpuUs } of subjects)
  console.log(`${name}: ${median(cpuUs).toFixed(1)} µs CPU a call, ${(median(cpuUs) / base).toFixed(3)} × without`);
