import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const SCRIPT = join(import.meta.dirname, '..', 'scripts', 'quickstart.ts');

/** The running script and its output so far. */
export class Quickstart {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  output = '';

  constructor(folder: string, port: number, ...args: string[]) {
    const env = { ...process.env, PORT: String(port) };
    this.#child = spawn(process.execPath, [SCRIPT, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#exited = once(this.#child, 'exit');
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        this.output += chunk;
      });
  }

  /** Resolves with the first capture group of the pattern once the output matches. */
  async waitFor(pattern: RegExp): Promise<string> {
    for (;;) {
      const [, group] = pattern.exec(this.output) ?? [];
      if (group !== undefined) return group;
      assert.equal(this.#child.exitCode, null, this.output);
      await Promise.race([delay(50), this.#exited]);
    }
  }

  async end(signal?: 'SIGINT'): Promise<number | null> {
    if (signal !== undefined) this.#child.kill(signal);
    await this.#exited;
    return this.#child.exitCode;
  }
}
