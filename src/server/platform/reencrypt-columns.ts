import { type SealContext, UnsealError, type Vault } from './vault.ts';

export interface SealedCell {
  /** Of the row; each value read has a larger one than the value before. */
  readonly id: number;
  readonly context: SealContext;
  readonly sealed: string;
}

/** The sealed values of one column. */
export interface SealedColumn {
  /** The next values after an id, in the order of ids, some hundred at a time; empty at the end. */
  readAfter(id: number): Promise<readonly SealedCell[]>;
  /** Only where the value still is what was read: a concurrent write has already sealed it with the current key. */
  replace(cell: SealedCell, sealed: string): Promise<unknown>;
}

/** Seals again all values sealed by an older master key, while the service runs. Returns the number of values. */
export async function reencryptColumns(vault: Vault, columns: readonly SealedColumn[]): Promise<number> {
  let count = 0;
  for (const column of columns) {
    let cells = await column.readAfter(0);
    while (cells.length > 0) {
      for (const cell of cells) {
        if (!vault.isStale(cell.sealed)) continue;
        await column.replace(cell, vault.seal(vault.open(cell.sealed, cell.context), cell.context));
        count += 1;
      }
      cells = await column.readAfter(cells.at(-1)?.id ?? 0);
    }
  }
  return count;
}

/** Opens every value. @returns those that do not open, as `table row column` */
export async function openSealed(vault: Vault, columns: readonly SealedColumn[]): Promise<string[]> {
  const failed: string[] = [];
  for (const column of columns) {
    let cells = await column.readAfter(0);
    while (cells.length > 0) {
      for (const { context, sealed } of cells)
        if (!opens(vault, sealed, context)) failed.push(`${context.table} ${context.row} ${context.column}`);
      cells = await column.readAfter(cells.at(-1)?.id ?? 0);
    }
  }
  return failed;
}

function opens(vault: Vault, sealed: string, context: SealContext): boolean {
  try {
    vault.open(sealed, context);
    return true;
  } catch (error) {
    if (error instanceof UnsealError) return false;
    throw error;
  }
}
