import { hash } from 'node:crypto';
import type { SourceDatabase } from './source-database.ts';

/** What tells whether a source still changes: the money in it, and how far its log has come. */
const FIGURES = [
  ['users', 'select count(*) as n, sum([quota]) as q, sum([used_quota]) as u, max([id]) as m from [users]'],
  ['tokens', 'select count(*) as n, sum([used_quota]) as u, sum([remain_quota]) as r, max([id]) as m from [tokens]'],
  ['redemptions', 'select count(*) as n, sum([status]) as s, max([id]) as m from [redemptions]'],
  ['logs', 'select max([id]) as m from [logs]'],
] as const;

/** Equal for two reads between which nothing was charged, made or used. */
export async function fingerprintOf(source: SourceDatabase): Promise<string> {
  const parts: string[] = [];
  for (const [table, text] of FIGURES) {
    if (!source.tables.has(table)) continue;
    const [row] = await source.query(text);
    parts.push(
      `${table} ${Object.values(row ?? {})
        .map((value) => String(value ?? 0).replace(/\.0*$/, ''))
        .join(' ')}`,
    );
  }
  return parts.join('; ');
}

/** The same for a source and its copies, on whatever engine: made from what its accounts never change. */
export async function identityOf(source: SourceDatabase): Promise<string> {
  const hasCode = source.tables.get('users')?.includes('aff_code') === true;
  const columns = hasCode ? '[id], [username], [aff_code]' : '[id], [username]';
  const rows = await source.query(`select ${columns} from [users] order by [id] limit 100`);
  const parts = rows.map((row) => [row.id, row.username, row.aff_code].map((value) => (value ?? '').trim()));
  return hash('sha256', JSON.stringify(parts));
}
