import type { ClientBase, ClientConfig } from 'pg';
import { parsePostgresUrl } from './postgres-url.ts';

/** How often a connection on which nothing arrives is checked by the operating system. */
const KEEP_ALIVE_DELAY_MS = 5_000;
const CHECK_TIMEOUT_MS = 3_000;

/** The server is a standby, or was made one: it takes no writes. */
export class NotWritableError extends Error {
  constructor() {
    super('the server takes no writes: it is a standby');
    this.name = 'NotWritableError';
  }
}

/** The servers of a connection url, one of which is used at a time: the first until it fails, then the next. */
export class PostgresHosts {
  readonly #urls: readonly [string, ...string[]];
  readonly mustBeWritable: boolean;
  readonly poolMax: number | undefined;
  #current = 0;

  constructor(url: string) {
    const { hostUrls, mustBeWritable, poolMax } = parsePostgresUrl(url);
    this.#urls = hostUrls;
    this.mustBeWritable = mustBeWritable;
    this.poolMax = poolMax;
  }

  get count(): number {
    return this.#urls.length;
  }

  /** Names the server in use until it fails. */
  get current(): number {
    return this.#current;
  }

  /** What `pg` needs to connect to the server in use. Linux then gives a dead connection up within 15 s (5 s + 10 probes). */
  clientConfig(): ClientConfig {
    return {
      connectionString: this.#urls[this.#current],
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    };
  }

  /** The server could not be reached, or takes no writes: the next one is tried, unless somebody moved on already. */
  moveOnFrom(failed: number): void {
    if (failed === this.#current) this.#current = (failed + 1) % this.#urls.length;
  }

  /** @throws NotWritableError where writes are needed and the server is a standby */
  async check(client: ClientBase): Promise<void> {
    if (!this.mustBeWritable) return;
    const { rows } = await client.query({
      text: "select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only",
      query_timeout: CHECK_TIMEOUT_MS,
    } as { text: string });
    // Our own type parsers read booleans as 0 and 1, those of `pg` as booleans.
    if (Number(rows[0]?.read_only) !== 0) throw new NotWritableError();
  }

  /** Host, port and database in use, for messages: no user, no password. */
  describe(): string {
    const { hostname, port, pathname, searchParams } = new URL(this.#urls[this.#current] as string);
    return `${searchParams.get('host') ?? hostname}:${port || '5432'}${pathname}`;
  }
}
