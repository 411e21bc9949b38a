import type { StatementSync } from 'node:sqlite';
import type { CompiledQuery, QueryResult } from 'kysely';
import { SqliteStatements } from './sqlite-statements.ts';

/**
 * The connection that reads. All reads of one turn of the event loop share a snapshot, since opening one costs several
 * system calls, more than most queries. It is at most one turn old and never older than a write this process has confirmed.
 */
export class SqliteReadConnection {
  readonly #statements: SqliteStatements;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #onOpen: () => void;
  #snapshot: object | undefined;

  /** @param onOpen called before a snapshot is opened */
  constructor(path: string, onOpen: () => void) {
    this.#onOpen = onOpen;
    this.#statements = new SqliteStatements(path);
    const { database } = this.#statements;
    database.exec('pragma query_only = on; pragma temp_store = memory;');
    this.#begin = database.prepare('begin');
    this.#commit = database.prepare('commit');
  }

  /** Names the snapshot that is open: the same object, the same state. */
  get snapshot(): object | undefined {
    return this.#snapshot;
  }

  read<R>(query: CompiledQuery): QueryResult<R> {
    this.open();
    return this.#statements.execute<R>(query);
  }

  /** Opens the snapshot of this turn of the event loop if there is none. */
  open(): void {
    if (this.#snapshot !== undefined) return;
    this.#onOpen();
    this.#begin.run();
    this.#snapshot = {};
    setImmediate(this.renew);
  }

  /** Ends the snapshot: the next read sees everything committed by then. */
  readonly renew = (): void => {
    if (this.#snapshot === undefined) return;
    this.#snapshot = undefined;
    // A failed read may have ended it already.
    if (this.#statements.database.isTransaction) this.#commit.run();
  };

  close(): void {
    this.renew();
    this.#statements.close();
  }
}
