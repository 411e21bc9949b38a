import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { CHILD_PROCESS_ENVIRONMENT } from '../child-process-environment.ts';
import { buildDiskShim, losePower } from '../disk-shim.ts';
import { seededRandom } from '../seeded-random.ts';
import { temporarySqlitePath } from '../temporary-sqlite-path.ts';
import { assertTransfersKept } from './transfers.ts';

/** Power failures, at random moments; `npm run hammer` has more. */
const FAILURES = Number(process.env.POWER_FAILURES ?? '30');
/** Failures after which the process is killed, and continues on what the disk had left. */
const FAILURES_PER_PROCESS = 20;
const SEED = Number(process.env.POWER_SEED ?? '1');
const shim = buildDiskShim();
/** Checkpoints are as frequent as possible, unless their flushes are invisible to the hook. */
const CHECKPOINT_FRAMES = shim.isWhole ? 60 : 1_000_000;
const PROGRAM = join(import.meta.dirname, 'transfers.fixture.ts');

const SUFFIXES = ['', '-wal'];

/** A process that moves money, on a disk whose unflushed writes are known. */
class Transfers {
  readonly reported = new Set<number>();
  readonly #file: string;
  readonly #copies: string;
  #child: ChildProcess | undefined;

  constructor(file: string) {
    this.#file = file;
    this.#copies = `${file}-copies`;
  }

  async start(): Promise<void> {
    rmSync(this.#copies, { recursive: true, force: true });
    mkdirSync(this.#copies);
    for (const suffix of SUFFIXES)
      if (existsSync(this.#file + suffix)) copyFileSync(this.#file + suffix, this.#copyOf(suffix));
    const child = spawn(process.execPath, [PROGRAM, `sqlite:${this.#file}`, String(CHECKPOINT_FRAMES)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...CHILD_PROCESS_ENVIRONMENT,
        ...shim.env,
        DISK_FOLDER: dirname(this.#file),
        DISK_COPIES: this.#copies,
      },
    });
    const ready = Promise.withResolvers<void>();
    let rest = '';
    child.stdout.on('data', (chunk) => {
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line === 'ready') ready.resolve();
        else this.reported.add(Number(line.slice(1)));
      }
    });
    child.once('exit', () => ready.reject(new Error('the process ended')));
    ready.promise.catch(() => {});
    this.#child = child;
    await ready.promise;
    // Its creation was flushed unseen by the hook, and the file does not change before a checkpoint.
    if (!shim.isWhole) copyFileSync(this.#file, this.#copyOf(''));
  }

  /** Stops the process and writes what a power failure would leave now to `target`. */
  async losePower(target: string, random: () => number): Promise<void> {
    this.#child?.kill('SIGSTOP');
    // Until its last lines have arrived.
    await pause(5);
    rmSync(`${target}-shm`, { force: true });
    for (const suffix of SUFFIXES) {
      rmSync(target + suffix, { force: true });
      losePower(this.#file + suffix, this.#copyOf(suffix), target + suffix, random);
    }
  }

  continue(): void {
    this.#child?.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  #copyOf(suffix: string): string {
    return join(this.#copies, `${this.#file.split('/').at(-1)}${suffix}`);
  }
}

test(`a power failure loses nothing that was reported, ${FAILURES} times`, async () => {
  const file = temporarySqlitePath('transfers.db');
  const random = seededRandom(SEED);
  const [transfers, left] = [new Transfers(file), temporarySqlitePath('left.db')];
  try {
    for (let failure = 0; failure < FAILURES; failure++) {
      if (failure % FAILURES_PER_PROCESS === 0) await transfers.start();
      await pause(random() * 60);
      await transfers.losePower(left, random);
      assertTransfersKept(left, transfers.reported);
      if (failure % FAILURES_PER_PROCESS < FAILURES_PER_PROCESS - 1) transfers.continue();
      else {
        await transfers.kill();
        for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
        copyFileSync(left, file);
      }
    }
    assert.ok(transfers.reported.size > FAILURES, `${transfers.reported.size} transfers`);
  } finally {
    await transfers.kill();
  }
});
