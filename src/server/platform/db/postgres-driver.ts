import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely';
import type { QueryResult as PgResult, PoolClient, QueryConfig } from 'pg';
import { DiskFullError } from './database-errors.ts';
import {
  isConflict,
  isConnectionLost,
  isStalePlan,
  MAX_ATTEMPTS,
  toConflictError,
  toDatabaseError,
} from './postgres-errors.ts';
import type { PostgresPool } from './postgres-pool.ts';
import { toPostgresValue } from './postgres-values.ts';
import type { NamedQuery } from './prepared-query.ts';

/** How much longer than the server's own limit a response is waited for before the connection counts as dead. */
const SILENCE_MS = 1_000;

export interface PostgresDriverOptions {
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
export class PostgresDriver implements Driver {
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

export function asPostgres(connection: DatabaseConnection): PostgresConnection {
  if (connection instanceof PostgresConnection) return connection;
  throw new TypeError('not a connection of this driver');
}

/** A limit of the client's own, for a server or network that is silent; 0, like the server's: none. */
const toDeadline = (statementTimeoutMs: number): number =>
  statementTimeoutMs === 0 ? 0 : statementTimeoutMs + SILENCE_MS;

export class PostgresConnection implements DatabaseConnection {
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
