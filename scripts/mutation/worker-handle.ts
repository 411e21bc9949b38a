import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { WorkerReply, WorkerRequest } from './worker.ts';

/** A worker with a mutant that sends no beat for so long runs in a loop that never ends. */
const STUCK_MS = 30_000;
/** Loading the service takes seconds, and much longer on a machine that is busy. */
const START_MS = 180_000;
const folder = import.meta.dirname;

/** One worker at a time, started when it is needed. */
export class WorkerHandle {
  readonly #root: string;
  readonly #sources: string;
  readonly #active: number | undefined;
  #child: ChildProcess | undefined;

  /**
   * @param sources path of each source to its instrumented text, as JSON
   * @param active mutant that is on from the start, for code that runs at load time
   */
  constructor(root: string, sources: string, active?: number) {
    this.#root = root;
    this.#sources = sources;
    this.#active = active;
  }

  /**
   * @returns undefined when the process got stuck or ended
   * @throws Error where it does not even start without a mutant
   */
  async run(request: WorkerRequest): Promise<WorkerReply | undefined> {
    this.#child ??= await this.#start();
    const child = this.#child;
    if (child === undefined) return undefined;
    // Without a mutant nothing loops: the machine is busy.
    const limitMs = request.mutant === undefined ? START_MS : STUCK_MS;
    const reply = await nextReply(child, () => child.send(request), limitMs);
    if (reply === undefined || reply.failure?.isTimeout) this.stop();
    return reply;
  }

  /** The next run begins in a new process. */
  stop(): void {
    const pid = this.#child?.pid;
    this.#child = undefined;
    try {
      // The group, so that processes a test has started end with it.
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch {
      // All have ended.
    }
  }

  async #start(): Promise<ChildProcess | undefined> {
    const child = fork(join(folder, 'worker.ts'), {
      cwd: this.#root,
      detached: true,
      stdio: ['ignore', 'ignore', process.env['MUTATE_VERBOSE'] ? 'inherit' : 'ignore', 'ipc'],
      execArgv: ['--import', pathToFileURL(join(folder, 'load-hook.ts')).href],
      env: {
        ...process.env,
        MUTATION_SOURCES: this.#sources,
        ...(this.#active !== undefined && { MUTATION_ACTIVE: String(this.#active) }),
      },
    });
    if ((await nextReply(child, () => {}, START_MS)) !== undefined) return child;
    this.#child = child;
    this.stop();
    if (this.#active === undefined) throw new Error('the process for the tests does not start; see MUTATE_VERBOSE=1');
    return undefined;
  }
}

/** Sends, and waits for what comes back: a reply, or the word that the process is ready. */
function nextReply(child: ChildProcess, send: () => void, limitMs: number): Promise<WorkerReply | undefined> {
  return new Promise((resolve) => {
    const end = (reply: WorkerReply | undefined) => {
      clearTimeout(timer);
      child.removeAllListeners();
      resolve(reply);
    };
    const timer = setTimeout(end, limitMs, undefined);
    child.on('exit', () => end(undefined));
    child.on('error', () => end(undefined));
    child.on('message', (message: WorkerReply | 'beat' | 'ready') => {
      timer.refresh();
      if (message === 'ready') end({ records: [], reachedAtLoad: [] });
      else if (message !== 'beat') end(message);
    });
    send();
  });
}
