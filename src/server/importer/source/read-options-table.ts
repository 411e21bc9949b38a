import { textOf } from '../mapping/column-values.ts';
import type { SourceDatabase } from './source-database.ts';

/** The stored options. What was never changed is not stored, and has the program's own default. */
export async function readOptions(source: SourceDatabase): Promise<ReadonlyMap<string, string>> {
  const rows = await source.query('select [key], [value] from [options]');
  return new Map(rows.map((row) => [textOf(row, 'key'), row.value ?? '']));
}
