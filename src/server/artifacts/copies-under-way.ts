import type { Copy } from './copy.ts';

/** The copies this process is making, by task. */
export class CopiesUnderWay {
  readonly #copies = new Map<string, Copy>();

  add(taskId: string, copy: Copy): void {
    this.#copies.set(taskId, copy);
  }

  remove(taskId: string, copy: Copy): void {
    if (this.#copies.get(taskId) === copy) this.#copies.delete(taskId);
  }

  find(taskId: string): Copy | undefined {
    return this.#copies.get(taskId);
  }
}
