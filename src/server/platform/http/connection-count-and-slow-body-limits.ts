import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { toIpLimitKey } from '../client-ip.ts';
import { RequestWithCollectedBody } from './request-with-collected-body.ts';

/** Every body may take this long, regardless of its size. */
export const BODY_GRACE_MS = 15_000;
export const CHECKS_PER_GRACE = 3;
/** After the grace period a body must arrive at this average rate, that of a slow mobile connection. */
const MIN_BODY_BYTES_PER_MS = 8;

export interface ConnectionAndSlowBodyLimitsOptions {
  /** Connections one IP address (an IPv6 /64) may hold; 0: any number. */
  readonly maxPerIp: number;
  /** IP addresses with any number of connections: trusted proxies and this machine itself. */
  isExempt(ip: string): boolean;
  readonly bodyGraceMs: number;
  /** Ends a request whose body comes too slowly. */
  onSlowBody(request: IncomingMessage, response: ServerResponse): void;
}

interface Connection {
  key: string | undefined;
  /** The request whose body may still be on its way. */
  request: IncomingMessage | undefined;
  response: ServerResponse | undefined;
  startedAt: number;
  bytesBefore: number;
}

/**
 * Keeps one client from holding the service's sockets: limits connections per IP address and ends bodies that arrive slowly.
 * One timer checks all connections, so that no request needs a timer of its own.
 */
export class ConnectionAndSlowBodyLimits {
  readonly #options: ConnectionAndSlowBodyLimitsOptions;
  readonly #connections = new Map<Socket, Connection>();
  readonly #perIp = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ConnectionAndSlowBodyLimitsOptions) {
    this.#options = options;
  }

  attach(server: Server): void {
    server.on('connection', (socket: Socket) => this.#add(socket));
    server.on('close', () => clearInterval(this.#timer));
    const { bodyGraceMs } = this.#options;
    this.#timer = setInterval(() => this.endSlowBodies(performance.now()), bodyGraceMs / CHECKS_PER_GRACE).unref();
  }

  /** To be called for every request, before its body is read. */
  onRequest(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined) return;
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    if (coding === undefined && (length === undefined || length === '0')) {
      connection.request = undefined;
      connection.response = undefined;
      return;
    }
    connection.request = request;
    connection.response = response;
    connection.startedAt = performance.now();
    connection.bytesBefore = request.socket.bytesRead;
  }

  #add(socket: Socket): void {
    const { maxPerIp, isExempt } = this.#options;
    const ip = socket.remoteAddress ?? '';
    const key = maxPerIp === 0 || isExempt(ip) ? undefined : toIpLimitKey(ip);
    const held = key === undefined ? 0 : (this.#perIp.get(key) ?? 0);
    if (key !== undefined && held >= maxPerIp) {
      socket.destroy();
      return;
    }
    if (key !== undefined) this.#perIp.set(key, held + 1);
    this.#connections.set(socket, { key, request: undefined, response: undefined, startedAt: 0, bytesBefore: 0 });
    socket.once('close', () => this.#remove(socket));
  }

  #remove(socket: Socket): void {
    const key = this.#connections.get(socket)?.key;
    this.#connections.delete(socket);
    if (key === undefined) return;
    const left = (this.#perIp.get(key) ?? 1) - 1;
    if (left > 0) this.#perIp.set(key, left);
    else this.#perIp.delete(key);
  }

  /** Ends what is too slow by now, in ms of `performance.now()`. `attach` has it called every few seconds. */
  endSlowBodies(now: number): void {
    for (const [socket, connection] of this.#connections) {
      const { request, response, startedAt, bytesBefore } = connection;
      if (request === undefined || response === undefined) continue;
      if (request.complete) {
        connection.request = undefined;
        connection.response = undefined;
        continue;
      }
      const allowedMs = this.#options.bodyGraceMs + (socket.bytesRead - bytesBefore) / MIN_BODY_BYTES_PER_MS;
      // A body that is not read now, because others are in turn, is not its sender's fault.
      if (now - startedAt > allowedMs && isBeingRead(request)) this.#options.onSlowBody(request, response);
    }
  }
}

const isBeingRead = (request: IncomingMessage): boolean =>
  request.readableFlowing === true || (request instanceof RequestWithCollectedBody && request.isCollected);
