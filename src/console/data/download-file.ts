const REVOKE_DELAY_MS = 10_000;

/** Hands a file made here to the browser as a download. */
export function downloadFile(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKE_DELAY_MS);
}

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
