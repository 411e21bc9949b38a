import { type Sort, sortRowsBy } from '../../../contract/responses.ts';

interface SortableColumn<Row> {
  readonly sortKey?: string;
  readonly sortValue?: (row: Row) => string | number | null;
}

/** The sort after a click on a column: descending, then ascending, then the original order. */
export function nextSort(current: Sort | undefined, key: string): Sort | undefined {
  if (current?.key !== key) return { key, descending: true };
  return current.descending ? { key, descending: false } : undefined;
}

/**
 * Rows sorted by a column, with missing values last in both directions; in their original order if the column is
 * unknown.
 */
export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly SortableColumn<Row>[],
  sort: Sort | undefined,
): readonly Row[] {
  const toValue = columns.find(({ sortKey }) => sortKey !== undefined && sortKey === sort?.key)?.sortValue;
  return sort === undefined || toValue === undefined ? rows : sortRowsBy(rows, sort.descending, toValue);
}
