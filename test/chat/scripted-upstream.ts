import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request the upstream received. */
export interface ScriptedRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

type Responder = (response: ServerResponse, request: ScriptedRequest) => unknown;

/** An upstream on loopback whose responses a test sets. */
export interface ScriptedUpstream {
  readonly url: string;
  readonly requests: ScriptedRequest[];
  /** Sets the response to all further requests. */
  respondWith(answer: Responder): void;
  stop(): Promise<void>;
}

/**
 * An upstream that writes exactly the given bytes, for responses that a simulator of a correct upstream would never
 * send.
 */
export async function startScriptedUpstream(): Promise<ScriptedUpstream> {
  let responder: Responder = (response) => response.end();
  const requests: ScriptedRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => {
      const seen = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() };
      requests.push(seen);
      responder(response, seen);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    respondWith: (answer) => {
      responder = answer;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
