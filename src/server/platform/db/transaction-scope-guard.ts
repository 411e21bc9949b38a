import { AsyncLocalStorage } from 'node:async_hooks';
import type { DatabaseConnection, Driver, TransactionSettings } from 'kysely';

interface Scope {
  /** Work that outlives its transaction keeps the context but may use the database again. */
  open: boolean;
}

/**
 * Knows which asynchronous work happens inside a transaction, and keeps it from using the database beside that
 * transaction: such a query would not be part of it, and could wait for it forever.
 */
export class TransactionContext {
  readonly #storage = new AsyncLocalStorage<Scope>();

  async run<R>(work: () => Promise<R>): Promise<R> {
    const scope: Scope = { open: true };
    try {
      return await this.#storage.run(scope, work);
    } finally {
      scope.open = false;
    }
  }

  assertOutside(): void {
    if (this.#storage.getStore()?.open) {
      throw new Error('use the transaction handed to the callback: the database itself must not be used inside it');
    }
  }

  /** Wraps a driver so that it hands out no further connection inside a transaction. */
  guard(driver: Driver): Driver {
    return {
      init: () => driver.init(),
      acquireConnection: (options) => {
        this.assertOutside();
        return driver.acquireConnection(options);
      },
      beginTransaction: (connection: DatabaseConnection, settings: TransactionSettings) =>
        driver.beginTransaction(connection, settings),
      commitTransaction: (connection) => driver.commitTransaction(connection),
      rollbackTransaction: (connection) => driver.rollbackTransaction(connection),
      releaseConnection: (connection) => driver.releaseConnection(connection),
      destroy: () => driver.destroy(),
    };
  }
}
