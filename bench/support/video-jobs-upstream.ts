import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A Sora-style upstream that accepts every job immediately and finishes none until `/finish` (`/begin` returns to that
 * state); `LATENCY_MS` delays every response.
 */
const latencyMs = Number(process.env.LATENCY_MS ?? '0');
const FILE = Buffer.alloc(Number(process.env.FILE_BYTES ?? '0'), 1);
let count = 0;
let polls = 0;
/** Whether jobs are reported as finished. */
let isFinished = process.env.DONE === '1';

const server = createServer((request, response) => {
  request.resume();
  request.once('end', () => {
    if (request.url === '/count') {
      response.end(String(polls));
      return;
    }
    if (request.url === '/finish' || request.url === '/begin') {
      isFinished = request.url === '/finish';
      response.end();
      return;
    }
    if (request.url?.endsWith('/content') === true) {
      response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': FILE.length });
      response.end(FILE);
      return;
    }
    if (request.method === 'POST') count += 1;
    else polls += 1;
    const made = `video_${process.pid}_${count.toString(36)}`;
    const id = request.method === 'POST' ? made : (request.url?.split('/').at(-1) ?? '');
    const done = isFinished && request.method === 'GET';
    const body = JSON.stringify({
      id,
      object: 'video',
      model: 'sora-2',
      status: done ? 'completed' : request.method === 'POST' ? 'queued' : 'in_progress',
      progress: done ? 100 : 5,
      created_at: 1795140000,
      seconds: '4',
      size: '720x1280',
    });
    const answer = (): void =>
      void response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
        .end(body);
    if (latencyMs === 0) answer();
    else setTimeout(answer, latencyMs);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.stdout.write(`listening ${(server.address() as AddressInfo).port}\n`));
