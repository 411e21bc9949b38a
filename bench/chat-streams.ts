import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { portkeyHeaders, startPortkey } from './rivals/portkey.ts';
import { type Process, startScript } from './support/child-processes.ts';
import { cpuSeconds, memoryMb } from './support/process-cpu-and-memory.ts';
import { postBytes } from './support/raw-socket-load.ts';
import { startChatService } from './support/start-chat-service.ts';
import { startNginxProxy } from './support/start-nginx.ts';

/**
 * Many streams of 50 events, 100 ms apart, begun within `RAMP_MS`: how long the first event takes, what an event costs, what
 * a stream holds in memory, and whether every event arrives once and in order.
 *
 * Repeat with `cd bench && npm ci && cd .. && node bench/chat-streams.ts`; needs nginx and `ulimit -n 20000`. `STREAMS`,
 * `CHUNKS`, `GAP_MS` and `RAMP_MS` change the picture; `PORTKEY=0` leaves that one out, which takes long.
 */
const STREAMS = Number(process.env.STREAMS ?? '2000');
const CHUNKS = Number(process.env.CHUNKS ?? '50');
const GAP_MS = process.env.GAP_MS ?? '100';
const RAMP_MS = Number(process.env.RAMP_MS ?? '2000');
const LONGEST_MS = 120_000;

const BODY = JSON.stringify({ model: 'bench-chat', stream: true, messages: [{ role: 'user', content: 'Speak.' }] });
const request = (headers: Readonly<Record<string, string>>): Buffer => postBytes('/v1/chat/completions', headers, BODY);

const portOf = ({ origin }: Process): number => Number(new URL(origin).port);
const upstream = await startScript('bench/support/streaming-chat-upstream.ts', { CHUNKS: String(CHUNKS), GAP_MS });
const { service, key } = await startChatService(4_381, upstream.origin);
const portkey = process.env.PORTKEY === '0' ? undefined : await startPortkey();
const plain = request({ authorization: 'Bearer sk-bench' });
const subjects: { readonly name: string; readonly process: Process; readonly bytes: Buffer }[] = [
  { name: 'direct', process: upstream, bytes: plain },
  { name: 'nginx, 1 worker', process: await startNginxProxy(portOf(upstream)), bytes: plain },
  {
    name: 'bare Node proxy',
    process: await startScript('bench/rivals/bare-proxy.ts', { UPSTREAM: upstream.origin }),
    bytes: plain,
  },
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

try {
  write(['subject', 'first p50 ms', 'first p99 ms', 'CPU µs/event', 'KB/stream', 'lost or disordered']);
  write(Array<string>(6).fill('---'));
  for (const { name, process, bytes } of subjects) {
    await listen(portOf(process), bytes, Math.min(STREAMS, 200), 200);
    const { pid } = process;
    const idleMb = memoryMb(pid);
    const cpu = cpuSeconds(pid);
    let mostMb = idleMb;
    const watch = setInterval(() => {
      mostMb = Math.max(mostMb, memoryMb(pid));
    }, 100);
    const { firstMs, wrong } = await listen(portOf(process), bytes, STREAMS, RAMP_MS);
    clearInterval(watch);
    const at = (share: number): string => (firstMs[Math.floor((firstMs.length - 1) * share)] ?? 0).toFixed(1);
    write([
      name,
      at(0.5),
      at(0.99),
      (((cpuSeconds(pid) - cpu) / (STREAMS * CHUNKS)) * 1e6).toFixed(1),
      (((mostMb - idleMb) * 1_024) / STREAMS).toFixed(0),
      String(wrong),
    ]);
  }
} finally {
  await Promise.all(subjects.map(({ process }) => process.stop()));
}

/** Opens this many streams, evenly over a time, and reads them all to their end. */
async function listen(port: number, bytes: Buffer, streams: number, rampMs: number) {
  const firstMs: number[] = [];
  let wrong = 0;
  const hear = async (index: number): Promise<void> => {
    await pause((index * rampMs) / streams);
    const socket = connect(port, '127.0.0.1').setNoDelay(true);
    const sentAt = performance.now();
    socket.write(bytes);
    let text = '';
    socket.setTimeout(LONGEST_MS, () => socket.destroy());
    try {
      for await (const chunk of socket as AsyncIterable<Buffer>) {
        if (text === '' || !text.includes('data: ')) {
          text += chunk.toString();
          if (text.includes('data: ')) firstMs.push(performance.now() - sentAt);
        } else text += chunk.toString();
        if (text.includes('[DONE]')) break;
      }
    } catch {
      // Told by what is missing.
    }
    const heard = [...text.matchAll(/ word (\d+) of it/g)].map(([, word]) => Number(word));
    if (heard.length !== CHUNKS || heard.some((word, place) => word !== place)) wrong++;
  };
  await Promise.all(Array.from({ length: streams }, (_, index) => hear(index)));
  firstMs.sort((a, b) => a - b);
  return { firstMs, wrong };
}

function write(cells: readonly string[]): void {
  process.stdout.write(`| ${cells.map((cell) => cell.padEnd(16)).join(' | ')} |\n`);
}
