import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { testEnvironment } from '../service-with-sandbox.ts';

export const SERVER = join(import.meta.dirname, '../../bin/server.js');

/** Tries of 50 ms each: a start takes three seconds of CPU time, and a busy machine gives little. */
const MAX_TRIES = 2_400;

/** A local port without a listener. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** The service as `npm start` runs it, in its own process. */
export class ServerProcess {
  readonly port: number;
  readonly baseUrl: string;
  /** Resolves with the exit code, null if a signal ended the process. */
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;
  /** Output written so far. */
  output = '';

  /** @param program Node arguments; default: the server of this working tree */
  constructor(
    databaseUrl: string,
    port: number,
    env: Readonly<Record<string, string>> = {},
    program: readonly string[] = [SERVER],
  ) {
    this.port = port;
    this.baseUrl = `http://127.0.0.1:${port}`;
    this.#child = spawn(process.execPath, program, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, ...testEnvironment(databaseUrl, env), PORT: String(port) },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (chunk) => {
        this.output += String(chunk);
      });
    this.ended = once(this.#child, 'exit').then(([code]) => code as number | null);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Polls `/readyz` every `pollMs` until the process is ready. */
  async untilReady(pollMs = 50): Promise<this> {
    for (let tries = 0; tries < MAX_TRIES * (50 / pollMs); tries += 1) {
      if (this.#child.exitCode !== null) break;
      const ready = await fetch(`${this.baseUrl}/readyz`).catch(() => undefined);
      if (ready?.ok) return this;
      await pause(pollMs);
    }
    throw new Error(`the service did not start: ${this.output}`);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Stops the process at the end of a test: without draining, and by force if it does not exit. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGCONT');
    this.#child.kill('SIGINT');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 8_000);
    await this.ended;
    clearTimeout(timer);
  }
}
