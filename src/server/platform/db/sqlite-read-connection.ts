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
  #isOpen = false;

  /** @param onOpen called before a snapshot is opened */
  constructor(path: string, onOpen: () => void) {
    this.#onOpen = onOpen;
    this.#statements = new SqliteStatements(path);
    const { database } = this.#statements;
    database.exec('pragma query_only = on; pragma temp_store = memory;');
    this.#begin = database.prepare('begin');
    this.#commit = database.prepare('commit');
  }

  read<R>(query: CompiledQuery): QueryResult<R> {
    this.open();
    return this.#statements.execute<R>(query);
  }

  /** Opens the snapshot of this turn of the event loop if there is none. */
  open(): void {
    if (this.#isOpen) return;
    this.#onOpen();
    this.#begin.run();
    this.#isOpen = true;
    setImmediate(this.renew);
  }

  /** Ends the snapshot: the next read sees everything committed by then. */
  readonly renew = (): void => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // A failed read may have ended it already.
    if (this.#statements.database.isTransaction) this.#commit.run();
  };

  close(): void {
    this.renew();
    this.#statements.close();
  }
}
