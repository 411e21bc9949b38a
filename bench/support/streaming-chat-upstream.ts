import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Streams a chat completion in `CHUNKS` numbered events of about 150 bytes, `GAP_MS` apart. Prints `listening PORT`.
 * Events are framed once and written to the socket directly, so that the upstream takes little CPU time from the
 * subjects.
 */
const chunks = Number(process.env.CHUNKS ?? '50');
const gapMs = Number(process.env.GAP_MS ?? '100');
const event = (choices: readonly unknown[], more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c-1', object: 'chat.completion.chunk', model: 'bench-chat', choices, ...more })}\n\n`;
const toChunk = (data: string): Buffer => Buffer.from(`${Buffer.byteLength(data).toString(16)}\r\n${data}\r\n`);
const words = Array.from({ length: chunks }, (_, index) =>
  toChunk(
    event([
      { index: 0, delta: { content: ` word ${index} of it` }, finish_reason: index === chunks - 1 ? 'stop' : null },
    ]),
  ),
);
const end = `${event([], { usage: { prompt_tokens: 20, completion_tokens: chunks, total_tokens: chunks + 20 } })}data: [DONE]\n\n`;

const server = createServer((request, response) => {
  request.resume();
  request.once('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    let said = 0;
    const say = (): void => {
      response.socket?.write(words[said++] ?? '');
      if (said < chunks) return;
      clearInterval(timer);
      response.end(end);
    };
    const timer = setInterval(say, gapMs);
    response.once('close', () => clearInterval(timer));
    say();
  });
});
server.keepAliveTimeout = 600_000;
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () =>
  process.stdout.write(`listening ${(server.address() as AddressInfo).port}\n`),
);
