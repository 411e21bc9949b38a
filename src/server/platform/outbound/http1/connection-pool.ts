import type { Socket } from 'node:net';
import type { Connector } from '../undici-without-fetch.ts';
import { Connection, type ConnectionOwner } from './connection.ts';
import type { Http1Request } from './http1-request.ts';

/** The connections to one origin. A request takes the one used last; where all are busy it opens another, up to the bound, or waits. */
export class ConnectionPool implements ConnectionOwner {
  readonly #target: Parameters<Connector>[0];
  readonly #connect: Connector;
  readonly #maxConnections: number;
  readonly #connections = new Set<Connection>();
  readonly #idle: Connection[] = [];
  /** Freed in this turn of the event loop. */
  #freed: Connection[] = [];
  readonly #waiting: Http1Request[] = [];
  readonly #dialling = new Set<Http1Request>();

  constructor(origin: string, connect: Connector, maxConnections: number) {
    const { protocol, host, hostname, port } = new URL(origin);
    this.#target = { protocol, host, hostname: hostname.replace(/^\[|\]$/g, ''), port };
    this.#connect = connect;
    this.#maxConnections = maxConnections;
  }

  get isBusy(): boolean {
    return this.#dialling.size + this.#waiting.length > 0 || this.#connections.values().some(({ isBusy }) => isBusy);
  }

  get isEmpty(): boolean {
    return this.#dialling.size === 0 && this.#connections.size === 0;
  }

  send(request: Http1Request): void {
    const connection = this.#takeIdle();
    if (connection !== undefined) connection.send(request);
    else if (this.#dialling.size + this.#connections.size < this.#maxConnections) this.#dial(request);
    else this.#waiting.push(request);
  }

  /**
   * Used again only when sockets have been read once more: a server that closes a connection although it promised to keep it does so at
   * once, and that arrives behind the response.
   */
  freed(connection: Connection): void {
    if (this.#freed.push(connection) === 1) setImmediate(this.#letRest);
  }

  lost(connection: Connection): void {
    this.#connections.delete(connection);
    const at = this.#idle.lastIndexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
    this.#dialForWaiting();
  }

  /** @param now by `performance.now()` */
  sweep(now: number): void {
    for (const connection of this.#connections) connection.sweep(now);
  }

  /** Fails what is under way and what waits. Attempts to connect are ended by the connector's own signal. */
  destroy(reason: Error): void {
    for (const request of this.#waiting.splice(0)) request.fail(reason);
    for (const request of this.#dialling) this.#failDial(request, reason);
    for (const connection of this.#connections) connection.close(reason);
  }

  readonly #letRest = (): void => {
    const rested = this.#freed;
    this.#freed = [];
    // Immediates made by one of them run behind the next reading of sockets.
    setImmediate(() => this.#reuse(rested));
  };

  #reuse(rested: readonly Connection[]): void {
    const now = performance.now();
    for (const connection of rested) {
      if (!connection.isUsable(now)) {
        connection.close();
        continue;
      }
      const next = this.#waiting.shift();
      if (next === undefined) this.#idle.push(connection);
      else connection.send(next);
    }
  }

  #takeIdle(): Connection | undefined {
    const now = performance.now();
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (connection.isUsable(now)) return connection;
      connection.close();
    }
    return undefined;
  }

  #dialForWaiting(): void {
    if (this.#dialling.size + this.#connections.size >= this.#maxConnections) return;
    const next = this.#waiting.shift();
    if (next !== undefined) this.#dial(next);
  }

  #dial(request: Http1Request): void {
    this.#dialling.add(request);
    try {
      this.#connect(this.#target, (error, socket) => {
        if (error !== null) this.#failDial(request, error);
        else this.#open(request, socket as Socket);
      });
    } catch (error) {
      this.#failDial(request, error as Error);
    }
  }

  #failDial(request: Http1Request, error: Error): void {
    if (!this.#dialling.delete(request)) return;
    this.#dialForWaiting();
    request.fail(error);
  }

  #open(request: Http1Request, socket: Socket): void {
    if (!this.#dialling.delete(request)) {
      socket.destroy();
      return;
    }
    const connection = new Connection(socket, this);
    this.#connections.add(connection);
    connection.send(request);
  }
}
