import type { Pool, PoolClient, PoolConfig } from 'pg';
import type { DatabaseLog, PoolConnections } from './database-interface-and-options.ts';
import { loadPg } from './load-pg.ts';
import { isPoolExhausted, isReadOnly, isSilent, toConnectError, toDatabaseError } from './postgres-errors.ts';
import type { PostgresHosts } from './postgres-hosts.ts';

/** Connections are replaced by then, so that a failover or move of the server is noticed, whatever keeps them alive. */
const MAX_LIFETIME_SECONDS = 30 * 60;
/**
 * A connection is kept this long without work, as a new one starts a process of the server, which reads the catalog and plans every
 * statement again: for its first seconds a call costs PostgreSQL twice as much. Shorter than load balancers keep silent connections (350 s).
 */
const MAX_IDLE_MS = 5 * 60_000;

/**
 * A pool of `pg` over the servers of a connection url. Connections that are probably dead, because one beside them was
 * silent, are replaced instead of being handed out.
 */
export class PostgresPool {
  readonly #pool: Pool;
  readonly #hosts: PostgresHosts;
  readonly #openedAt = new WeakMap<PoolClient, number>();
  /** Connections opened before this moment are not used any more. */
  #distrustedBefore = 0;

  constructor(hosts: PostgresHosts, log: DatabaseLog | undefined, config: PoolConfig) {
    this.#hosts = hosts;
    const { Pool, Client } = loadPg();
    this.#pool = new Pool({
      ...config,
      maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
      idleTimeoutMillis: MAX_IDLE_MS,
      verify: (client, done) => void hosts.check(client).then(() => done(), done),
      // The server in use at the moment of connecting, which a url given to the pool could not follow.
      Client: class extends Client {
        constructor(given: PoolConfig) {
          super({ ...given, ...hosts.clientConfig() });
        }
      } as typeof Client,
    } as PoolConfig);
    this.#pool.on('connect', (client) => {
      this.#openedAt.set(client, performance.now());
      client.on('error', () => {});
    });
    // A connection that breaks also emits an `error` event, which would end the process if it had no listener.
    this.#pool.on('error', (error) => log?.warn({ err: error }, 'a connection to PostgreSQL was lost'));
  }

  /** @throws DatabaseUnavailableError when no server of the url can be used, or no connection becomes free in time */
  async connect(): Promise<PoolClient> {
    for (let tries = 1; ; tries++) {
      const server = this.#hosts.current;
      try {
        const client = await this.#connectTrusted();
        return client;
      } catch (error) {
        if (isPoolExhausted(error)) throw toDatabaseError(error);
        const failure = toConnectError(error, this.#hosts.describe());
        this.#hosts.moveOnFrom(server);
        if (tries >= this.#hosts.count) throw failure;
      }
    }
  }

  /** To be told of every error of a query: some say something about the other connections. */
  onQueryError(error: unknown): void {
    if (isReadOnly(error)) this.#hosts.moveOnFrom(this.#hosts.current);
    if (isReadOnly(error) || isSilent(error)) this.#distrustedBefore = performance.now();
  }

  get connections(): PoolConnections {
    const { idleCount: idle, totalCount, waitingCount: waiting } = this.#pool;
    return { idle, busy: totalCount - idle, waiting };
  }

  end(): Promise<void> {
    return this.#pool.end();
  }

  async #connectTrusted(): Promise<PoolClient> {
    for (;;) {
      const client = await this.#pool.connect();
      if ((this.#openedAt.get(client) ?? 0) >= this.#distrustedBefore) return client;
      client.release(true);
    }
  }
}
