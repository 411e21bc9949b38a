import { connect } from 'node:net';
import type { Endpoint } from '../../../contract/endpoint.ts';
import { AppError } from '../app-error.ts';
import { createHttpServer, type HttpOptions } from './server.ts';

/** A log line: its level and its fields. */
export type LoggedLine = readonly [level: string, fields: Readonly<Record<string, unknown>>];

/** A parsed HTTP response. */
export interface Answer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Required fields of an endpoint that these tests do not depend on. */
export const plain = {
  summary: 'for a test',
  tag: 'test',
  policy: 'public',
  envelope: 'api',
} as const satisfies Partial<Endpoint>;

/** Sends the bytes, and resolves with everything the server sends until it closes the connection. */
export const exchange = (port: number, bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    let said = '';
    socket.on('data', (chunk) => {
      said += chunk.toString('latin1');
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(said));
  });

/** Parses a raw HTTP response. */
export function parseAnswer(said: string): Answer {
  const [head = '', ...rest] = said.split('\r\n\r\n');
  const [first = '', ...lines] = head.split('\r\n');
  return {
    status: Number(first.split(' ')[1]),
    headers: Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    ),
    body: rest.join('\r\n\r\n'),
  };
}

/** The HTTP layer alone on a loopback port: no database, no modules. The test adds its routes. */
export async function startHttp(options: Partial<HttpOptions> = {}) {
  const lines: LoggedLine[] = [];
  const note = (level: string) => (fields: Readonly<Record<string, unknown>>) => void lines.push([level, fields]);
  const log: Record<string, unknown> = { level: 'debug', silent: () => {}, child: () => log };
  for (const level of ['fatal', 'error', 'warn', 'info', 'debug', 'trace']) log[level] = note(level);
  const server = await createHttpServer({
    log: log as unknown as HttpOptions['log'],
    authenticator: {
      account: async (policy) => {
        if (policy === 'root') throw new AppError('forbidden');
        return { kind: 'session', userId: 7, role: 'user', sessionId: 1 };
      },
      model: async () => ({ kind: 'model', userId: 7, tokenId: 3, models: [] }),
    },
    defaultLocale: 'en',
    baseUrl: 'http://gate.example',
    corsOrigins: [],
    maxConnectionsPerIp: 0,
    clientIpOf: () => '192.0.2.1',
    isTrustedProxy: () => false,
    ...options,
  });
  let port = 0;
  return {
    ...server,
    lines,
    async start(): Promise<number> {
      port = (await server.listen('127.0.0.1', 0)).port;
      return port;
    },
    talk: (bytes: string) => exchange(port, bytes),
    async send(
      method: string,
      path: string,
      body = '',
      headers: Readonly<Record<string, string>> = {},
    ): Promise<Answer> {
      const all: Record<string, string> = { host: 'gate.example', connection: 'close', ...headers };
      if (body !== '') {
        all['content-type'] ??= 'application/json';
        all['content-length'] ??= String(Buffer.byteLength(body, 'latin1'));
      }
      const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
      return parseAnswer(await exchange(port, `${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n${body}`));
    },
  };
}
