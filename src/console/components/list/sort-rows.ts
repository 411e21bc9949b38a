/** What a table is sorted by. */
export interface Sort {
  /** `sortKey` of a column. */
  readonly key: string;
  readonly descending: boolean;
}

interface SortableColumn<Row> {
  readonly sortKey?: string;
  readonly sortValue?: (row: Row) => string | number | null;
}

/** `-cost` as the address has it: by cost, the highest first. Undefined for anything else. */
export function parseSort(text: string | undefined): Sort | undefined {
  const match = /^(-?)([a-z_]{1,40})$/.exec(text ?? '');
  return match === null ? undefined : { key: match[2] ?? '', descending: match[1] === '-' };
}
export const formatSort = ({ key, descending }: Sort): string => `${descending ? '-' : ''}${key}`;

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
  if (sort === undefined || toValue === undefined) return rows;
  const sign = sort.descending ? -1 : 1;
  return rows.toSorted((one, other) => {
    const [a, b] = [toValue(one), toValue(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return sign * (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b)));
  });
}
