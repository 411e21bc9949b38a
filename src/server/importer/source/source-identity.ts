import { hash } from 'node:crypto';
import type { SourceDatabase } from './source-database.ts';

/**
 * A hash that a source and its copies share on every engine: ids, names and invitation codes of the first 100 accounts, which never
 * change.
 */
export async function identityOf(source: SourceDatabase): Promise<string> {
  const hasCode = source.tables.get('users')?.includes('aff_code') === true;
  const columns = hasCode ? '[id], [username], [aff_code]' : '[id], [username]';
  const rows = await source.query(`select ${columns} from [users] order by [id] limit 100`);
  const parts = rows.map((row) => [row.id, row.username, row.aff_code].map((value) => (value ?? '').trim()));
  return hash('sha256', JSON.stringify(parts));
}
