import { stringify } from 'csv-stringify/sync';
import type { ListedRequest, RequestFilter, RequestStore } from './request-store.ts';

const PAGE_SIZE = 500;
const MAX_ROWS = 50_000;

/**
 * The rows as CSV, page by page, so that an export of any length holds one page in memory. Cells that a spreadsheet would run as a
 * formula are escaped: clients name themselves.
 *
 * @param present a page as it is shown
 */
export async function* toCsv<R extends object>(
  store: Pick<RequestStore, 'list'>,
  filter: RequestFilter,
  present: (rows: readonly ListedRequest[]) => Promise<readonly R[]>,
  columns: readonly (keyof R & string)[],
): AsyncGenerator<string> {
  yield stringify([[...columns]], { bom: true, record_delimiter: '\r\n' });
  let last: ListedRequest | undefined;
  for (let count = 0; count < MAX_ROWS; count += PAGE_SIZE) {
    const after = last && { createdAt: last.created_at, seq: last.seq };
    const rows = await store.list(filter, after, PAGE_SIZE);
    yield stringify([...(await present(rows))], {
      columns: [...columns],
      escape_formulas: true,
      record_delimiter: '\r\n',
      cast: { boolean: String },
    });
    last = rows.at(-1);
    if (rows.length < PAGE_SIZE) return;
  }
}
