import type { CompiledQuery, Kysely, QueryResult, Transaction } from 'kysely';

/** Runs a compiled query on the connection of an executor. */
export type DirectExecutor = <R>(query: CompiledQuery<R>) => Promise<QueryResult<R>>;

const executors = new WeakMap<object, DirectExecutor>();

/**
 * Lets prepared queries of this executor go straight to its connection. Kysely itself hands every query through a dozen
 * promises to find the connection, which takes longer than the query itself on SQLite.
 */
export function setDirectExecutor<T>(executor: Kysely<T>, shortcut: DirectExecutor): void {
  executors.set(executor, shortcut);
}

export const directExecutorOf = <T>(executor: Kysely<T>): DirectExecutor | undefined => executors.get(executor);

/**
 * Runs a transaction's work with the shortcut to its connection. It ends with the work: a query that comes too late must
 * meet Kysely's own refusal, not whoever has the connection by then.
 */
export async function withDirectExecutor<T, R>(trx: Transaction<T>, work: () => Promise<R>): Promise<R> {
  const connection = await trx.getExecutor().provideConnection(async (own) => own);
  setDirectExecutor(trx, (query) => connection.executeQuery(query));
  try {
    return await work();
  } finally {
    executors.delete(trx);
  }
}
