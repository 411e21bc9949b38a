import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ScriptedRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

type Play = (response: ServerResponse, request: ScriptedRequest) => unknown;

export interface ScriptedUpstream {
  readonly url: string;
  readonly requests: ScriptedRequest[];
  /** What it answers from now on. */
  play(answer: Play): void;
  stop(): Promise<void>;
}

/** An upstream that writes the very bytes it is told, for what no simulator of a sound one would say. */
export async function startScripted(): Promise<ScriptedUpstream> {
  let play: Play = (response) => response.end();
  const requests: ScriptedRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => {
      const seen = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() };
      requests.push(seen);
      play(response, seen);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    play: (answer) => {
      play = answer;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
