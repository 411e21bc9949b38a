import { connect, type Socket } from 'node:net';

/** Load to generate. */
export interface RawLoadOptions {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** One complete HTTP request, sent repeatedly on keep-alive connections. */
  readonly request: Buffer;
}

/** Result of a load. */
export interface RawLoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** Responses with a status other than 200, and broken connections. */
  readonly failures: number;
  readonly firstFailure?: string;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');

/**
 * Writes the same bytes on every connection as soon as the previous response is complete, at a fraction of an HTTP
 * client's cost.
 */
export async function rawLoad({ port, connections, seconds, request }: RawLoadOptions): Promise<RawLoadResult> {
  const latencies: number[] = [];
  const failures: string[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  const keepBusy = (): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1').setNoDelay(true);
      let sentAt = 0;
      const send = (): void => {
        sentAt = performance.now();
        socket.write(request);
      };
      socket.once('connect', send);
      readResponses(socket, (head) => {
        const now = performance.now();
        latencies.push(now - sentAt);
        if (!head.startsWith('HTTP/1.1 200')) failures.push(head.slice(0, 200));
        if (now < endsAt) send();
        else socket.destroy();
      });
      socket.once('error', (error) => failures.push(error.message));
      socket.once('close', () => {
        if (performance.now() < endsAt) failures.push('closed early');
        resolve();
      });
    });
  await Promise.all(Array.from({ length: connections }, keepBusy));
  const elapsed = (performance.now() - startedAt) / 1_000;
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => (latencies[Math.floor((latencies.length - 1) * share)] ?? 0) * 1_000;
  const [firstFailure] = failures;
  return {
    requests: latencies.length,
    perSecond: latencies.length / elapsed,
    p50Us: at(0.5),
    p99Us: at(0.99),
    failures: failures.length,
    ...(firstFailure === undefined ? {} : { firstFailure }),
  };
}

/** A call every 100 ms on one connection. */
const TRICKLE_MS = 100;

/**
 * Sends a request every 100 ms until stopped, as a gateway in use gets between two measured windows: after a pause
 * without any, V8 has dropped the code compiled for shapes whose last object was collected, and the next window would
 * measure its compiler.
 *
 * @returns stops it
 */
export function trickle(port: number, request: Buffer): () => void {
  const socket = connect(port, '127.0.0.1').setNoDelay(true).resume();
  const timer = setInterval(() => socket.write(request), TRICKLE_MS);
  socket.once('close', () => clearInterval(timer)).on('error', () => undefined);
  return () => socket.destroy();
}

/** Calls back at the end of each response, framed by content-length or chunks. */
function readResponses(socket: Socket, onAnswer: (head: string) => void): void {
  let rest: Buffer | undefined;
  socket.on('data', (bytes: Buffer) => {
    const data = rest === undefined ? bytes : Buffer.concat([rest, bytes]);
    const headEnd = data.indexOf(HEAD_END);
    const head = headEnd === -1 ? '' : data.toString('latin1', 0, headEnd);
    const length = /content-length: (\d+)/i.exec(head);
    const isWhole =
      headEnd !== -1 &&
      (length === null ? data.indexOf(LAST_CHUNK, headEnd) !== -1 : data.length >= headEnd + 4 + Number(length[1]));
    rest = isWhole ? undefined : data;
    if (isWhole) onAnswer(head);
  });
}

/** Encodes a POST request with a JSON body. */
export function postBytes(path: string, headers: Readonly<Record<string, string>>, body: string): Buffer {
  const lines = Object.entries({
    host: '127.0.0.1',
    'content-type': 'application/json',
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
  }).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}
