import { saveFile } from './save-file.ts';

/** Hands a table to the browser as a download. What a spreadsheet would run as a formula is written as text. */
export async function saveCsv(
  name: string,
  columns: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): Promise<void> {
  const { stringify } = await import('csv-stringify/browser/esm/sync');
  const text = stringify(
    rows.map((row) => [...row]),
    { header: true, columns: [...columns], escape_formulas: true },
  );
  // The mark at the beginning tells spreadsheets that what follows is UTF-8.
  saveFile(name, new Blob(['\uFEFF', text], { type: 'text/csv;charset=utf-8' }));
}
