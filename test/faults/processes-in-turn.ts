import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface OrderedProcess {
  readonly child: ChildProcess;
  /** What it prints after `ready`. */
  readonly lines: AsyncIterator<string>;
}

/**
 * Processes of one script, each of which is killed before the next begins. The next one is loaded while the one before works and waits for
 * its order (`readInstruction`): most of the time a kill takes is that start.
 */
export class ProcessesInTurn<Order> {
  readonly #program: string;
  readonly #children = new Set<ChildProcess>();
  #loaded: ChildProcess;

  /** @param program path of the script */
  constructor(program: string) {
    this.#program = program;
    this.#loaded = this.#load();
  }

  /** Resolves when the process has printed `ready`. */
  async begin(order: Order): Promise<OrderedProcess> {
    const child = this.#loaded;
    this.#loaded = this.#load();
    assert.ok(child.stdin !== null && child.stdout !== null);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    child.stdin.write(`${JSON.stringify(order)}\n`);
    assert.equal((await lines.next()).value, 'ready');
    return { child, lines };
  }

  async kill({ child }: OrderedProcess): Promise<void> {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** Has a process do what is left, and resolves when it has printed `drained` and ended by itself. */
  async drain(order: Order): Promise<void> {
    const { child, lines } = await this.begin(order);
    assert.equal((await lines.next()).value, 'drained');
    if (child.exitCode === null) await once(child, 'exit');
  }

  stop(): void {
    for (const child of this.#children) child.kill('SIGKILL');
  }

  #load(): ChildProcess {
    const child = spawn(process.execPath, [this.#program], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    // It may be killed while it is given its order.
    child.stdin.on('error', () => {});
    return child;
  }
}
