import type { Database, DatabaseOptions } from './database-interface-and-options.ts';
import { openPostgres } from './postgres-database.ts';
import { openSqlite } from './sqlite-database.ts';

/**
 * Opens the file, or makes ready to connect: PostgreSQL is first spoken to by the first query.
 *
 * @param url `sqlite:<path>` (the folder is made when absent), `sqlite::memory:` (gone on close) or `postgres://…`,
 *   where `?poolMax=20` sets the size of the pool
 */
export function openDatabase<T>(url: string, options: DatabaseOptions = {}): Database<T> {
  if (url.startsWith('sqlite:')) return openSqlite<T>(url.slice('sqlite:'.length), options);
  if (/^postgres(ql)?:/.test(url)) return openPostgres<T>(url, options);
  throw new TypeError('the database url must begin with "sqlite:" or "postgres://"');
}
