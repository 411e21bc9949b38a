import type { Operation } from './define-simulator.ts';
import type { FaultKind } from './faults.ts';

export interface LoggedRequest {
  readonly vendor: string;
  /** Undefined for a path the simulator does not have. */
  readonly operation: Operation | undefined;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly fault: FaultKind | undefined;
}

/** The newest requests; bounded, so that a long-lived sandbox does not fill the memory. */
export class RequestLog {
  readonly #keep: number;
  #entries: LoggedRequest[] = [];

  constructor(keep: number) {
    this.#keep = keep;
  }

  add(entry: LoggedRequest): void {
    if (this.#keep === 0) return;
    this.#entries.push(entry);
    if (this.#entries.length > 2 * this.#keep) this.#entries = this.#entries.slice(-this.#keep);
  }

  find(where: { readonly vendor?: string; readonly operation?: Operation }): readonly LoggedRequest[] {
    return this.#entries.filter(
      (entry) =>
        (where.vendor === undefined || entry.vendor === where.vendor) &&
        (where.operation === undefined || entry.operation === where.operation),
    );
  }

  clear(): void {
    this.#entries = [];
  }
}
