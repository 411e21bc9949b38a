/**
 * The database could not be reached, is shutting down, or did not take the write in time. Nothing is known to be wrong
 * with the request itself: the front door answers 503 and the caller may try again.
 */
export class DatabaseUnavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'DatabaseUnavailable';
  }
}

/** A transaction's callback waited for something other than the database for too long; it was rolled back. */
export class TransactionStalled extends Error {
  constructor(limitMs: number) {
    super(`the transaction was rolled back: its callback did not finish within ${limitMs} ms`);
    this.name = 'TransactionStalled';
  }
}
