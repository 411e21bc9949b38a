import type { CompiledQuery, Kysely, QueryResult, Transaction } from 'kysely';

/** Runs a compiled query on the very connection an executor stands for. */
export type Shortcut = <R>(query: CompiledQuery<R>) => Promise<QueryResult<R>>;

const known = new WeakMap<object, Shortcut>();

/**
 * Lets prepared queries of this executor go straight to its connection. Kysely itself hands every query through a dozen
 * promises to find the connection, which costs more than SQLite takes to answer.
 */
export function setShortcut<T>(executor: Kysely<T>, shortcut: Shortcut): void {
  known.set(executor, shortcut);
}

export const shortcutOf = <T>(executor: Kysely<T>): Shortcut | undefined => known.get(executor);

/**
 * Runs a transaction's work with the shortcut to its connection. It ends with the work: a query that comes too late must
 * meet Kysely's own refusal, not whoever has the connection by then.
 */
export async function withShortcut<T, R>(trx: Transaction<T>, work: () => Promise<R>): Promise<R> {
  const connection = await trx.getExecutor().provideConnection(async (own) => own);
  setShortcut(trx, (query) => connection.executeQuery(query));
  try {
    return await work();
  } finally {
    known.delete(trx);
  }
}
