import { existsSync } from 'node:fs';
import { formatMessage } from '../../contract/messages/format-message.ts';
import { AppError } from '../platform/app-error.ts';
import { type Config, loadConfig } from '../platform/config.ts';
import type { Database, DatabaseOptions } from '../platform/db/database.ts';
import { openDatabase } from '../platform/db/open-database.ts';
import type { Tables } from '../tables.ts';

/** The URL for commands, bypassing a pooler, which does not provide all session features. */
export const directUrlOf = ({ databaseUrl, databaseDirectUrl = databaseUrl }: Config): string => databaseDirectUrl;

/** Runs work on a database, which a service may have open as well. */
export async function withDatabase<T>(
  url: string,
  work: (database: Database<Tables>) => Promise<T>,
  options: Pick<DatabaseOptions, 'statementTimeoutMs'> = {},
): Promise<T> {
  const database = openDatabase<Tables>(url, { ...options, isCommand: true });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/**
 * Runs work on the database of the environment, whether or not the service is running. For operators with access to
 * that database.
 */
export async function withServiceDatabase<T>(
  work: (database: Database<Tables>, config: Config) => Promise<T>,
): Promise<T> {
  const { config } = loadConfig();
  const { databaseUrl } = config;
  // Opening a missing SQLite file would create an empty database.
  if (databaseUrl.startsWith('sqlite:') && !existsSync(databaseUrl.slice('sqlite:'.length)))
    throw new Error(
      `There is no database at ${databaseUrl}. Run this where the service runs, or name its database with DATABASE_URL.`,
    );
  return withDatabase(directUrlOf(config), (database) => work(database, config)).catch((error: unknown) => {
    // No HTTP layer turns error codes into text here.
    throw error instanceof AppError ? new Error(formatMessage(error.code, 'en', error.options.params)) : error;
  });
}
