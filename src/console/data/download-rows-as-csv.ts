import { downloadFile } from './download-file.ts';

/** Hands a table to the browser as a download. What a spreadsheet would run as a formula is written as text. */
export async function downloadRowsAsCsv(
  name: string,
  columns: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): Promise<void> {
  const { stringify } = await import('csv-stringify/browser/esm/sync');
  const text = stringify(
    rows.map((row) => [...row]),
    { header: true, columns: [...columns], escape_formulas: true },
  );
  // The byte order mark makes spreadsheet programs read the file as UTF-8.
  downloadFile(name, new Blob(['\uFEFF', text], { type: 'text/csv;charset=utf-8' }));
}
