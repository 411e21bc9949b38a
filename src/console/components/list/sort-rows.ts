import { type Sort, sortRowsBy } from '../../../contract/responses.ts';

interface SortableColumn<Row> {
  readonly sortKey?: string;
  readonly sortValue?: (row: Row) => string | number | null;
}

/** The order after a click on a column: highest first, then lowest first, then as the rows come. */
export function nextSort(current: Sort | undefined, key: string): Sort | undefined {
  if (current?.key !== key) return { key, descending: true };
  return current.descending ? { key, descending: false } : undefined;
}

/** Rows in the order of a column; rows without a value are last in both directions. Without such a column as they come. */
export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly SortableColumn<Row>[],
  sort: Sort | undefined,
): readonly Row[] {
  const toValue = columns.find(({ sortKey }) => sortKey !== undefined && sortKey === sort?.key)?.sortValue;
  return sort === undefined || toValue === undefined ? rows : sortRowsBy(rows, sort.descending, toValue);
}
