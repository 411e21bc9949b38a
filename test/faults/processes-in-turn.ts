import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A process that has received its instruction. */
export interface OrderedProcess {
  readonly child: ChildProcess;
  /** Lines the process prints after `ready`. */
  readonly lines: AsyncIterator<string>;
}

/**
 * Runs processes of one script, each killed before the next one starts its work. The next process is already loaded and
 * waits for its instruction (`readInstruction`) meanwhile, because starting takes most of the time of a kill.
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

  /** Lets a process finish the remaining work; resolves when it has printed `drained` and exited. */
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
    // The process may be killed while its instruction is being written.
    child.stdin.on('error', () => {});
    return child;
  }
}
