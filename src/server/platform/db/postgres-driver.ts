import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely';
import type { QueryResult as PgResult, Pool, PoolClient } from 'pg';
import { isConnectionLost, isStalePlan, toDatabaseError } from './postgres-errors.ts';
import { toPostgresValue } from './postgres-values.ts';
import type { NamedQuery } from './prepared.ts';

/** Kysely over a pool of `pg`, with our reading of its errors. */
export class PostgresDriver implements Driver {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    try {
      return new PostgresConnection(await this.#pool.connect());
    } catch (error) {
      throw toDatabaseError(error);
    }
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await asPostgres(connection).command('begin');
  }

  /**
   * When the connection breaks here nobody knows whether the work was kept; the caller hears `DatabaseUnavailable`, and a
   * repeated request is held off by its own precondition or idempotency key.
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

class PostgresConnection implements DatabaseConnection {
  readonly #client: PoolClient;
  #lost = false;
  #inTransaction = false;

  constructor(client: PoolClient) {
    this.#client = client;
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

  /** Runs `begin` or `commit` and answers with what the server says it did. */
  async command(sql: string): Promise<string> {
    this.#inTransaction = true;
    return (await this.#query(sql, [])).command;
  }

  /** A rollback that fails leaves nothing behind either: the server undoes what a closed connection began. */
  async undo(): Promise<void> {
    try {
      await this.#query('rollback', []);
    } catch {
      this.#lost = true;
    }
  }

  release(): void {
    this.#client.release(this.#lost);
  }

  async #query(text: string, values: unknown[], name?: string): Promise<PgResult> {
    try {
      return await this.#client.query(name === undefined ? { text, values } : { name, text, values });
    } catch (error) {
      this.#lost ||= isConnectionLost(error) || isStalePlan(error);
      // Another release has changed a table meanwhile. A transaction is repeated as a whole, on another connection.
      if (isStalePlan(error) && !this.#inTransaction) return this.#query(text, values);
      throw toDatabaseError(error);
    }
  }
}
