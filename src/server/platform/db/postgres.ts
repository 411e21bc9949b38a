import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  sql,
  type Transaction,
} from 'kysely';
import type * as pg from 'pg';
import type {
  ClientBase,
  ClientConfig,
  QueryResult as PgResult,
  types as PgTypes,
  Pool,
  PoolClient,
  PoolConfig,
  QueryConfig,
} from 'pg';
import {
  type Database,
  type DatabaseLog,
  type DatabaseOptions,
  DatabaseUnavailableError,
  DiskFullError,
  type PoolConnections,
  runAfterCommitActions,
  TransactionContext,
} from './database.ts';
import { DiskFullState } from './disk-full.ts';
import { type NamedQuery, withDirectExecutor } from './prepared-query.ts';

/** Longest wait for a connection: for a free one of the pool, or for the server. */
const CONNECT_TIMEOUT_MS = 5_000;

/** `poolMax` in the query of the url overrides the option of the same name. */
export function openPostgres<T>(url: string, options: DatabaseOptions): Database<T> {
  const hosts = new PostgresHosts(url);
  const space = new DiskFullState();
  const { log, isPooled = false, statementTimeoutMs = 5_000 } = options;
  const pool = new PostgresPool(hosts, log, {
    max: hosts.poolMax ?? options.poolMax ?? 10,
    types: postgresTypes(),
    application_name: 'reelgate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    // A pooler knows no such parameters and refuses the connection; each transaction sets them itself then.
    ...(isPooled ? undefined : toSessionSettings(statementTimeoutMs)),
  });
  const driverOptions = { statementTimeoutMs, isPooled, onDiskFull: () => space.noteFull(), onQuery: options.onQuery };
  const context = new TransactionContext();
  const kysely = new Kysely<T>({
    dialect: {
      createDriver: () => context.guard(new PostgresDriver(pool, driverOptions)),
      createAdapter: () => new PostgresAdapter(),
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createIntrospector: (db) => new PostgresIntrospector(db),
    },
  });
  return {
    dialect: 'postgres',
    kysely,
    connections: () => pool.connections,
    releaseSpace: undefined,
    transaction: (work, { timeoutMs } = {}) =>
      runAfterCommitActions(
        (run) =>
          retryConflicts(() =>
            kysely.transaction().execute(async (trx) => {
              if (timeoutMs !== undefined) await setTransactionTimeout(trx, timeoutMs);
              return withDirectExecutor(trx, () => context.run(() => run(trx)));
            }),
          ),
        work,
      ),
    ping: async () => {
      await sql`select 1`.execute(kysely);
      await space.assertFree(kysely);
    },
    close: () => pool.end(),
  };
}

const toSessionSettings = (statementTimeoutMs: number): PoolConfig => ({
  statement_timeout: statementTimeoutMs,
  idle_in_transaction_session_timeout: 2 * statementTimeoutMs,
});

const setTransactionTimeout = <T>(trx: Transaction<T>, timeoutMs: number): Promise<void> =>
  trx.getExecutor().provideConnection((connection) => asPostgres(connection).setTransactionTimeout(timeoutMs));

/**
 * Waits a random moment between attempts, so that those who collided do not meet again. After a change of a table each connection of the
 * pool may have a stale plan; none has it twice, so these attempts end without being counted.
 */
async function retryConflicts<R>(attempt: () => Promise<R>): Promise<R> {
  for (let made = 1; ; ) {
    try {
      return await attempt();
    } catch (error) {
      if (isStalePlan(error)) continue;
      if (!isConflict(error)) throw error;
      if (made === MAX_ATTEMPTS) throw toConflictError(error, made);
      made++;
      await delay(Math.random() * 20 * made);
    }
  }
}

/** How much longer than the server's own limit a response is waited for before the connection counts as dead. */
const SILENCE_MS = 1_000;

interface PostgresDriverOptions {
  /** Longest run of one statement; 0: any. */
  readonly statementTimeoutMs: number;
  /**
   * The connections are a pooler's, which lends a server connection for one transaction: settings are given with each
   * transaction, and no statement is prepared under a name.
   */
  readonly isPooled: boolean;
  /** Called when a write failed because the server has no space left. */
  readonly onDiskFull: () => void;
  /** Called after a statement with its seconds. */
  readonly onQuery: ((seconds: number) => void) | undefined;
}

/** Kysely over a pool of `pg`, with our reading of its errors. */
class PostgresDriver implements Driver {
  readonly #pool: PostgresPool;
  readonly #options: PostgresDriverOptions;

