import type { SourceDatabase } from './source-database.ts';

/** Figures that change with every use of a source: the money in it, its videos and the newest row of its log. */
const FIGURES = [
  ['users', 'select count(*) as n, sum([quota]) as q, sum([used_quota]) as u, max([id]) as m from [users]'],
  ['tokens', 'select count(*) as n, sum([used_quota]) as u, sum([remain_quota]) as r, max([id]) as m from [tokens]'],
  ['redemptions', 'select count(*) as n, sum([status]) as s, max([id]) as m from [redemptions]'],
  [
    'tasks',
    "select count(*) as n, sum([quota]) as q, sum(case when [status] in ('SUCCESS', 'FAILURE') then 1 else 0 end) as e, max([id]) as m from [tasks]",
  ],
  ['logs', 'select max([id]) as m from [logs]'],
] as const;

/** Equal for two reads between which nothing was charged, made or used. */
export async function changeMarkerOf(source: SourceDatabase): Promise<string> {
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
