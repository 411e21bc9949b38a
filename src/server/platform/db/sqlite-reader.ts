import type { StatementSync } from 'node:sqlite';
import type { CompiledQuery, QueryResult } from 'kysely';
import { SqliteStatements } from './sqlite-statements.ts';

/**
 * The connection that reads. All reads of one turn of the event loop share a snapshot, for to open one costs several system
 * calls, more than most look-ups. It is at most one turn old and never older than a write this process has answered for.
 */
export class SqliteReader {
  readonly #statements: SqliteStatements;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  #isOpen = false;

  constructor(path: string) {
    this.#statements = new SqliteStatements(path);
    const { database } = this.#statements;
    database.exec('pragma query_only = on; pragma temp_store = memory;');
    this.#begin = database.prepare('begin');
    this.#commit = database.prepare('commit');
  }

  read<R>(query: CompiledQuery): QueryResult<R> {
    if (!this.#isOpen) {
      this.#begin.run();
      this.#isOpen = true;
      setImmediate(this.renew);
    }
    return this.#statements.execute<R>(query);
  }

  /** Ends the snapshot: whoever reads next sees all that is committed by then. */
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