  constructor(pool: PostgresPool, options: PostgresDriverOptions) {
    this.#pool = pool;
    this.#options = options;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return new PostgresConnection(await this.#pool.connect(), this.#pool, this.#options);
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await asPostgres(connection).begin();
  }

  /**
   * When the connection breaks here, it is unknown whether the transaction was committed; the caller gets
   * `DatabaseUnavailableError`, and a precondition or an idempotency key keeps a repeated request from acting twice.
   */
  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    const outcome = await asPostgres(connection).command('commit');
    if (outcome === 'ROLLBACK') throw new Error('a statement failed, so the transaction is rolled back');
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await asPostgres(connection).undo();
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    asPostgres(connection).release();
  }

  async destroy(): Promise<void> {
    await this.#pool.end();
  }
}

function asPostgres(connection: DatabaseConnection): PostgresConnection {
  if (connection instanceof PostgresConnection) return connection;
  throw new TypeError('not a connection of this driver');
}

/** A limit of the client's own, for a server or network that is silent; 0, like the server's: none. */
const toDeadline = (statementTimeoutMs: number): number =>
  statementTimeoutMs === 0 ? 0 : statementTimeoutMs + SILENCE_MS;

class PostgresConnection implements DatabaseConnection {
  readonly #client: PoolClient;
  readonly #pool: PostgresPool;
  readonly #options: PostgresDriverOptions;
  #deadlineMs: number;
  #lost = false;
  #inTransaction = false;

  constructor(client: PoolClient, pool: PostgresPool, options: PostgresDriverOptions) {
    this.#client = client;
    this.#pool = pool;
    this.#options = options;
    this.#deadlineMs = toDeadline(options.statementTimeoutMs);
  }

  /** A query that has a name is planned once a connection: to plan it costs the server more than to run it. */
  async executeQuery<R>({ sql, parameters, statement }: NamedQuery): Promise<QueryResult<R>> {
    const { command, rowCount, rows } = await this.#query(sql, parameters.map(toPostgresValue), statement);
    return command === 'SELECT' ? { rows } : { rows, numAffectedRows: BigInt(rowCount ?? 0) };
  }

  /** All rows at once: read long lists page by page instead. */
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }

  async begin(): Promise<void> {
    this.#inTransaction = true;
    const { isPooled, statementTimeoutMs } = this.#options;
    // A pooler passes on no settings of a session. Without values several statements go in one message.
    const settings = isPooled ? `; ${toLocalSettings(statementTimeoutMs)}` : '';
    await this.#query(`begin${settings}`, []);
  }

  /** Gives every statement of the transaction that was begun so long. */
  async setTransactionTimeout(timeoutMs: number): Promise<void> {
    this.#deadlineMs = toDeadline(timeoutMs);
    await this.#query(toLocalSettings(timeoutMs), []);
  }

  /** Runs `commit` and returns the command the server reports, which is ROLLBACK for a failed commit. */
  async command(sql: string): Promise<string> {
    return (await this.#query(sql, [])).command;
  }

  /** A rollback that fails leaves nothing behind either: the server undoes what a closed connection began. */
  async undo(): Promise<void> {
    // Nobody waits twice for a server that is silent.
    if (this.#lost) return;
    try {
      await this.#query('rollback', []);
    } catch {
      this.#lost = true;
    }
  }

  release(): void {
    this.#client.release(this.#lost);
  }

  async #query(text: string, values: unknown[], name?: string, attempt = 1): Promise<PgResult> {
    const startedAt = performance.now();
    try {
      return await this.#client.query(this.#toConfig(text, values, name));
    } catch (error) {
      this.#pool.onQueryError(error);
      this.#lost ||= isConnectionLost(error) || isStalePlan(error);
      // Another release has changed a table meanwhile, or a deadlock was ended at this statement's cost: nothing of it was done. A
      // transaction is repeated as a whole, on another connection.
      if (isConflict(error) && !this.#inTransaction && attempt < MAX_ATTEMPTS)
        return await this.#query(text, values, isStalePlan(error) ? undefined : name, attempt + 1);
      const failure =
        isConflict(error) && !this.#inTransaction ? toConflictError(error, attempt) : toDatabaseError(error);
      if (failure instanceof DiskFullError) this.#options.onDiskFull();
      throw failure;
    } finally {
      this.#options.onQuery?.((performance.now() - startedAt) / 1_000);
    }
  }

  #toConfig(text: string, values: unknown[], name: string | undefined): QueryConfig {
    const limit = this.#deadlineMs === 0 ? undefined : { query_timeout: this.#deadlineMs };
    return name === undefined || this.#options.isPooled ? { text, values, ...limit } : { name, text, values, ...limit };
  }
}

