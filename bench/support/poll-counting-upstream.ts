import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A Sora-style upstream whose jobs never end, for polls only; `/seen` reports the polls since its previous request. */
const latencyMs = Number(process.env.LATENCY_MS ?? '0');
let polledAt = new Map<string, number>();
let intervals: number[] = [];
let polls = 0;
let bySecond = new Map<number, number>();
const underWay = new Map<string, number>();
let atOnce = 0;

const server = createServer((request, response) => {
  request.resume();
  if (request.url === '/seen') {
    const sorted = Float64Array.from(intervals).sort();
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    response.end(
      JSON.stringify({
        intervals: [0, 0.01, 0.5, 0.99, 1].map(at),
        polls,
        tasks: polledAt.size,
        atOnce,
        perSecond: Math.max(0, ...bySecond.values()),
      }),
    );
    [polledAt, intervals, polls, bySecond, atOnce] = [new Map(), [], 0, new Map(), 0];
    return;
  }
  const now = performance.now();
  const id = request.url?.split('/').at(-1) ?? '';
  const channel = request.headers.authorization ?? '';
  const before = polledAt.get(id);
  if (before !== undefined) intervals.push(now - before);
  polledAt.set(id, now);
  polls += 1;
  const second = Math.floor(now / 1_000);
  bySecond.set(second, (bySecond.get(second) ?? 0) + 1);
  const running = (underWay.get(channel) ?? 0) + 1;
  underWay.set(channel, running);
  atOnce = Math.max(atOnce, running);
  const body = JSON.stringify({
    id,
    object: 'video',
    model: 'sora-2',
    status: 'in_progress',
    progress: 10,
    created_at: 1,
  });
  setTimeout(() => {
    underWay.set(channel, (underWay.get(channel) ?? 1) - 1);
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      .end(body);
  }, latencyMs);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.stdout.write(`listening ${(server.address() as AddressInfo).port}\n`));
