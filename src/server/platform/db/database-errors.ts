/**
 * The database could not be reached, is shutting down, or did not take the write in time. Nothing is known to be wrong
 * with the request itself: the HTTP layer responds with 503 and the caller may try again.
 */
export class DatabaseUnavailableError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'DatabaseUnavailableError';
  }
}

/** Writes fail because the disk of the database has no space left; reads go on. */
export class DiskFullError extends DatabaseUnavailableError {
  constructor(cause?: unknown) {
    super('the disk of the database is full', cause);
    this.name = 'DiskFullError';
  }
}

/** A transaction's callback waited for something other than the database for too long; it was rolled back. */
export class TransactionStalledError extends Error {
  constructor(limitMs: number) {
    super(`the transaction was rolled back: its callback did not finish within ${limitMs} ms`);
    this.name = 'TransactionStalledError';
  }
}

/** Another process has the SQLite file open as a service. */
export class AlreadyServedError extends Error {
  constructor(path: string) {
    super(
      `another Reelgate process is running on ${path}. SQLite serves one process: stop that one first, or use PostgreSQL (DATABASE_URL=postgres://…) for several.`,
    );
    this.name = 'AlreadyServedError';
  }
}

/** The schema was changed by a newer release in a way this release cannot work with. */
export class SchemaMismatchError extends Error {
  constructor(problem: string) {
    super(
      `the database was changed by a newer release: ${problem}. Run that release, or restore a backup made before it.`,
    );
    this.name = 'SchemaMismatchError';
  }
}
