import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely';
import { assertSqliteFile, makeFolders } from '../path-checks.ts';
import { GroupCommit, type GroupCommitOptions, type WriteTransaction } from './group-commit.ts';
import { SqliteReadConnection } from './sqlite-read-connection.ts';
import { SqliteStatements } from './sqlite-statements.ts';
import { TableChangeCounter } from './sqlite-table-change-counter.ts';

export interface SqliteDriverOptions extends Omit<GroupCommitOptions, 'beforeCommit' | 'afterCommit'> {
  /** Called after every statement with its seconds; a write counts without the wait for its batch. */
  readonly onQuery: (seconds: number) => void;
}

/** https://sqlite.org/pragma.html#pragma_auto_vacuum */
const INCREMENTAL = 2;
/** Free pages that stay in the file: the next rows need them, and to take them from the disk again costs more. */
const KEPT_FREE_SHARE = 0.1;

/** One connection that writes, in batches, and one that reads, at once. */
export class SqliteDriver implements Driver {
  readonly #writer: SqliteStatements;
  readonly #reader: SqliteReadConnection;
  readonly #commits: GroupCommit;
  readonly #changes = new TableChangeCounter();
  readonly #dataVersion: StatementSync;
  #lastDataVersion: unknown;
  readonly #temporary: string | undefined;
  readonly #onQuery: SqliteDriverOptions['onQuery'];

