import { setTimeout as pause } from 'node:timers/promises';
import { buildDiskShim } from '../test/disk-shim.ts';
import { portOf, type Service, startScript } from './support/child-processes.ts';
import { quantile } from './support/quantile.ts';
import { postBytes, rawLoad } from './support/raw-socket-load.ts';
import { reportFigure } from './support/report-figure.ts';
import { startChatService } from './support/start-chat-service.ts';

/**
 * The service on a disk whose every flush takes 20 ms longer, alternating with the unchanged disk: health checks while
 * 20 videos a second are submitted, the submits, the gaps of 200 streams of 50 events a second, and 500 model calls a
 * second. Reports how much the delay of the disk adds. Needs a C compiler for the shim. `SECONDS` and `ROUNDS` change
 * the length.
 */
const SECONDS = Number(process.env.SECONDS ?? '8');
const ROUNDS = Number(process.env.ROUNDS ?? '3');
const FLUSH_MS = 20;
const STREAMS = 200;
const EVENT_GAP_MS = 20;
const SUBMITS_PER_SECOND = 20;
const CALLS_PER_SECOND = 500;

const shim = buildDiskShim();
if (!shim.isWhole) {
  process.stdout.write('no C compiler: flushes cannot be delayed\n');
  process.exit(0);
}
const videos = await startScript('bench/support/video-jobs-upstream.ts');
const streams = await startScript('bench/support/streaming-chat-upstream.ts', {
  CHUNKS: String((SECONDS * 1_000) / EVENT_GAP_MS),
  GAP_MS: String(EVENT_GAP_MS),
});
const short = await startScript('bench/support/streaming-chat-upstream.ts', { CHUNKS: '1', GAP_MS: '1' });

const SUBJECTS = ['livez', 'submit', 'gap', 'call'] as const;

/** Milliseconds by subject. */
type Latencies = Record<(typeof SUBJECTS)[number], number[]>;

interface Measured extends Latencies {
  callsPerSecond: number;
}

async function measure(port: number, env: Readonly<Record<string, string>>): Promise<Measured> {
  const found: Measured = { livez: [], submit: [], gap: [], call: [], callsPerSecond: 0 };
  const { service, key } = await startChatService(port, short.origin, env);
  try {
    await addChannels(service);
    const headers = { authorization: `Bearer ${key}` };
    const chat = (model: string, stream: boolean) =>
      JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Speak.' }] });
    const warm = postBytes('/v1/chat/completions', headers, chat('bench-chat', true));
    await rawLoad({ port: portOf(service), connections: 16, seconds: 3, request: warm });
    await Promise.all([
      perSecond(SUBMITS_PER_SECOND, async () => {
        const body = JSON.stringify({ model: 'sora-2', prompt: 'a heron lands on a jetty' });
        found.submit.push(await timed(`${service.origin}/v1/videos`, headers, body));
      }),
      perSecond(50, async () => void found.livez.push(await timed(`${service.origin}/livez`))),
    ]);
    const spoken = chat('bench-long', true);
    await Promise.all([
      ...Array.from({ length: STREAMS }, () => gapsOf(service, headers, spoken, found.gap)),
      perSecond(SUBMITS_PER_SECOND, async () => {
        const body = JSON.stringify({ model: 'sora-2', prompt: 'a heron lands on a jetty' });
        await timed(`${service.origin}/v1/videos`, headers, body);
      }),
    ]);
    const call = chat('bench-chat', true);
    const begunAt = performance.now();
    await perSecond(CALLS_PER_SECOND, async () => {
      found.call.push(await timed(`${service.origin}/v1/chat/completions`, headers, call));
    });
    found.callsPerSecond = found.call.length / ((performance.now() - begunAt) / 1_000);
    return found;
  } finally {
    await service.stop();
  }
}

