import type { CompiledQuery, Kysely, QueryResult } from 'kysely';

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
