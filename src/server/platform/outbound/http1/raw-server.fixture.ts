import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { buildConnector as Build, Dispatcher } from 'undici';
import type { DispatchRequest } from '../outbound.ts';
import { buildConnector, type Connector } from '../undici-without-fetch.ts';
import { Http1Agent } from './http1-agent.ts';
import { READ_INTO_ONE_BUFFER } from './socket-read-buffer.ts';

/** A request as the server has it, whole. */
export interface ReceivedRequest {
  readonly path: string;
  readonly body: Buffer;
  readonly socket: Socket;
  /** Which connection it came on, and which request on that, from 0. */
  readonly connection: number;
  readonly turn: number;
}

/** Gives each whole request to `answer`. */
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

/** Starts a server whose connections are answered by `answer`; the end of the test stops it. */
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

export const connector = (more: Partial<Build.BuildOptions> = {}): Connector =>
  buildConnector({
    allowH2: false,
    timeout: 2_000,
    ...READ_INTO_ONE_BUFFER,
    ...more,
  } as Build.BuildOptions);

/** An agent that the end of the test destroys. */
export function openAgent(t: TestContext, connections = 10, connect = connector()): Http1Agent {
  const agent = new Http1Agent(connect, connections);
  t.after(() => agent.destroy());
  return agent;
}

type Hook = (control: Dispatcher.DispatchController) => void;

/** What a handler does when it is called, besides taking notes. */
export interface Hooks {
  readonly start?: Hook;
  readonly head?: Hook;
  readonly data?: (control: Dispatcher.DispatchController, bytes: Buffer) => void;
  readonly end?: Hook;
}

/** Notes of what a handler was told: one line a call, that of data left out. */
export class Notes implements Dispatcher.DispatchHandler {
  readonly log: string[] = [];
  readonly #hooks: Hooks;
  readonly #done = Promise.withResolvers<void>();
  readonly #begun = Promise.withResolvers<Dispatcher.DispatchController>();
  #chunks: Buffer[] = [];
  headers: Readonly<Record<string, unknown>> = {};

  constructor(hooks: Hooks = {}) {
    this.#hooks = hooks;
  }

  /** Resolved by the first end or failure. */
  get done(): Promise<void> {
    return this.#done.promise;
  }
  /** Resolved by the head. */
  get begun(): Promise<Dispatcher.DispatchController> {
    return this.#begun.promise;
  }
  get body(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  onRequestStart(control: Dispatcher.DispatchController): void {
    this.log.push('start');
    this.#hooks.start?.(control);
  }
  onResponseStart(
    control: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, unknown>>,
  ): void {
    if (status < 200) return;
    this.log.push(`head ${status}`);
    this.headers = headers;
    this.#begun.resolve(control);
    this.#hooks.head?.(control);
  }
  onResponseData(control: Dispatcher.DispatchController, bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#hooks.data?.(control, bytes);
  }
  onResponseEnd(control: Dispatcher.DispatchController): void {
    this.log.push('end');
    this.#done.resolve();
    this.#hooks.end?.(control);
  }
  onResponseError(_control: Dispatcher.DispatchController, error: Error): void {
    this.log.push(`fail ${error.name}`);
    this.#done.resolve();
  }
}

/** Asks for a path, by default with GET and half a minute for everything. */
export function ask(
  agent: { dispatch(request: DispatchRequest, handler: Dispatcher.DispatchHandler): unknown },
  origin: string,
  hooks: Hooks = {},
  more: Partial<DispatchRequest> = {},
): Notes {
  const notes = new Notes(hooks);
  agent.dispatch(
    { method: 'GET', origin, path: '/', headers: {}, body: null, headersTimeout: 30_000, bodyTimeout: 30_000, ...more },
    notes,
  );
  return notes;
}

/** Until it is so; what never is fails by the test's own assertion. */
export async function until(isSo: () => boolean, withinMs = 2_000): Promise<void> {
  const endsAt = performance.now() + withinMs;
  while (!isSo() && performance.now() < endsAt) await sleep(5);
}

/** Lets what was freed become idle. */
export const turn = async (): Promise<void> => {
  await nextTurn();
  await nextTurn();
};

export const OK = 'HTTP/1.1 200 OK\r\n';
export const answerOf = (body: string, lines = ''): string =>
  `${OK}${lines}content-length: ${body.length}\r\n\r\n${body}`;

/** Answers with the path that was asked for. */
export const answerWithPath = ({ socket, path }: ReceivedRequest): void => void socket.write(answerOf(path));

/** The notes of a request that was answered. */
export const ANSWERED: readonly string[] = ['start', 'head 200', 'end'];