  /** `path` `:memory:` means a file that is deleted on close: two connections could not share one in memory. */
  constructor(path: string, options: SqliteDriverOptions) {
    assertSqliteFile(path);
    this.#onQuery = options.onQuery;
    this.#temporary = path === ':memory:' ? mkdtempSync(join(tmpdir(), 'reelgate-')) : undefined;
    const file = this.#temporary ? join(this.#temporary, 'reelgate.db') : path;
    makeFolders(dirname(file));
    keepFromOthers(file);
    this.#writer = new SqliteStatements(file, this.#changes);
    // Pages of deleted rows can be given back later. Only a new file can be set so; another one would be written to without effect.
    if (readNumber(this.#writer.database, 'page_count') === 0)
      this.#writer.database.exec('pragma auto_vacuum = incremental');
    this.#writer.database.exec(`
      pragma journal_mode = wal;
      pragma synchronous = full;
      pragma temp_store = memory;
      -- 16 MiB of log before pages are copied into the file: pages that many writes share are copied once
      pragma wal_autocheckpoint = 4000;
      pragma journal_size_limit = 67108864;
      -- a held lock is waited for outside SQLite, where the process can go on meanwhile
      pragma busy_timeout = 0;
    `);
    this.#dataVersion = this.#writer.database.prepare('pragma data_version');
    this.#reader = new SqliteReadConnection(file, () => this.#noticeOthers());
    this.#commits = new GroupCommit(this.#writer.database, {
      ...options,
      beforeCommit: this.#reader.renew,
      afterCommit: () => this.#changes.commit(),
    });
  }

  /** A number that is another one whenever rows of these tables may have changed. Ask for it before they are read. */
  watch(tables: readonly string[]): () => number {
    for (const table of tables) this.#changes.watch(table);
    this.#writer.forget();
    return () => {
      this.#reader.open();
      return this.#changes.countOf(tables);
    };
  }

  /** A command of the administrator may write beside this process; https://sqlite.org/pragma.html#pragma_data_version */
  #noticeOthers(): void {
    const version = this.#dataVersion.get()?.data_version;
    if (version !== this.#lastDataVersion) this.#changes.countAll();
    this.#lastDataVersion = version;
  }

  /** Gives back free pages beyond a tenth of the file, at most so many. @returns whether there are more */
  releaseSpace(maxPages: number): Promise<boolean> {
    const { database } = this.#writer;
    const read = (name: string): number => readNumber(database, name);
    return this.#commits.write(() => {
      if (read('auto_vacuum') !== INCREMENTAL) return false;
      const surplus = read('freelist_count') - Math.ceil(read('page_count') * KEPT_FREE_SHARE);
      if (surplus > 0) database.exec(`pragma incremental_vacuum(${Math.min(surplus, maxPages)})`);
      return surplus > maxPages;
    });
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<SqliteConnection> {
    return this.connect();
  }

  /** What Kysely would be given for one query or one transaction; there is nothing to give back. */
  connect(): SqliteConnection {
    return new SqliteConnection(this.#reader, this.#writer, this.#commits, this.#onQuery);
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await asSqlite(connection).begin();
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await asSqlite(connection).commit();
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await asSqlite(connection).rollback();
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    // A query started in this turn has not reached the driver yet: Kysely passes it through several promises.
    await nextTurn();
    await this.#commits.drain();
    this.#reader.close();
    this.#writer.close();
    if (this.#temporary) rmSync(this.#temporary, { recursive: true, force: true });
  }
}

/**
 * Makes the file readable for its owner alone, and takes the rights of everybody from one that exists; a group's stay, since a
 * mail server may read the accounts. SQLite gives its log the same rights.
 */
function keepFromOthers(file: string): void {
  closeSync(openSync(file, 'a', 0o600));
  const { mode, uid } = statSync(file);
  // Another user's file keeps the permissions its owner set.
  if ((mode & 0o007) !== 0 && uid === process.getuid?.()) chmodSync(file, mode & 0o770);
}

function asSqlite(connection: DatabaseConnection): SqliteConnection {
  if (connection instanceof SqliteConnection) return connection;
  throw new TypeError('not a connection of this driver');
}

/** What Kysely holds during one query or one transaction. */
class SqliteConnection implements DatabaseConnection {
  readonly #reader: SqliteReadConnection;
  readonly #writer: SqliteStatements;
  readonly #commits: GroupCommit;
  readonly #onQuery: SqliteDriverOptions['onQuery'];
  #transaction: WriteTransaction | undefined;
  #failed = false;

  constructor(
    reader: SqliteReadConnection,
    writer: SqliteStatements,
    commits: GroupCommit,
    onQuery: SqliteDriverOptions['onQuery'],
  ) {
    this.#reader = reader;
    this.#writer = writer;
    this.#commits = commits;
    this.#onQuery = onQuery;
  }

  async begin(): Promise<void> {
    this.#transaction = await this.#commits.begin();
  }

  async commit(): Promise<void> {
    this.#assertNotFailed();
    await this.#transaction?.commit();
  }

  async rollback(): Promise<void> {
    await this.#transaction?.rollback();
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#transaction) return this.#executeInTurn<R>(this.#transaction, query);
    if (isRead(query)) return this.#timed(() => this.#reader.read<R>(query));
    return this.#commits.write(() => this.#timed(() => this.#writer.execute<R>(query)));
  }

  /** After a failed statement nothing but a rollback follows, as on PostgreSQL: SQLite alone would go on. */
  #executeInTurn<R>(turn: WriteTransaction, query: CompiledQuery): QueryResult<R> {
    turn.assertOpen();
    this.#assertNotFailed();
    try {
      return this.#timed(() => this.#writer.execute<R>(query));
    } catch (error) {
      this.#failed = true;
      throw this.#commits.toWriteError(error);
    }
  }

  #timed<T>(execute: () => T): T {
    const startedAt = performance.now();
    try {
      return execute();
    } finally {
      this.#onQuery((performance.now() - startedAt) / 1_000);
    }
  }

  #assertNotFailed(): void {
    if (this.#failed) throw new Error('a statement failed, so the transaction is rolled back');
  }

  /** All rows at once: an open cursor would keep the log from being checkpointed. Read long lists page by page. */
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }
}

/** What may go to the reading connection; any statement that is not certain to be a read is treated as a write. */
function isRead(query: CompiledQuery): boolean {
  if (query.query.kind === 'SelectQueryNode') return true;
  return query.query.kind === 'RawNode' && /^\s*(select|explain)\b/i.test(query.sql);
}

const readNumber = (database: DatabaseSync, pragma: string): number =>
  Number(Object.values(database.prepare(`pragma ${pragma}`).get() ?? {})[0]);
