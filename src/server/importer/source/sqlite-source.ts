import { existsSync } from 'node:fs';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { openSourceDatabase, type SourceDatabase, type SourceRow } from './source-database.ts';

/** @throws Error where there is no such file, or it is no database */
export async function openSqliteSource(path: string): Promise<SourceDatabase> {
  if (!existsSync(path)) throw new Error(`There is no database at ${path}.`);
  const database = new DatabaseSync(path, { readOnly: true, timeout: 10_000 });
  const run = (text: string, parameters: readonly (string | bigint)[]): SourceRow[] => {
    const statement = database.prepare(text);
    statement.setReadBigInts(true);
    return statement.all(...parameters).map(toSourceRow);
  };
  // All reads of one transaction see the state of the first.
  database.exec('begin');
  return openSourceDatabase({
    engine: 'sqlite',
    quote: (name) => `"${name}"`,
    columns: async () =>
      run(
        `select m.name as t, c.name as c from sqlite_master m, pragma_table_info(m.name) c
         where m.type = 'table' and m.name not like 'sqlite%' order by m.name, c.cid`,
        [],
      ).map(({ t, c }) => [t ?? '', c ?? ''] as const),
    run: async (text, parameters) => run(text, parameters),
    close: async () => database.close(),
  });
}

const toSourceRow = (row: Record<string, SQLOutputValue>): SourceRow =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, toText(value)]));

function toText(value: SQLOutputValue): string | null {
  if (value === null) return null;
  return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : String(value);
}
