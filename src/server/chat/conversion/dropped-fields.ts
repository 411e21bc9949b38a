/** Paths are cut off beyond it; the header of a response has limits. */
const MAX_PATHS = 40;

/** The members of a request that its upstream's dialect cannot say and that are left out. */
export class DroppedFields {
  readonly #dropped = new Set<string>();

  /** Leaves out what changes neither the answer nor its price, and names it. */
  drop(path: string): void {
    if (this.#dropped.size < MAX_PATHS) this.#dropped.add(path);
  }

  get dropped(): readonly string[] {
    return [...this.#dropped];
  }
}
