import type { SealedPlace, Vault } from './secrets.ts';

export interface SealedCell {
  /** Rises from cell to cell. */
  readonly id: number;
  readonly place: SealedPlace;
  readonly sealed: string;
}

/** The sealed values of one column. */
export interface SealedCells {
  /** Those after an id, in its order, some hundred at a time; empty at the end. */
  read(after: number): Promise<readonly SealedCell[]>;
  /** Only where the value still is what was read: whoever wrote in between sealed by himself. */
  replace(cell: SealedCell, sealed: string): Promise<unknown>;
}

/** Seals anew whatever an older master key sealed, while the service runs. Answers how many values that were. */
export async function resealCells(vault: Vault, columns: readonly SealedCells[]): Promise<number> {
  let count = 0;
  for (const column of columns) {
    let cells = await column.read(0);
    while (cells.length > 0) {
      for (const cell of cells) {
        if (!vault.isStale(cell.sealed)) continue;
        await column.replace(cell, vault.seal(vault.open(cell.sealed, cell.place), cell.place));
        count += 1;
      }
      cells = await column.read(cells.at(-1)?.id ?? 0);
    }
  }
  return count;
}
