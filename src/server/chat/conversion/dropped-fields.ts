import { type AppError, invalidRequest } from '../../platform/errors.ts';

/** Paths are cut off beyond it; the header of a response has limits. */
const MAX_PATHS = 40;

/** What becomes of the members of a request that its upstream's dialect cannot say. */
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

/** Refuses what would change the answer. */
export const notExpressibleError = (
  path: string,
  why = 'cannot be expressed for the upstream of this model',
): AppError => invalidRequest(`${path} ${why}.`, path);
