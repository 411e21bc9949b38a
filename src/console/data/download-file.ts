const REVOKE_DELAY_MS = 10_000;

/** Starts a browser download of content generated on this page. */
export function downloadFile(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKE_DELAY_MS);
}

/** Starts a browser download of rows as CSV. Cells a spreadsheet would run as a formula are escaped. */
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
