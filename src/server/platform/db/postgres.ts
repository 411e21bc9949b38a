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
import { findUnencodedPassword } from '../setting-readers.ts';
import {
  type Database,
  type DatabaseLog,
  type DatabaseOptions,
  DatabaseUnavailableError,
  DiskFullError,
  type PoolConnections,
  RowsLockedError,
  runAfterCommitActions,
  TransactionContext,
  type TransactionOptions,
} from './database.ts';
import { DiskFullState } from './migrate.ts';
import { type NamedQuery, withDirectExecutor } from './sql.ts';

/** Longest wait for a free connection of the pool, or for the server to accept a connection. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Opens a pool of connections. `poolMax` in the URL's query overrides the option of the same name. */
export function openPostgres<T>(url: string, options: DatabaseOptions): Database<T> {
  const hosts = new PostgresHosts(url);
  const space = new DiskFullState();
  const { log, isPooled = false, statementTimeoutMs = 5_000 } = options;
  const pool = new PostgresPool(hosts, log, {
    max: hosts.poolMax ?? options.poolMax ?? 10,
    types: postgresTypes(),
    application_name: 'reelgate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    // A pooler rejects connections with such parameters, so each transaction sets them itself.
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
    snapshot: () => undefined,
    releaseSpace: undefined,
    transaction: (work, transactionOptions = {}) =>
      runAfterCommitActions(
        (run) =>
          retryConflicts(() =>
            kysely.transaction().execute(async (trx) => {
              await applyOptions(trx, transactionOptions);
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

const applyOptions = <T>(trx: Transaction<T>, options: TransactionOptions): Promise<void> =>
  trx.getExecutor().provideConnection((connection) => asPostgres(connection).applyOptions(options));

/**
 * Retries after conflicts, with random delays so that the colliding transactions do not meet again. After a table
 * change, each connection of the pool may have one stale plan; those attempts are not counted, as they cannot recur.
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

/** How much longer than the server's own limit to wait for a response before the connection counts as dead. */
const SILENCE_MS = 1_000;

interface PostgresDriverOptions {
  /** Statement timeout; 0: none. */
  readonly statementTimeoutMs: number;
  /**
   * The connections are a pooler's, which lends a server connection for one transaction: settings are sent with each
   * transaction, and no statement is prepared under a name.
   */
  readonly isPooled: boolean;
  /** Called when a write failed because the server's disk is full. */
  readonly onDiskFull: () => void;
  /** Called after each statement with its duration in seconds. */
  readonly onQuery: ((seconds: number) => void) | undefined;
}

/** Kysely driver over a pool of `pg`, which translates `pg`'s errors. */
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
   * When the connection breaks here, it is unknown whether the transaction was committed. The caller gets
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

/** The client's own limit, for an unresponsive server or network; 0: none, like the server's. */
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

  /** A named query is planned once per connection, because planning costs the server more than running it. */
  async executeQuery<R>({ sql, parameters, statement }: NamedQuery): Promise<QueryResult<R>> {
    const { command, rowCount, rows } = await this.#query(sql, parameters.map(toPostgresValue), statement);
    return command === 'SELECT' ? { rows } : { rows, numAffectedRows: BigInt(rowCount ?? 0) };
  }

  /** Returns all rows at once; read long lists page by page instead. */
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }

  async begin(): Promise<void> {
    this.#inTransaction = true;
    const { isPooled, statementTimeoutMs } = this.#options;
    // A pooler does not preserve session settings. Without parameters, several statements fit into one message.
    const settings = isPooled ? `; ${toLocalSettings(statementTimeoutMs)}` : '';
    await this.#query(`begin${settings}`, []);
  }

  /** Applies the options to the current transaction. */
  async applyOptions({ timeoutMs, lockTimeoutMs, avoidsScans }: TransactionOptions): Promise<void> {
    if (timeoutMs !== undefined) this.#deadlineMs = toDeadline(timeoutMs);
    const settings = [
      timeoutMs === undefined ? [] : toLocalSettings(timeoutMs),
      lockTimeoutMs === undefined ? [] : `set local lock_timeout = ${lockTimeoutMs}`,
      avoidsScans === true ? 'set local enable_seqscan = off' : [],
    ].flat();
    // Without parameters, several statements fit into one message.
    if (settings.length > 0) await this.#query(settings.join('; '), []);
  }

  /** Runs `commit` and returns the command the server reports, which is ROLLBACK for a failed commit. */
  async command(sql: string): Promise<string> {
    return (await this.#query(sql, [])).command;
  }

  /** Rolls back. A rollback that fails is harmless: the server undoes the transaction of a closed connection. */
  async undo(): Promise<void> {
    // The server was already unresponsive once, so do not wait for it again.
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
      // Another release has changed a table meanwhile, or this statement was a deadlock victim, so nothing of it was
      // applied. A transaction is instead repeated as a whole, on another connection.
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

/**
 * Settings until the end of the transaction; a transaction may wait for its client twice as long as a statement may
 * run.
 */
const toLocalSettings = (timeoutMs: number): string =>
  `set local statement_timeout = ${timeoutMs}; set local idle_in_transaction_session_timeout = ${2 * timeoutMs}`;

/**
 * Maximum age of a connection, so that a failover or relocation of the server is noticed even on healthy connections.
 */
const MAX_LIFETIME_SECONDS = 30 * 60;
/**
 * Idle connections are kept this long because a new one starts a server process, which reads the catalog and plans
 * every statement again: in its first seconds, a call costs PostgreSQL twice as much. Shorter than load balancers keep
 * idle connections (350 s).
 */
const MAX_IDLE_MS = 5 * 60_000;

/**
 * A pool of `pg` over the servers of a connection URL. When one connection is unresponsive, the others are probably
 * dead too, and are replaced instead of being handed out.
 */
class PostgresPool {
  readonly #pool: Pool;
  readonly #hosts: PostgresHosts;
  readonly #openedAt = new WeakMap<PoolClient, number>();
  /** Connections opened before this time are no longer used. */
  #distrustedBefore = 0;

  constructor(hosts: PostgresHosts, log: DatabaseLog | undefined, config: PoolConfig) {
    this.#hosts = hosts;
    const { Pool, Client } = loadPg();
    this.#pool = new Pool({
      ...config,
      maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
      idleTimeoutMillis: MAX_IDLE_MS,
      verify: (client, done) => void hosts.check(client).then(() => done(), done),
      // Uses the server selected at the moment of connecting, which a URL passed to the pool could not follow.
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
    // A breaking connection also emits an `error` event, which would end the process without a listener.
    this.#pool.on('error', (error) => log?.warn({ err: error }, 'a connection to PostgreSQL was lost'));
  }

  /** @throws DatabaseUnavailableError when no server of the URL is usable, or no connection becomes free in time */
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

  /** Must receive every query error: some reveal something about the other connections. */
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

/** How often the operating system probes an idle connection. */
const KEEP_ALIVE_DELAY_MS = 5_000;
const CHECK_TIMEOUT_MS = 3_000;

/** The server is a standby, or was demoted to one: it rejects writes. */
class NotWritableError extends Error {
  constructor() {
    super('the server takes no writes: it is a standby');
    this.name = 'NotWritableError';
  }
}

/** The servers of a connection URL, of which one is used at a time: the first until it fails, then the next. */
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

  /** Identifies the server in use until it fails. */
  get current(): number {
    return this.#current;
  }

  /**
   * The `pg` configuration for the server in use. Linux then declares a dead connection within 15 s (5 s + 10 probes).
   */
  clientConfig(): ClientConfig {
    return {
      connectionString: withTlsModes(this.#urls[this.#current] as string),
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    };
  }

  /**
   * Switches to the next server because this one was unreachable or rejects writes, unless another caller has switched
   * already.
   */
  moveOnFrom(failed: number): void {
    if (failed === this.#current) this.#current = (failed + 1) % this.#urls.length;
  }

  /** @throws NotWritableError when writes are required and the server is a standby */
  async check(client: ClientBase): Promise<void> {
    if (!this.mustBeWritable) return;
    const { rows } = await client.query({
      text: "select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only",
      query_timeout: CHECK_TIMEOUT_MS,
    } as { text: string });
    // Our own type parsers read booleans as 0 and 1, those of `pg` as booleans.
    if (Number(rows[0]?.read_only) !== 0) throw new NotWritableError();
  }

  /** Host, port and database in use, for messages; contains neither user nor password. */
  describe(): string {
    const { hostname, port, pathname, searchParams } = new URL(this.#urls[this.#current] as string);
    return `${searchParams.get('host') ?? hostname}:${port || '5432'}${pathname}`;
  }
}

/** The parts of a libpq connection URL that `pg` does not read itself. */
interface PostgresLocation {
  /** URLs with one host each, for `pg`, in the order in which to try them. */
  readonly hostUrls: readonly [string, ...string[]];
  /** Whether only servers that accept writes are used, and standbys of a replicated pair are skipped. */
  readonly mustBeWritable: boolean;
  /** `poolMax` in the URL. */
  readonly poolMax: number | undefined;
}

const SESSION_ATTRIBUTES = ['any', 'read-write', 'primary'];
const URL_PARTS = /^(postgres(?:ql)?:\/\/)((?:[^@/?#]*@)?)([^/?#]*)(.*)$/s;

/**
 * Parses `postgres://user:password@a:5432,b:5432/name?target_session_attrs=read-write`: of several hosts, the first
 * that responds and accepts writes is used (libpq, section "Specifying Multiple Hosts"). With several hosts,
 * `target_session_attrs` defaults to `read-write`, because the service always writes.
 * @throws TypeError with a one-line reason that contains no password
 */
export function parsePostgresUrl(url: string): PostgresLocation {
  const [, scheme, user = '', hosts, rest = ''] = URL_PARTS.exec(url) ?? [];
  if (scheme === undefined || hosts === undefined) throw new TypeError('must start with postgres://');
  const problem = findUnencodedPassword(url);
  if (problem !== undefined) throw new TypeError(problem);
  const names = hosts.split(',');
  if (names.length > 1 && names.includes('')) throw new TypeError('has an empty host in its list');
  const urls = names.map((host) => {
    // Only a socket folder may replace the host, and `URL` requires a host.
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

/**
 * Gives the TLS modes of a URL the meaning they have in libpq, which `pg` keeps for its next major version: until then it
 * verifies certificates in all of them, and prints a warning. Without an authority, `verify-ca` would accept certificates
 * of any host, so it verifies the name too.
 */
function withTlsModes(url: string): string {
  const parsed = new URL(url);
  const { searchParams } = parsed;
  // The authorities that Node trusts. `pg` would look for a file of this name; libpq refuses any other mode with them.
  if (searchParams.get('sslrootcert') === 'system') {
    searchParams.delete('sslrootcert');
    searchParams.set('sslmode', 'verify-full');
  }
  const mode = searchParams.get('sslmode');
  if (mode === null || mode === 'no-verify') return parsed.href;
  if (mode === 'allow') searchParams.set('sslmode', 'prefer');
  if (mode === 'verify-ca' && !searchParams.has('sslrootcert')) searchParams.set('sslmode', 'verify-full');
  searchParams.set('uselibpqcompat', 'true');
  return parsed.href;
}

/**
 * The URL for `pg_dump` and `pg_restore`, without the password, which the process list would show. Not by `URL`, which
 * knows neither several hosts nor a user at none.
 */
export function toLibpqUrl(url: string): string {
  const [, scheme = '', user = '', hosts = '', rest = ''] = URL_PARTS.exec(url) ?? [];
  const [path = '', query = ''] = rest.split('?', 2);
  const parameters = new URLSearchParams(query);
  for (const each of ['password', 'poolMax']) parameters.delete(each);
  // The service's own default; libpq would take a standby too.
  if (hosts.includes(',') && !parameters.has('target_session_attrs'))
    parameters.set('target_session_attrs', 'read-write');
  const [name = ''] = user.split(/[:@]/, 1);
  // libpq reads a plus sign as it is.
  const text = parameters.toString().replaceAll('+', '%20');
  return `${scheme}${name && `${name}@`}${hosts}${path}${text && `?${text}`}`;
}

/** Node's error codes for a server that is unreachable or disconnected. */
const NETWORK = new Set(
  'ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH ENOENT'.split(' '),
);
/** The message of `pg`, which sets no code, for a query whose response is overdue. */
const SILENT = /^Query read timeout/;
/** The messages of `pg` and its pool, which set no code, for a broken connection and an exhausted pool. */
const BROKEN = /^Connection terminated|^timeout exceeded when trying to connect|connection error and is not queryable/;
/**
 * PostgreSQL, appendix A: connection exceptions (08), insufficient resources (53), shutdown and startup (57P), an
 * exceeded time limit (57014, 55P03, 25P03), a standby that rejects writes (25006).
 */
const UNAVAILABLE = /^(08...|53...|57P..|57014|55P03|25P03|25006)$/;
const DISK_FULL = '53100';
const LOCK_TIMEOUT = '55P03';
const READ_ONLY = '25006';
/** serialization_failure and deadlock_detected: the same transaction may well succeed when repeated. */
const CONFLICT = new Set(['40001', '40P01']);
/** Advice for operators on errors of the first connection, by code. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'is it running, and listening on this address and port?'],
  ['ENOTFOUND', 'the host name cannot be resolved'],
  ['ENOENT', 'there is no socket in this folder'],
  ['28P01', 'check the user and the password'],
  ['28000', 'check pg_hba.conf and the user; if it wants encryption, add ?sslmode=require'],
  ['3D000', 'create the database first'],
  ['53300', 'raise max_connections, or put PgBouncer in front'],
  ...['SELF_SIGNED_CERT_IN_CHAIN', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'].map(
    (code) => [code, 'name its authority: sslrootcert=/path/ca.pem'] as const,
  ),
  ['08P01', 'for a pooler such as PgBouncer, set DATABASE_DIRECT_URL to the address of the server itself'],
]);

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** For ambiguous codes: `routine` is the PostgreSQL function that reported the error. */
const isRaisedBy = (error: unknown, code: string, routine: string): boolean =>
  codeOf(error) === code && (error as { routine?: unknown }).routine === routine;

/** Attempts of a transaction, or of a statement outside of one, that conflicts with others. */
const MAX_ATTEMPTS = 3;

const toConflictError = (error: unknown, attempts: number): DatabaseUnavailableError =>
  new DatabaseUnavailableError(`the transaction lost against others ${attempts} times`, error);

/** Whether the same work may succeed when repeated. */
function isConflict(error: unknown): boolean {
  return CONFLICT.has(codeOf(error)) || isStalePlan(error) || isMovedPartition(error);
}

/**
 * A partition for the new row was attached after the target partition had been looked up (check_violation, reported by
 * `ExecPartitionCheckEmitError`).
 */
const isMovedPartition = (error: unknown): boolean => isRaisedBy(error, '23514', 'ExecPartitionCheckEmitError');

/** The result columns of a prepared statement have changed since it was planned; only this connection is affected. */
function isStalePlan(error: unknown): boolean {
  return isRaisedBy(error, '0A000', 'RevalidateCachedQuery');
}

/** The server did not respond in time, although it cancels long statements: other connections are probably dead too. */
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

/** No connection of the pool became free in time, which says nothing about the server. */
const isPoolExhausted = (error: unknown): boolean =>
  error instanceof Error && error.message === 'timeout exceeded when trying to connect';

/** Converts errors caused by the database itself to the one type the HTTP layer handles. */
function toDatabaseError(error: unknown): unknown {
  if (codeOf(error) === DISK_FULL) return new DiskFullError(error);
  if (codeOf(error) === LOCK_TIMEOUT) return new RowsLockedError(error);
  if (isConnectionLost(error) || UNAVAILABLE.test(codeOf(error))) {
    return new DatabaseUnavailableError(`PostgreSQL did not answer: ${reasonOf(error)}`, error);
  }
  return error;
}

/** Error of a first connection, with its cause and, if known, advice. */
export function toConnectError(error: unknown, server: string): DatabaseUnavailableError {
  // A certificate that cannot be read names its own file.
  const isOfFile = (error as NodeJS.ErrnoException | null)?.syscall === 'open';
  const hint = isOfFile ? undefined : HINTS.get(codeOf(error));
  const advice = hint === undefined ? '' : ` (${hint})`;
  return new DatabaseUnavailableError(`cannot connect to PostgreSQL at ${server}: ${reasonOf(error)}${advice}`, error);
}

/** Node reports the failures of all addresses of one host as one error without a message. */
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

/** Parses values like SQLite returns them: integers as numbers, comparisons as 0 or 1. */
function postgresTypes(): typeof PgTypes {
  const { types } = loadPg();
  return {
    ...types,
    getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
      (format !== 'binary' && PARSERS.get(oid)) || types.getTypeParser(oid, format)) as typeof types.getTypeParser,
  };
}

/** A boolean parameter becomes 0 or 1, the form of our columns. */
function toPostgresValue(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value;
}

const load = createRequire(import.meta.url);

/** Loads the PostgreSQL client on first use, which saves its megabytes on SQLite. */
export const loadPg = (): typeof pg => load('pg') as typeof pg;
