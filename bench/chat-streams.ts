import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { portkeyHeaders, startPortkey } from './rivals/portkey.ts';
import { type Process, portOf, startScript } from './support/child-processes.ts';
import { cpuSeconds, memoryMb } from './support/process-usage.ts';
import { median, quantile, spreadOf } from './support/quantile.ts';
import { postBytes } from './support/raw-socket-load.ts';
import { reportFigure } from './support/report-figure.ts';
import { startChatService } from './support/start-chat-service.ts';
import { startNginxProxy } from './support/start-nginx.ts';
import { warmUp } from './support/warm-up.ts';

/**
 * Many streams of 25 events, 100 ms apart, started within 2 s. Measures time to the first event, CPU per event, memory
 * per stream the first time, and whether every event arrives once and in order. Subjects alternate once each is warm.
 * If this load takes the bare proxy more than a fifth of a core, both times are stretched accordingly: near a full
 * core, first events wait for those of other streams, and the figure only shows the machine's speed.
 *
 * Run `cd bench && npm ci && cd .. && node bench/chat-streams.ts`; needs nginx and `ulimit -n 20000`. `STREAMS`,
 * `CHUNKS`, `STRETCH` (factor for both times) and `ROUNDS` change the load; `PORTKEY=0` skips Portkey, which takes
 * long.
 */
const STREAMS = Number(process.env.STREAMS ?? '2000');
const CHUNKS = Number(process.env.CHUNKS ?? '25');
const QUICK_GAP_MS = 100;
const QUICK_RAMP_MS = 2_000;
/** Maximum load of the bare proxy, as a share of one core. */
const MOST_BUSY = 0.2;
const ROUNDS = Number(process.env.ROUNDS ?? '5');
const LONGEST_MS = 120_000;

interface Subject {
  readonly name: string;
  readonly process: Process;
  readonly bytes: Buffer;
}

const BODY = JSON.stringify({ model: 'bench-chat', stream: true, messages: [{ role: 'user', content: 'Speak.' }] });
const request = (headers: Readonly<Record<string, string>>): Buffer => postBytes('/v1/chat/completions', headers, BODY);

const startUpstream = (gapMs: number): Promise<Process> =>
  startScript('bench/support/streaming-chat-upstream.ts', { CHUNKS: String(CHUNKS), GAP_MS: String(gapMs) });
const startBareProxy = ({ origin }: Process): Promise<Process> =>
  startScript('bench/rivals/bare-proxy.ts', { UPSTREAM: origin });
const plain = request({ authorization: 'Bearer sk-bench' });

const stretch = Number(process.env.STRETCH ?? (await findStretch()));
const RAMP_MS = QUICK_RAMP_MS * stretch;
process.stdout.write(
  `${STREAMS} streams begun within ${RAMP_MS.toFixed(0)} ms, events ${(QUICK_GAP_MS * stretch).toFixed(0)} ms apart\n`,
);
const upstream = await startUpstream(QUICK_GAP_MS * stretch);
const { service, key } = await startChatService(4_381, upstream.origin);
const portkey = process.env.PORTKEY === '0' ? undefined : await startPortkey();
const subjects: readonly Subject[] = [
  { name: 'direct', process: upstream, bytes: plain },
  { name: 'nginx, 1 worker', process: await startNginxProxy(portOf(upstream)), bytes: plain },
  { name: 'bare Node proxy', process: await startBareProxy(upstream), bytes: plain },
  { name: 'Reelgate', process: service, bytes: request({ authorization: `Bearer ${key}` }) },
  ...(portkey === undefined
    ? []
    : [
        {
          name: 'Portkey',
          process: portkey,
          bytes: request({ authorization: 'Bearer sk-bench', ...portkeyHeaders(upstream.origin) }),
        },
      ]),
];

interface Figures {
  readonly p50Ms: number[];
  readonly p99Ms: number[];
  readonly cpuUs: number[];
  kbPerStream: number;
  wrong: number;
}

const all = new Map(
  subjects.map(({ name }): [string, Figures] => [name, { p50Ms: [], p99Ms: [], cpuUs: [], kbPerStream: 0, wrong: 0 }]),
);
try {
  for (const subject of subjects) {
    const figures = all.get(subject.name) as Figures;
    figures.kbPerStream = await memoryOf(subject);
    const windows = await warmUp(async () => (await loadOf(subject)).cpuUs);
    process.stdout.write(`${subject.name}: warm after ${windows} times ${STREAMS} streams\n`);
  }
  for (let round = 1; round <= ROUNDS; round++)
    for (const subject of subjects) {
      const figures = all.get(subject.name) as Figures;
      // Repeats some load, because V8 drops code optimized for active calls while the other subjects run.
      await listen(portOf(subject.process), subject.bytes, STREAMS / 4, RAMP_MS / 4);
      const { firstMs, wrong, cpuUs } = await loadOf(subject);
      figures.p50Ms.push(quantile(firstMs, 0.5));
      figures.p99Ms.push(quantile(firstMs, 0.99));
      figures.cpuUs.push(cpuUs);
      figures.wrong += wrong;
    }
  print();
  report();
} finally {
  await Promise.all(subjects.map(({ process }) => process.stop()));
}

