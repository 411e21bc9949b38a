import { openMysqlSource } from './mysql-source.ts';
import { openPostgresSource } from './postgres-source.ts';
import type { SourceDatabase } from './source-database.ts';
import { openSqliteSource } from './sqlite-source.ts';

/**
 * Opens the database of another program, read only and as one state.
 *
 * @param url `sqlite:PATH`, `postgres://…` or `mysql://…`
 * @throws Error that says which database cannot be opened and why, without the password in the URL
 */
export async function openSource(url: string): Promise<SourceDatabase> {
  if (url.startsWith('sqlite:')) return openSqliteSource(url.slice('sqlite:'.length));
  const open = /^postgres(ql)?:\/\//.test(url)
    ? openPostgresSource
    : /^(mysql|mariadb):\/\//.test(url)
      ? openMysqlSource
      : undefined;
  if (open === undefined || URL.parse(url) === null)
    throw new Error(
      'The source is named sqlite:PATH, postgres://USER:PASSWORD@HOST/NAME or mysql://USER:PASSWORD@HOST/NAME.',
    );
  try {
    return await open(url);
  } catch (error) {
    throw new Error(`${describeUrl(url)} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The URL without its password and query. */
export function describeUrl(url: string): string {
  const parsed = URL.parse(url);
  return url.startsWith('sqlite:') || parsed === null ? url : `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}
