import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/**
 * Where this process keeps its journal of settlements: under `configured`, else beside the SQLite database, else, with
 * PostgreSQL, under the directory for temporary files. Each database has a directory of its own there.
 *
 * @returns undefined for a database in memory, which ends with the process
 */
export function journalDirectory(databaseUrl: string, configured: string | undefined): string | undefined {
  const path = databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : undefined;
  if (path === ':memory:') return undefined;
  const beside = path === undefined ? tmpdir() : dirname(resolve(path));
  const name = createHash('sha256').update(databaseUrl).digest('hex').slice(0, 16);
  return join(configured ?? join(beside, 'reelgate-journal'), name);
}
