import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import { type OutboundOptions, openOutbound } from './client.ts';
import { guardedConnector, type ReadingOptions } from './guard.ts';
import {
  Exchange,
  type ExchangeControl,
  type ExchangeHandler,
  type OutboundClient,
  type OutboundError,
  type StreamedRequest,
} from './outbound.ts';

/** A complete request as the server received it. */
export interface ReceivedRequest {
  readonly path: string;
  readonly body: Buffer;
  readonly socket: Socket;
  /** Index of its connection, and its index on that connection. */
  readonly connection: number;
  readonly turn: number;
}

/** Passes each complete request to `answer`. */
function recordRequests(answer: (request: ReceivedRequest) => void) {
  const requests: ReceivedRequest[] = [];
  const sockets: Socket[] = [];
  const accept = (socket: Socket): void => {
    const connection = sockets.push(socket) - 1;
    let turn = 0;
    let received: Buffer = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      const end = received.indexOf('\r\n\r\n') + 4;
      const head = received.toString('latin1', 0, Math.max(3, end));
      const length = Number(/\r\ncontent-length: (\d+)\r\n/.exec(head)?.[1] ?? 0);
      if (end < 4 || received.length < end + length) return;
      const body = received.subarray(end, end + length);
      received = received.subarray(end + length);
      const request = { path: head.split(' ')[1] ?? '', body, socket, connection, turn: turn++ };
      requests.push(request);
      answer(request);
    });
  };
  return { requests, sockets, accept };
}

/** Starts a server of raw sockets, which is stopped when the test ends. */
export async function startServer(
  t: TestContext,
  answer: (request: ReceivedRequest) => void,
  host = '127.0.0.1',
  make: (accept: (socket: Socket) => void) => Server = (accept) => createServer({ allowHalfOpen: true }, accept),
) {
  let accept: (socket: Socket) => void = () => {};
  const server = make((socket) => accept(socket));
  const opened = recordRequests(answer);
  accept = opened.accept;
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  t.after(() => {
    for (const socket of opened.sockets) socket.destroy();
    server.close();
  });
  const { requests, sockets } = opened;
  return { requests, sockets, port, origin: `http://${host.includes(':') ? `[${host}]` : host}:${port}` };
}

type Sender = Pick<OutboundClient, 'stream'>;

/** A client with this many connections per origin, closed when the test ends. */
export function openClient(t: TestContext, connections = 10, more: OutboundOptions = {}): OutboundClient {
  const client = openOutbound({ maxSocketsPerOrigin: connections, ...more });
  t.after(() => client.close());
  return client;
}

/** Sends like the client, but to servers with a self-signed certificate. */
export function openTlsSender(t: TestContext, connections = 10): Sender {
  const connect = guardedConnector({
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    allows: () => true,
    timeoutMs: 30_000,
    signal: new AbortController().signal,
    reading: { rejectUnauthorized: false } as ReadingOptions,
  });
  const agent = new Agent({ connect, connections, allowH2: false, pipelining: 1 });
  t.after(() => agent.destroy());
  return {
    stream: (request, handler) => {
      const { origin, pathname } = new URL(request.url);
      return new Exchange(request, handler).begin(agent, { origin, path: pathname }, request.headers ?? {});
    },
  };
}

/** Actions of a handler in addition to recording its calls. */
export interface Hooks {
  readonly head?: (control: ExchangeControl) => void;
  readonly chunk?: (control: ExchangeControl) => void;
  readonly end?: () => void;
}

/** Records the calls of a handler, one line per call, without chunks. */
export class Notes implements ExchangeHandler {
  readonly log: string[] = [];
  readonly #hooks: Hooks;
  readonly #done = Promise.withResolvers<void>();
  readonly #begun = Promise.withResolvers<ExchangeControl>();
  #chunks: Buffer[] = [];
  headers: Readonly<Record<string, string>> = {};
  error: OutboundError | undefined;

  constructor(hooks: Hooks = {}) {
    this.#hooks = hooks;
  }

  /** Resolves at the end or the failure. */
  get done(): Promise<void> {
    return this.#done.promise;
  }
  /** Resolves with the head. */
  get begun(): Promise<ExchangeControl> {
    return this.#begun.promise;
  }
  get body(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  head(status: number, headers: Readonly<Record<string, string>>, control: ExchangeControl): void {
    this.log.push(`head ${status}`);
    this.headers = headers;
    this.#begun.resolve(control);
    this.#hooks.head?.(control);
  }
  chunk(bytes: Buffer, control: ExchangeControl): void {
    this.#chunks.push(bytes);
    this.#hooks.chunk?.(control);
  }
  end(): void {
    this.log.push('end');
    this.#done.resolve();
    this.#hooks.end?.();
  }
  fail(error: OutboundError): void {
    this.error = error;
    this.log.push(`fail ${error.phase}`);
    this.#done.resolve();
  }
}

/** Sends a request, by default a GET with timeouts that no test reaches. */
export function ask(
  client: Sender,
  origin: string,
  hooks: Hooks = {},
  { path = '/', ...more }: Partial<StreamedRequest> & { readonly path?: string } = {},
): Notes {
  const notes = new Notes(hooks);
  const url = `${origin}${path}`;
  const limits = { connectTimeoutMs: 30_000, headersTimeoutMs: 60_000, idleTimeoutMs: 60_000 };
  client.stream({ method: 'GET', url, private: true, ...limits, ...more }, notes);
  return notes;
}

/** Waits until the condition holds; on a timeout, the test's own assertion reports the failure. */
export async function until(isSo: () => boolean, withinMs = 20_000): Promise<void> {
  const endsAt = performance.now() + withinMs;
  while (!isSo() && performance.now() < endsAt) await sleep(5);
}

/** Lets a connection become idle after a response. */
export const turn = async (): Promise<void> => {
  await nextTurn();
  await nextTurn();
  await nextTurn();
};

/** Status line of a successful response. */
export const OK = 'HTTP/1.1 200 OK\r\n';
/** A complete response with this body. */
export const answerOf = (body: string, lines = ''): string =>
  `${OK}${lines}content-length: ${body.length}\r\n\r\n${body}`;

/** Responds with the path of the request. */
export const answerWithPath = ({ socket, path }: ReceivedRequest): void => void socket.write(answerOf(path));

/** The recorded calls of a request that received its response. */
export const ANSWERED: readonly string[] = ['head 200', 'end'];
