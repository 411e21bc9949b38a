import { AlreadyServedError, DatabaseUnavailableError, SchemaMismatchError } from './db/database-errors.ts';
import { DatabaseFileError, describePathError } from './path-checks.ts';
import { ConfigError } from './setting-readers.ts';

/** Errors whose message alone tells an operator what to do. */
const PLAIN = [ConfigError, DatabaseUnavailableError, AlreadyServedError, SchemaMismatchError, DatabaseFileError];
const PORT_ERRORS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process uses this port; stop it, or set PORT',
  EADDRNOTAVAIL: 'this machine has no such address; set HOST',
  EACCES: 'this user may not open this port; set PORT to one above 1023',
};

/** What is printed where the service cannot start: one line where the cause is known, else the stack. */
export function describeStartFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (PLAIN.some((kind) => error instanceof kind)) return error.message;
  const { code, syscall, address, port }: NodeJS.ErrnoException & { address?: string; port?: number } = error;
  const advice = syscall === 'listen' ? PORT_ERRORS[code ?? ''] : undefined;
  if (advice !== undefined) return `${address}:${port}: ${advice}`;
  if (syscall === 'getaddrinfo') return `HOST: this machine has no such address (${code})`;
  if (code === 'ERR_SQLITE_ERROR') return `DATABASE_URL: SQLite cannot use this file: ${error.message}`;
  return describePathError(error) ?? error.stack ?? error.message;
}