/** Settings until the end of the transaction; a transaction that waits for its client may do so twice as long. */
const toLocalSettings = (timeoutMs: number): string =>
  `set local statement_timeout = ${timeoutMs}; set local idle_in_transaction_session_timeout = ${2 * timeoutMs}`;

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
class PostgresPool {
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

/** How often a connection on which nothing arrives is checked by the operating system. */
const KEEP_ALIVE_DELAY_MS = 5_000;
const CHECK_TIMEOUT_MS = 3_000;

/** The server is a standby, or was made one: it takes no writes. */
class NotWritableError extends Error {
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

/** Where PostgreSQL is: what a connection url of libpq says, as far as `pg` does not read it itself. */
interface PostgresLocation {
  /** A url with one host each, for `pg`; in the order in which they are tried. */
  readonly hostUrls: readonly [string, ...string[]];
  /** Only a server that takes writes is used: the others of a replicated pair are skipped. */
  readonly mustBeWritable: boolean;
  /** `poolMax` of the url. */
  readonly poolMax: number | undefined;
}

const SESSION_ATTRIBUTES = ['any', 'read-write', 'primary'];
const URL_PARTS = /^(postgres(?:ql)?:\/\/)((?:[^@/?#]*@)?)([^/?#]*)(.*)$/s;

/**
 * Reads `postgres://user:password@a:5432,b:5432/name?target_session_attrs=read-write`: several hosts, of which the first
 * that answers and takes writes is used (libpq, section "Specifying Multiple Hosts"). With several hosts `read-write` is
 * the default of `target_session_attrs`, since the service always writes.
 *
 * @throws TypeError with one line that says what is wrong; it contains no password
 */
export function parsePostgresUrl(url: string): PostgresLocation {
  const [, scheme, user = '', hosts, rest = ''] = URL_PARTS.exec(url) ?? [];
  if (scheme === undefined || hosts === undefined) throw new TypeError('must start with postgres://');
  const names = hosts.split(',');
  if (names.length > 1 && names.includes('')) throw new TypeError('has an empty host in its list');
  const urls = names.map((host) => {
    // Only a socket's folder may stand in for a host, and `URL` demands one.
    const single = `${scheme}${user}${host || 'localhost'}${rest}`;
    if (!URL.canParse(single)) throw new TypeError(`has a host that cannot be read: "${host}"`);
    return new URL(single);
  });
  const parameters = (urls[0] as URL).searchParams;
  const attributes = parameters.get('target_session_attrs') ?? (urls.length > 1 ? 'read-write' : 'any');
  if (!SESSION_ATTRIBUTES.includes(attributes))
    throw new TypeError(`target_session_attrs must be one of ${SESSION_ATTRIBUTES.join(', ')}, not "${attributes}"`);
  const poolMax = parameters.get('poolMax');
  if (poolMax !== null && !/^[1-9]\d{0,2}$/.test(poolMax)) throw new TypeError('poolMax must be 1 to 999');
  for (const { searchParams } of urls) for (const own of ['target_session_attrs', 'poolMax']) searchParams.delete(own);
  return {
    hostUrls: urls.map(({ href }) => href) as [string, ...string[]],
    mustBeWritable: attributes !== 'any',
    poolMax: poolMax === null ? undefined : Number(poolMax),
  };
}

/** Node's codes for a server that cannot be reached or went away. */
const NETWORK = new Set(
  'ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH ENOENT'.split(' '),
);
/** What `pg` says without a code when the response to a query does not come in time. */
const SILENT = /^Query read timeout/;
/** What `pg` and its pool say without a code when a connection breaks or none is free in time. */
const BROKEN = /^Connection terminated|^timeout exceeded when trying to connect|connection error and is not queryable/;
/**
 * PostgreSQL, appendix A: connection exceptions (08), too few resources (53), shutdown and start-up (57P), a time limit
 * reached (57014, 55P03, 25P03), a standby that takes no writes (25006).
 */
const UNAVAILABLE = /^(08...|53...|57P..|57014|55P03|25P03|25006)$/;
const DISK_FULL = '53100';
const READ_ONLY = '25006';
/** serialization_failure and deadlock_detected: the same transaction may well succeed when it runs again. */
const CONFLICT = new Set(['40001', '40P01']);
/** What an operator can do about an error of a first connection, by its code. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'is it running, and listening on this address and port?'],
  ['ENOTFOUND', 'the host name cannot be resolved'],
  ['ENOENT', 'there is no socket in this folder'],
  ['28P01', 'check the user and the password'],
  ['28000', 'check pg_hba.conf and the user'],
  ['3D000', 'create the database first'],
  ['53300', 'raise max_connections, or put PgBouncer in front'],
  ['08P01', 'for a pooler such as PgBouncer, set DATABASE_DIRECT_URL to the address of the server itself'],
]);

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** For codes that say too little: `routine` is the function of PostgreSQL that reports the error. */
const isRaisedBy = (error: unknown, code: string, routine: string): boolean =>
  codeOf(error) === code && (error as { routine?: unknown }).routine === routine;

/** Of a transaction, or of a statement outside of one, that loses against others. */
const MAX_ATTEMPTS = 3;

const toConflictError = (error: unknown, attempts: number): DatabaseUnavailableError =>
  new DatabaseUnavailableError(`the transaction lost against others ${attempts} times`, error);

/** The same work may succeed when it is done again. */
function isConflict(error: unknown): boolean {
  return CONFLICT.has(codeOf(error)) || isStalePlan(error) || isMovedPartition(error);
}

/** A partition for the new row was attached after the row's place had been looked up (check_violation, by `ExecPartitionCheckEmitError`). */
const isMovedPartition = (error: unknown): boolean => isRaisedBy(error, '23514', 'ExecPartitionCheckEmitError');

/** The columns of a prepared statement's result have changed since it was planned; only this connection is affected. */
function isStalePlan(error: unknown): boolean {
  return isRaisedBy(error, '0A000', 'RevalidateCachedQuery');
}

/** The server did not answer in time, though it ends statements that take long: other connections are probably dead too. */
const isSilent = (error: unknown): boolean => error instanceof Error && SILENT.test(error.message);

/** The server has become a standby. */
const isReadOnly = (error: unknown): boolean => codeOf(error) === READ_ONLY;

/** True when the connection that reported this error must not be used again. */
function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  return (
    NETWORK.has(code) ||
    /^(08|57P)/.test(code) ||
    code === '25P03' ||
    isReadOnly(error) ||
    isSilent(error) ||
    (error instanceof Error && BROKEN.test(error.message))
  );
}

/** No connection of the pool became free in time; says nothing about the server. */
const isPoolExhausted = (error: unknown): boolean =>
  error instanceof Error && error.message === 'timeout exceeded when trying to connect';

/** Converts errors caused by the database alone to the one type the HTTP layer handles. */
function toDatabaseError(error: unknown): unknown {
  if (codeOf(error) === DISK_FULL) return new DiskFullError(error);
  if (isConnectionLost(error) || UNAVAILABLE.test(codeOf(error))) {
    return new DatabaseUnavailableError(`PostgreSQL did not answer: ${reasonOf(error)}`, error);
  }
  return error;
}

/** An error of a first connection, with its cause and, where there is one, what to do about it. */
export function toConnectError(error: unknown, server: string): DatabaseUnavailableError {
  const hint = HINTS.get(codeOf(error));
  const advice = hint === undefined ? '' : ` (${hint})`;
  return new DatabaseUnavailableError(`cannot connect to PostgreSQL at ${server}: ${reasonOf(error)}${advice}`, error);
}

/** Node reports the addresses of one host that all failed as one error without a message. */
function reasonOf(error: unknown): string {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error && first.message !== '' ? first.message : codeOf(error) || String(error);
}

const BOOL = 16;
const INT8 = 20;
const NUMERIC = 1700;

/** `sum` over int64 columns returns numeric, so both are read as numbers; a value that would lose precision throws. */
function toNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new RangeError(`the integer ${text} is too large for a JavaScript number`);
  }
  return value;
}

const PARSERS: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [BOOL, (text) => (text === 't' ? 1 : 0)],
  [INT8, toNumber],
  [NUMERIC, toNumber],
]);

/** Reads values as SQLite gives them: integers as numbers, the outcome of a comparison as 0 or 1. */
function postgresTypes(): typeof PgTypes {
  const { types } = loadPg();
  return {
    ...types,
    getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
      (format !== 'binary' && PARSERS.get(oid)) || types.getTypeParser(oid, format)) as typeof types.getTypeParser,
  };
}

/** A condition handed over as a value is 0 or 1, as our columns have it. */
function toPostgresValue(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value;
}

const load = createRequire(import.meta.url);

/** The client of PostgreSQL, loaded when one is first used: a service on SQLite does without its megabytes. */
export const loadPg = (): typeof pg => load('pg') as typeof pg;
