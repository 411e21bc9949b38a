import type { ReadContext } from './import-visitor-types.ts';
import { integerOf } from './mapping/column-values.ts';
import { countRows, type SourceDatabase, type SourceRow, type TablePart } from './source/source-database.ts';

const PAGE = 500;
type Reading = Pick<ReadContext, 'source' | 'onProgress'>;

/** Reads a table, or a part of it, by ascending ids; `report` is called with the number of rows after each page was dealt with. */
export async function* readPages(
  source: SourceDatabase,
  table: string,
  report: (rows: number) => void,
  part: TablePart = {},
): AsyncGenerator<SourceRow[]> {
  for (let after = -1n; ; ) {
    const rows = await source.page(table, after, PAGE, part);
    if (rows.length === 0) return;
    after = integerOf(rows.at(-1) as SourceRow, 'id');
    yield rows;
    report(rows.length);
  }
}

/** Adds up the rows that were read of a table, and reports them beside all it has. */
export async function progressOf({ source, onProgress }: Reading, table: string): Promise<(rows: number) => void> {
  const total = await countRows(source, table);
  let read = 0;
  return (rows) => {
    read += rows;
    onProgress(table, read, total);
  };
}

/** All rows of a table. */
export async function* pagesOf(reading: Reading, table: string): AsyncGenerator<SourceRow[]> {
  yield* readPages(reading.source, table, await progressOf(reading, table));
}
