import type { OrderByItemBuilder } from 'kysely';

/** The direction of a list that can be sorted: rows without the value are last in both, as `sortRowsBy` has them. */
export const nullsLast =
  (descending: boolean) =>
  (column: OrderByItemBuilder): OrderByItemBuilder =>
    (descending ? column.desc() : column.asc()).nullsLast();
