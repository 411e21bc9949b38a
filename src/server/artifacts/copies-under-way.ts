import type { IncomingCopy } from './incoming-copy.ts';

/** The copies this process is making, by task. */
export class CopiesUnderWay {
  readonly #copies = new Map<string, IncomingCopy>();

  add(taskId: string, copy: IncomingCopy): void {
    this.#copies.set(taskId, copy);
  }

  remove(taskId: string, copy: IncomingCopy): void {
    if (this.#copies.get(taskId) === copy) this.#copies.delete(taskId);
  }

  find(taskId: string): IncomingCopy | undefined {
    return this.#copies.get(taskId);
  }
}
