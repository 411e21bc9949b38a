const MAX_ROWS = 20_000;

/**
 * Rows of reservations as this process has committed them. They never change, so whoever deletes all of a list need not read them: reading
 * is most of what the deletion costs. The oldest are forgotten first.
 */
export class WrittenReservations<Row extends { readonly ref: string }> {
  readonly #rows = new Map<string, Row>();

  remember(rows: readonly Row[]): void {
    for (const row of rows) this.#rows.set(row.ref, row);
    for (const ref of this.#rows.keys()) {
      if (this.#rows.size <= MAX_ROWS) break;
      this.#rows.delete(ref);
    }
  }

  /** Forgets them, since each is deleted once. @returns their rows, in that order; undefined unless all are known */
  recall(refs: readonly string[]): Row[] | undefined {
    const known: Row[] = [];
    for (const ref of refs) {
      const row = this.#rows.get(ref);
      if (row !== undefined && this.#rows.delete(ref)) known.push(row);
    }
    return known.length === refs.length ? known : undefined;
  }
}
