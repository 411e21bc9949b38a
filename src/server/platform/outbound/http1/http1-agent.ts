import type { Dispatcher } from 'undici';
import { getOrMakeEntry } from '../../cache.ts';
import type { DispatchRequest, ExchangeDispatcher } from '../outbound.ts';
import { type Connector, errors } from '../undici-without-fetch.ts';
import { ConnectionPool } from './connection-pool.ts';
import { Http1Request } from './http1-request.ts';

/** How exact the bounds of silent and of idle connections are, in ms. */
const SWEEP_MS = 500;

/**
 * What undici's `Agent` does, for GET and POST with a body in memory, at two thirds of its CPU: HTTP/1.1, one request at a time on a connection,
 * connections kept and used again. Errors are those of undici, so that callers need not know which of both has sent a request.
 */
export class Http1Agent implements ExchangeDispatcher {
  readonly #connect: Connector;
  readonly #connectionsPerOrigin: number;
  readonly #pools = new Map<string, ConnectionPool>();
  #isDestroyed = false;
  #sweeper: NodeJS.Timeout | undefined;

  constructor(connect: Connector, connectionsPerOrigin: number) {
    this.#connect = connect;
    this.#connectionsPerOrigin = connectionsPerOrigin;
  }

  /** Whether a request is under way. */
  get isBusy(): boolean {
    return this.#pools.values().some((pool) => pool.isBusy);
  }

  /** Never throws: what is wrong with a request reaches its handler. */
  dispatch(request: DispatchRequest, handler: Dispatcher.DispatchHandler): void {
    const queued = new Http1Request(request, handler);
    try {
      if (this.#isDestroyed) throw new errors.ClientDestroyedError();
      queued.prepare(request);
    } catch (error) {
      queued.fail(error as Error);
      return;
    }
    this.#poolOf(request.origin).send(queued);
  }

  destroy(): void {
    this.#isDestroyed = true;
    clearInterval(this.#sweeper);
    for (const pool of this.#pools.values()) pool.destroy(new errors.ClientDestroyedError());
  }

  #poolOf(origin: string): ConnectionPool {
    this.#sweeper ??= setInterval(this.#sweep, SWEEP_MS).unref();
    return getOrMakeEntry(
      this.#pools,
      origin,
      () => new ConnectionPool(origin, this.#connect, this.#connectionsPerOrigin),
    );
  }

  readonly #sweep = (): void => {
    const now = performance.now();
    for (const [origin, pool] of this.#pools) {
      pool.sweep(now);
      if (pool.isEmpty) this.#pools.delete(origin);
    }
  };
}