async function addChannels({ operator }: Service): Promise<void> {
  const price = { input_per_million: 1_000_000, output_per_million: 4_000_000 };
  await operator.requestData('POST', '/api/admin/models', { id: 'bench-long', vendor: 'openai', kind: 'chat', price });
  const credentials = { api_key: 'sk-upstream-0123456789' };
  await operator.addChannel({
    vendor: 'openai',
    base_url: streams.origin,
    credentials,
    models: ['bench-long'],
    options: { private: true },
  });
  await operator.addChannel({ vendor: 'sora', base_url: videos.origin, credentials, models: ['sora-2'] });
}

/** Starts work at a constant rate, whether or not earlier work has ended. */
async function perSecond(rate: number, work: () => Promise<void>): Promise<void> {
  const begunAt = performance.now();
  const all: Promise<void>[] = [];
  for (let index = 0; index < rate * SECONDS; index++) {
    const waitMs = begunAt + (index * 1_000) / rate - performance.now();
    if (waitMs > 0) await pause(waitMs);
    all.push(work());
  }
  await Promise.all(all);
}

async function timed(url: string, headers: Readonly<Record<string, string>> = {}, body?: string): Promise<number> {
  const startedAt = performance.now();
  const init = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body };
  const response = await fetch(url, body === undefined ? {} : init);
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${url} was answered with ${response.status}`);
  return performance.now() - startedAt;
}

async function gapsOf(
  { origin }: Service,
  headers: Readonly<Record<string, string>>,
  body: string,
  into: number[],
): Promise<void> {
  const init = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body };
  const response = await fetch(`${origin}/v1/chat/completions`, init);
  let last: number | undefined;
  for await (const _ of response.body ?? []) {
    const now = performance.now();
    if (last !== undefined) into.push(now - last);
    last = now;
  }
}

/** A quantile of a subject over all rounds. */
const over = (rounds: readonly Measured[], subject: keyof Latencies, share: number): number =>
  quantile(
    rounds.flatMap((round) => round[subject]),
    share,
  );

function report(unchanged: readonly Measured[], delayed: readonly Measured[]): void {
  const added = (subject: keyof Latencies): number => over(delayed, subject, 0.99) - over(unchanged, subject, 0.99);
  const name = (subject: string): string => `flushes ${FLUSH_MS} ms slower: ${subject}`;
  reportFigure({ subject: name('`/livez` p99, added'), unit: 'ms', measured: added('livez'), asked: 5 });
  reportFigure({
    subject: name(`gap in ${STREAMS} streams p99, added`),
    unit: 'ms',
    measured: added('gap'),
    asked: 10,
  });
  reportFigure({
    subject: name('submit of a video p50'),
    unit: 'flushes',
    measured: over(delayed, 'submit', 0.5) / FLUSH_MS,
    asked: 2.5,
  });
  const rates = delayed.map(({ callsPerSecond }) => callsPerSecond);
  reportFigure({
    subject: name('model calls'),
    unit: '/s',
    measured: quantile(rates, 0.5),
    asked: CALLS_PER_SECOND,
    peer: 'sent',
  });
  reportFigure({ subject: name('model call p50'), unit: 'ms', measured: over(delayed, 'call', 0.5) });
}

const unchanged: Measured[] = [];
const delayed: Measured[] = [];
try {
  for (let round = 0; round < ROUNDS; round++) {
    unchanged.push(await measure(4_390, {}));
    delayed.push(await measure(4_391, { ...shim.env, DISK_DELAY_MS: String(FLUSH_MS) }));
  }
  for (const [name, rounds] of Object.entries({ unchanged, delayed }))
    for (const subject of SUBJECTS) {
      const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => over(rounds, subject, share).toFixed(1));
      process.stdout.write(`| ${name.padEnd(9)} | ${subject.padEnd(6)} | ${p50} | ${p95} | ${p99} |\n`);
    }
  report(unchanged, delayed);
} finally {
  for (const upstream of [videos, streams, short]) await upstream.stop();
}