/** Factor by which the load must be stretched compared with a fast machine; at least 1. */
async function findStretch(): Promise<number> {
  const upstream = await startUpstream(QUICK_GAP_MS);
  const bare = await startBareProxy(upstream);
  const share = 4;
  const few = async (): Promise<number> => {
    const before = cpuSeconds(bare.pid);
    await listen(portOf(bare), plain, STREAMS / share, QUICK_RAMP_MS / share);
    return (cpuSeconds(bare.pid) - before) * share;
  };
  try {
    // The first runs compile code.
    for (let times = 0; times < 3; times++) await few();
    const quickSeconds = (QUICK_RAMP_MS + CHUNKS * QUICK_GAP_MS) / 1_000;
    return Math.max(1, (await few()) / (quickSeconds * MOST_BUSY));
  } finally {
    await Promise.all([bare.stop(), upstream.stop()]);
  }
}

/** Memory that all streams add to a process that has served some before, in KB per stream. */
async function memoryOf({ process, bytes }: Subject): Promise<number> {
  await listen(portOf(process), bytes, Math.min(STREAMS, 200), 200);
  const idleMb = memoryMb(process.pid);
  let mostMb = idleMb;
  const watch = setInterval(() => {
    mostMb = Math.max(mostMb, memoryMb(process.pid));
  }, 100);
  await listen(portOf(process), bytes, STREAMS, RAMP_MS);
  clearInterval(watch);
  return ((mostMb - idleMb) * 1_024) / STREAMS;
}

/** Runs all streams once and measures the subject's CPU time per event. */
async function loadOf({ process, bytes }: Subject) {
  const before = cpuSeconds(process.pid);
  const heard = await listen(portOf(process), bytes, STREAMS, RAMP_MS);
  return { ...heard, cpuUs: ((cpuSeconds(process.pid) - before) / (STREAMS * CHUNKS)) * 1e6 };
}

function print(): void {
  write(['subject', 'first p50 ms', 'first p99 ms', 'CPU µs/event', 'KB/stream', 'lost or disordered']);
  write(Array<string>(6).fill('---'));
  for (const [name, { p50Ms, p99Ms, cpuUs, kbPerStream, wrong }] of all)
    write([
      name,
      median(p50Ms).toFixed(1),
      `${median(p99Ms).toFixed(0)} (${spreadOf(p99Ms)
        .map((value) => value.toFixed(0))
        .join('–')})`,
      median(cpuUs).toFixed(1),
      kbPerStream.toFixed(0),
      String(wrong),
    ]);
}

/** Reports Reelgate compared with the bare proxy, round by round. */
function report(): void {
  const [ours, bare] = [all.get('Reelgate'), all.get('bare Node proxy')];
  if (ours === undefined || bare === undefined) return;
  const added = ours.p99Ms.map((value, round) => value - (bare.p99Ms[round] ?? 0));
  const [peer, unit] = ['more than the bare Node proxy', 'ms'];
  reportFigure({
    subject: `first event of ${STREAMS} streams, p99`,
    unit,
    measured: median(added),
    asked: 30,
    peer,
    spread: spreadOf(added),
  });
  for (const [name, measured] of all)
    reportFigure({ subject: `event of a stream, ${name}: CPU`, unit: 'µs', measured: median(measured.cpuUs) });
  reportFigure({ subject: `memory of each of ${STREAMS} streams`, unit: 'KB', measured: ours.kbPerStream, asked: 60 });
}

/** Opens this many streams, evenly spread over a period, and reads each to its end. */
async function listen(port: number, bytes: Buffer, streams: number, rampMs: number) {
  const firstMs: number[] = [];
  let wrong = 0;
  const hear = async (index: number): Promise<void> => {
    await pause((index * rampMs) / streams);
    const socket = connect(port, '127.0.0.1').setNoDelay(true);
    const sentAt = performance.now();
    socket.write(bytes);
    const chunks: Buffer[] = [];
    let hasFirst = false;
    socket.setTimeout(LONGEST_MS, () => socket.destroy());
    // Parses as little as possible: at twenty events a millisecond the listener takes most of a core, which the subject
    // needs.
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      if (!hasFirst && chunk.includes('data: ')) {
        hasFirst = true;
        firstMs.push(performance.now() - sentAt);
      }
      if (chunk.includes('[DONE]')) socket.destroy();
    });
    // Ignored, because missing events are counted below.
    socket.on('error', () => {});
    await new Promise((resolve) => socket.once('close', resolve));
    const text = Buffer.concat(chunks).toString();
    const heard = [...text.matchAll(/ word (\d+) of it/g)].map(([, word]) => Number(word));
    if (heard.length !== CHUNKS || heard.some((word, place) => word !== place)) wrong++;
  };
  await Promise.all(Array.from({ length: streams }, (_, index) => hear(index)));
  return { firstMs, wrong };
}

function write(cells: readonly string[]): void {
  process.stdout.write(`| ${cells.map((cell) => cell.padEnd(16)).join(' | ')} |\n`);
}
