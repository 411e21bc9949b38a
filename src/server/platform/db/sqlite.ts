import { once } from 'node:events';
import { chmodSync, closeSync, fdatasync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type Dialect as KyselyDialect,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  type Transaction,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import { assertSqliteFile, makeFolders } from '../path-checks.ts';
import {
  type Database,
  type DatabaseOptions,
  DatabaseUnavailableError,
  runAfterCommitActions,
  TransactionContext,
} from './database.ts';
import { GroupCommit, type GroupCommitOptions, type WriteTransaction } from './group-commit.ts';
import { DiskFullState } from './migrate.ts';
import { LocklessSqliteCompiler, type NamedQuery, setDirectExecutor, withDirectExecutor } from './sql.ts';

/** Writes pause for the end of a checkpoint only if no more than this is left to copy. */
const MAX_PAUSED_FRAMES = 1_000;
/** SQLITE_IOERR: https://sqlite.org/rescode.html#ioerr */
const IO_ERROR = 10;

interface CheckpointerOptions {
  /** Path of the database. */
  readonly path: string;
  /** Length of the log at which a checkpoint starts. */
  readonly frames: number;
  /** Resolves between two commits; none follows until the returned function is called. */
  readonly pause: () => Promise<() => void>;
  readonly onError: (error: Error) => void;
  /** Called when the disk may have lost pages of the database. */
  readonly onLost: (error: DatabaseUnavailableError) => void;
}

/** A row of `pragma wal_checkpoint`, or the error. */
type Outcome =
  | { readonly busy: number; readonly log: number; readonly checkpointed: number }
  | { readonly message: string; readonly errcode: number };

/**
 * Copies the log into the database on a thread of its own, which lives for one checkpoint. Most pages are copied beside
 * the commits. For the rest commits pause, because the log can only be restarted once everything is copied; the thread
 * then writes and flushes the first frame of the restarted log, so that no commit has to.
 */
class Checkpointer {
  readonly #options: CheckpointerOptions;
  #nextAt: number;
  #running: Promise<void> | undefined;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
    this.#nextAt = options.frames;
  }

  /** @param frames length of the log */
  afterCommit(frames: number): void {
    if (frames < this.#nextAt || this.#running !== undefined) return;
    this.#nextAt = frames + this.#options.frames;
    this.#running = this.#run()
      .catch((error: Error) => this.#options.onError(error))
      .finally(() => {
        this.#running = undefined;
      });
  }

  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    const worker = new Worker(PROGRAM, { eval: true, workerData: this.#options.path, execArgv: [] });
    const ended = once(worker, 'exit');
    // A thread that cannot start, for want of descriptors or memory, fails this wait too; its outcome reports that.
    ended.catch(() => {});
    const copied = await this.#outcome(worker);
    // Another process is reading an old state, such as a backup.
    if (copied.log - copied.checkpointed > MAX_PAUSED_FRAMES) worker.postMessage('end');
    else {
      const resume = await this.#options.pause();
      try {
        worker.postMessage('restart');
        if ((await this.#outcome(worker)).busy === 0) this.#nextAt = this.#options.frames;
      } finally {
        resume();
      }
    }
    await ended;
  }

  async #outcome(worker: Worker): Promise<Exclude<Outcome, { errcode: number }>> {
    const [outcome] = (await once(worker, 'message')) as [Outcome];
    if (!('errcode' in outcome)) return outcome;
    const error = new DatabaseUnavailableError(`the log could not be checkpointed: ${outcome.message}`);
    if ((outcome.errcode & 0xff) === IO_ERROR) this.#options.onLost(error);
    throw error;
  }
}

/** The thread. Its program is text, because a file would be missing from the bundles of the server. */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const database = new DatabaseSync(workerData, { timeout: 0 });
const get = (sql) => database.prepare('pragma ' + sql).get();
const end = () => { database.close(); parentPort.close(); };
const report = (work) => {
  try {
    parentPort.postMessage({ ...work() });
  } catch ({ message, errcode = 0 }) {
    parentPort.postMessage({ message, errcode });
    end();
  }
};
report(() => {
  database.exec('pragma synchronous = normal; pragma wal_autocheckpoint = 0');
  for (let before = 0, tries = 0; ; tries++) {
    const copied = get('wal_checkpoint(passive)');
    if (copied.checkpointed - before <= ${MAX_PAUSED_FRAMES} || tries === 8) return copied;
    before = copied.checkpointed;
  }
});
parentPort.on('message', (order) => {
  if (order === 'restart') report(() => {
    database.exec('pragma busy_timeout = 100');
    const restarted = get('wal_checkpoint(restart)');
    // Writes the page it is on, unchanged.
    if (restarted.busy === 0) database.exec('pragma user_version = ' + get('user_version').user_version);
    return restarted;
  });
  end();
});
`;

/** Opens a SQLite file. */
export function openSqlite<T>(path: string, options: DatabaseOptions): Database<T> {
  const context = new TransactionContext();
  const space = new DiskFullState();
  const driver = new SqliteDriver(path, {
    onDiskFull: () => space.noteFull(),
    stallMs: options.stallMs ?? 5_000,
    batchMs: options.batchMs ?? 5,
    onQuery: options.onQuery ?? (() => {}),
    onStall: (error) => options.log?.error({ err: error }, 'a transaction held up all others and was rolled back'),
    onLost: options.onLost ?? (() => {}),
    onCheckpointError: (error) => options.log?.error({ err: error }, 'the log of the database was not checkpointed'),
    flushesInline: options.isCommand === true,
    checkpointFrames: options.checkpointFrames ?? 4_000,
  });
  const kysely = new Kysely<T>({ dialect: sqliteDialect(context.guard(driver)) });
  const beside = driver.connect();
  setDirectExecutor(kysely, (query) => {
    context.assertOutside();
    return beside.executeQuery(query);
  });
  const inTransaction = <R>(run: (trx: Transaction<T>) => Promise<R>): Promise<R> =>
    kysely.transaction().execute((trx) => withDirectExecutor(trx, () => context.run(() => run(trx))));
  return {
    dialect: 'sqlite',
    kysely,
    snapshot: () => driver.snapshot,
    connections: undefined,
    releaseSpace: (maxPages) => driver.releaseSpace(maxPages),
    transaction: (work) => runAfterCommitActions(inTransaction, work),
    ping: () => {
      driver.assertNotLost();
      return space.assertFree(kysely);
    },
    close: () => driver.destroy(),
  };
}

function sqliteDialect(driver: Driver): KyselyDialect {
  return {
    createDriver: () => driver,
    createAdapter: () => new ConcurrentSqliteAdapter(),
    createQueryCompiler: () => new LocklessSqliteCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** By default, Kysely serializes queries on SQLite; here the driver orders the writes itself. */
class ConcurrentSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

interface SqliteDriverOptions extends Omit<GroupCommitOptions, 'snapshot' | 'takeChanged' | 'flush'> {
  readonly onCheckpointError: (error: Error) => void;
  /** Commits block until they are durable, before any process can read them. */
  readonly flushesInline: boolean;
  /** 4 000 pages are 16 MiB; pages that many writes share are copied into the file once. */
  readonly checkpointFrames: number;
  /** Called after every statement with its duration in seconds; for a write, without the wait for its batch. */
  readonly onQuery: (seconds: number) => void;
}

/** https://sqlite.org/pragma.html#pragma_auto_vacuum */
const INCREMENTAL = 2;
/** Share of free pages that stays in the file: new rows will need them, and allocating them again costs more. */
const KEPT_FREE_SHARE = 0.1;
/**
 * Reads resolve without an event, so a loop of thousands would keep the process from everything else, even from the
 * flush of a commit.
 */
const MAX_TURN_MS = 20;
/** The length of the log is read after this many commits, because that takes as long as a small write. */
const COMMITS_PER_LENGTH = 16;

/** One connection for writes, in batches, and one for reads, which run immediately. */
class SqliteDriver implements Driver {
  readonly #writer: SqliteStatements;
  readonly #reader: SqliteReadConnection;
  readonly #commits: GroupCommit;
  readonly #checkpointer: Checkpointer;
  readonly #temporary: string | undefined;
  /** Descriptor of the log; closing it releases no lock, because SQLite locks other files. */
  readonly #log: number;
  #commitCount = 0;
  readonly #onQuery: SqliteDriverOptions['onQuery'];

  /**
   * `path` `:memory:` means a file that is deleted on close, because two connections could not share an in-memory
   * database.
   */
  constructor(path: string, options: SqliteDriverOptions) {
    assertSqliteFile(path);
    this.#onQuery = options.onQuery;
    this.#temporary = path === ':memory:' ? mkdtempSync(join(tmpdir(), 'reelgate-')) : undefined;
    const file = this.#temporary ? join(this.#temporary, 'reelgate.db') : path;
    makeFolders(dirname(file));
    keepFromOthers(file);
    this.#writer = new SqliteStatements(file);
    // Lets pages of deleted rows be released later. Only a new file accepts this setting; on others it has no effect.
    if (readNumber(this.#writer.database, 'page_count') === 0)
      this.#writer.database.exec('pragma auto_vacuum = incremental');
    this.#writer.database.exec(`
      pragma journal_mode = wal;
      -- normal: SQLite flushes only the header of a restarted log, so that old frames cannot follow a new one
      pragma synchronous = ${options.flushesInline ? 'full' : 'normal'};
      pragma temp_store = memory;
      pragma wal_autocheckpoint = ${options.flushesInline ? options.checkpointFrames : 0};
      pragma journal_size_limit = 67108864;
      -- a held lock is waited for outside SQLite, where the process can go on meanwhile
      pragma busy_timeout = 0;
    `);
    this.#reader = new SqliteReadConnection(file);
    this.#log = openSync(`${file}-wal`, 'r+');
    this.#commits = new GroupCommit(this.#writer.database, {
      ...options,
      snapshot: this.#reader,
      takeChanged: () => !options.flushesInline && this.#writer.takeChanged(),
      flush: () => this.#flush(),
    });
    this.#checkpointer = new Checkpointer({
      path: file,
      frames: options.checkpointFrames,
      pause: () => this.#commits.pause(),
      onError: options.onCheckpointError,
      onLost: options.onLost,
    });
  }

  /** @throws DatabaseUnavailableError after a failed flush */
  assertNotLost(): void {
    if (this.#commits.lost !== undefined) throw this.#commits.lost;
  }

  /** The snapshot of reads; see {@link Database.snapshot}. */
  get snapshot(): object | undefined {
    return this.#reader.snapshot;
  }

  #flush(): Promise<void> {
    if (++this.#commitCount % COMMITS_PER_LENGTH === 0) {
      const { log } = this.#writer.database.prepare('pragma wal_checkpoint(noop)').get() ?? {};
      this.#checkpointer.afterCommit(Number(log));
    }
    return new Promise((resolve, reject) => {
      fdatasync(this.#log, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  /**
   * Releases up to `maxPages` free pages, keeping a tenth of the file.
   * @returns whether more remain
   */
  releaseSpace(maxPages: number): Promise<boolean> {
    const { database } = this.#writer;
    const read = (name: string): number => readNumber(database, name);
    return this.#commits.write(() => {
      if (read('auto_vacuum') !== INCREMENTAL) return false;
      const surplus = read('freelist_count') - Math.ceil(read('page_count') * KEPT_FREE_SHARE);
      if (surplus > 0) this.#writer.exec(`pragma incremental_vacuum(${Math.min(surplus, maxPages)})`);
      return surplus > maxPages;
    });
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<SqliteConnection> {
    return this.connect();
  }

  /** The connection for one query or one transaction, as Kysely would acquire it; it needs no release. */
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
    // A query started in this turn has not reached the driver yet, because Kysely passes it through several promises.
    await nextTurn();
    await this.#commits.drain();
    await this.#checkpointer.idle();
    this.#reader.close();
    this.#writer.close();
    closeSync(this.#log);
    if (this.#temporary) rmSync(this.#temporary, { recursive: true, force: true });
  }
}

/**
 * Makes the file accessible only to its owner, and removes the permissions of others from an existing one. Group
 * permissions stay, because a mail server may read the accounts. SQLite gives its log the same permissions.
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

/** The connection that Kysely holds during one query or one transaction. */
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
    if (isRead(query)) {
      if (this.#reader.hasLongTurn()) await nextTurn();
      return this.#timed(() => this.#reader.read<R>(query));
    }
    return this.#commits.write(() => this.#timed(() => this.#writer.execute<R>(query)));
  }

  /** After a failed statement only a rollback is accepted, as on PostgreSQL; SQLite itself would continue. */
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

  /** Returns all rows at once: an open cursor would prevent checkpoints of the log. Read long lists page by page. */
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }
}

/** Whether a query may use the read connection; a statement that is not certainly a read is treated as a write. */
function isRead(query: CompiledQuery): boolean {
  if (query.query.kind === 'SelectQueryNode') return true;
  return query.query.kind === 'RawNode' && /^\s*(select|explain)\b/i.test(query.sql);
}

const readNumber = (database: DatabaseSync, pragma: string): number =>
  Number(Object.values(database.prepare(`pragma ${pragma}`).get() ?? {})[0]);

/**
 * The read connection. All reads of one event loop turn share a snapshot, because opening one takes several system
 * calls, more than most queries. The snapshot is at most one turn old, or as old as a commit that is still being
 * flushed, and never older than a write this process has confirmed.
 */
class SqliteReadConnection {
  readonly #statements: SqliteStatements;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #anyRow: StatementSync;
  #snapshot: object | undefined;
  #isHeld = false;
  /** Time of the first read in this turn of the event loop. */
  #turnBeganAt: number | undefined;

  constructor(path: string) {
    this.#statements = new SqliteStatements(path);
    const { database } = this.#statements;
    database.exec('pragma query_only = on; pragma temp_store = memory;');
    this.#begin = database.prepare('begin');
    this.#commit = database.prepare('commit');
    this.#anyRow = database.prepare('select 1 from sqlite_schema limit 1');
    // Creates the log.
    this.#anyRow.get();
  }

  /** The open snapshot; undefined if a failed read has ended it. */
  get snapshot(): object | undefined {
    return this.#snapshot !== undefined && this.#statements.database.isTransaction ? this.#snapshot : undefined;
  }

  /** Whether the reads of this turn have exceeded their time, so that the next one yields to the event loop first. */
  hasLongTurn(): boolean {
    const now = performance.now();
    if (this.#turnBeganAt !== undefined) return now - this.#turnBeganAt > MAX_TURN_MS;
    this.#turnBeganAt = now;
    setImmediate(this.#endTurn);
    return false;
  }

  readonly #endTurn = (): void => {
    this.#turnBeganAt = undefined;
  };

  read<R>(query: CompiledQuery): QueryResult<R> {
    this.#open();
    return this.#statements.execute<R>(query);
  }

  /** Opens the snapshot of this event loop turn if there is none. */
  #open(): void {
    if (this.#isHeld && !this.#statements.database.isTransaction)
      throw new DatabaseUnavailableError('the snapshot of the durable state was lost');
    if (this.#snapshot !== undefined) return;
    this.#begin.run();
    this.#snapshot = {};
    setImmediate(this.#renew);
  }

  /** Keeps the present snapshot until it is released, whatever is committed meanwhile. */
  hold(): void {
    this.#open();
    // `begin` alone takes none.
    this.#anyRow.get();
    this.#isHeld = true;
  }

  /** Ends the snapshot: the next read sees everything committed by then. */
  release(): void {
    this.#isHeld = false;
    this.#renew();
  }

  readonly #renew = (): void => {
    if (this.#snapshot === undefined || this.#isHeld) return;
    this.#snapshot = undefined;
    // A failed read may have ended it already.
    if (this.#statements.database.isTransaction) this.#commit.run();
  };

  close(): void {
    this.release();
    this.#statements.close();
  }
}

interface CachedStatement {
  readonly statement: StatementSync;
  /** Names of the result columns; empty for a statement that returns a row count. */
  columns: readonly string[];
  /** It changes rows at most, which SQLite counts. */
  readonly isCounted: boolean;
}

/**
 * One connection with its prepared statements, cached by SQL text. Kysely alone would prepare a statement for each
 * call.
 */
class SqliteStatements {
  readonly database: DatabaseSync;
  readonly #cache = new LRUCache<string, CachedStatement>({ max: 500 });
  readonly #totalChanges: StatementSync;
  #changes = 0;
  /** A statement that is not counted was executed. */
  #hasUncounted = false;

  constructor(path: string) {
    this.database = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: 5_000 });
    this.#totalChanges = this.database.prepare('select total_changes() as n');
  }

  /** Whether a statement since the last call may have changed the file; rolled back changes count too. */
  takeChanged(): boolean {
    const changes = Number(this.#totalChanges.get()?.n);
    const hasChanged = this.#hasUncounted || changes !== this.#changes;
    this.#changes = changes;
    this.#hasUncounted = false;
    return hasChanged;
  }

  exec(sql: string): void {
    this.#hasUncounted = true;
    this.database.exec(sql);
  }

  execute<R>(query: CompiledQuery): QueryResult<R> {
    const cached = this.#prepare(query.sql);
    if (!cached.isCounted) this.#hasUncounted = true;
    // A column of integers stores 5.0 as 5, and converting each number to a BigInt takes a tenth of an insert.
    const values = (query as NamedQuery).storesOnly
      ? (query.parameters as readonly SQLInputValue[])
      : query.parameters.map(toSqliteValue);
    if (cached.columns.length === 0) {
      const { changes, lastInsertRowid } = cached.statement.run(...values);
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
    }
    const rows = cached.statement.all(...values);
    return { rows: rows.map((row) => toRow<R>(row, cached)), numAffectedRows: BigInt(rows.length) };
  }

  close(): void {
    this.#cache.clear();
    this.database.close();
  }

  #prepare(sql: string): CachedStatement {
    const known = this.#cache.get(sql);
    if (known) return known;
    const statement = this.database.prepare(sql);
    statement.setReturnArrays(true);
    const isCounted = /^\s*(select|insert|update|delete|with)\b/i.test(sql);
    const cached = { statement, columns: columnNames(statement), isCounted };
    this.#cache.set(sql, cached);
    return cached;
  }
}

function columnNames(statement: StatementSync): readonly string[] {
  return statement.columns().map((column) => column.name);
}

/**
 * Converts rows from arrays to plain objects: node:sqlite builds its own objects slowly and without a prototype, so
 * they would not be deeply equal to PostgreSQL's rows.
 */
function toRow<R>(row: unknown, cached: CachedStatement): R {
  const values = row as readonly unknown[];
  if (values.length !== cached.columns.length) cached.columns = columnNames(cached.statement);
  const object: Record<string, unknown> = {};
  const { columns } = cached;
  for (let i = 0; i < values.length; i++) object[columns[i] ?? i] = values[i];
  return object as R;
}

/**
 * node:sqlite binds every JavaScript number as a float, so that `balance / ?` would divide as floats and a number in a
 * text column would read "5.0". Whole numbers are bound as integers instead, as on PostgreSQL.
 */
function toSqliteValue(value: unknown): SQLInputValue {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  return typeof value === 'boolean' ? BigInt(value) : (value as SQLInputValue);
}
