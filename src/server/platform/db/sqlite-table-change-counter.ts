/**
 * Counts the changes of some tables of SQLite, so that what was read of one may be kept for as long as it has none. A statement with
 * the name of a table in its text counts as a change of it, with its commit: reads before see the old rows, those after the new ones.
 */
export class TableChangeCounter {
  readonly #counts = new Map<string, number>();
  readonly #uncommitted = new Set<string>();

  /** Statements prepared before do not count: the caller prepares them again. */
  watch(table: string): void {
    this.#counts.set(table, this.#counts.get(table) ?? 0);
  }

  /** The watched tables that a statement may change. */
  namedIn(sql: string): readonly string[] {
    return [...this.#counts.keys()].filter((table) => new RegExp(`\\b${table}\\b`).test(sql));
  }

  /** A statement that may change tables has run. */
  note(tables: readonly string[]): void {
    for (const table of tables) this.#uncommitted.add(table);
  }

  commit(): void {
    for (const table of this.#uncommitted) this.#increment(table);
    this.#uncommitted.clear();
  }

  /** Another process has written: any table may be another one. */
  countAll(): void {
    for (const table of this.#counts.keys()) this.#increment(table);
  }

  countOf(tables: readonly string[]): number {
    let sum = 0;
    for (const table of tables) sum += this.#counts.get(table) ?? 0;
    return sum;
  }

  #increment(table: string): void {
    this.#counts.set(table, (this.#counts.get(table) ?? 0) + 1);
  }
}
