import { useState } from 'react';

export type RowKey = string | number;

/** Rows of a table chosen to be dealt with together, those of other pages included. */
export interface RowSelection<Row> {
  readonly rows: readonly Row[];
  has(key: RowKey): boolean;
  /** Whether a row can be chosen. */
  allows(row: Row): boolean;
  toggle(row: Row): void;
  /** Chooses or leaves all of some rows. */
  set(rows: readonly Row[], chosen: boolean): void;
  clear(): void;
}

/** @param allows rows the viewer may change; default: every row */
export function useRowSelection<Row>(
  keyOf: (row: Row) => RowKey,
  allows: (row: Row) => boolean = () => true,
): RowSelection<Row> {
  const [chosen, setChosen] = useState<ReadonlyMap<RowKey, Row>>(new Map());
  const set = (rows: readonly Row[], isChosen: boolean): void =>
    setChosen((before) => {
      const after = new Map(before);
      for (const row of rows.filter(allows)) {
        if (isChosen) after.set(keyOf(row), row);
        else after.delete(keyOf(row));
      }
      return after;
    });
  return {
    rows: [...chosen.values()],
    has: (key) => chosen.has(key),
    allows,
    toggle: (row) => set([row], !chosen.has(keyOf(row))),
    set,
    clear: () => setChosen(new Map()),
  };
}
