import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { DatabaseUnavailableError } from './database.ts';

/** Writes pause for the end of a checkpoint only if no more than this is left to copy. */
const MAX_PAUSED_FRAMES = 1_000;
/** SQLITE_IOERR: https://sqlite.org/rescode.html#ioerr */
const IO_ERROR = 10;

interface CheckpointerOptions {
  /** Path of the database. */
  readonly path: string;
  /** Length of the log at which a checkpoint starts. */
  readonly frames: number;
  /** Resolves between two commits; none follows until the returned function is called. */
  readonly pause: () => Promise<() => void>;
  readonly onError: (error: Error) => void;
  /** Called when the disk may have lost pages of the database. */
  readonly onLost: (error: DatabaseUnavailableError) => void;
}

/** A row of `pragma wal_checkpoint`, or the error. */
type Outcome =
  | { readonly busy: number; readonly log: number; readonly checkpointed: number }
  | { readonly message: string; readonly errcode: number };

/**
 * Copies the log into the database on a thread of its own, which lives for one checkpoint. Most pages are copied beside
 * the commits. For the rest commits pause, because the log can only be restarted once everything is copied; the thread
 * then writes and flushes the first frame of the restarted log, so that no commit has to.
 */
export class Checkpointer {
  readonly #options: CheckpointerOptions;
  #nextAt: number;
  #running: Promise<void> | undefined;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
    this.#nextAt = options.frames;
  }

  /** @param frames length of the log */
  afterCommit(frames: number): void {
    if (frames < this.#nextAt || this.#running !== undefined) return;
    this.#nextAt = frames + this.#options.frames;
    this.#running = this.#run()
      .catch((error: Error) => this.#options.onError(error))
      .finally(() => {
        this.#running = undefined;
      });
  }

  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    const worker = new Worker(PROGRAM, { eval: true, workerData: this.#options.path, execArgv: [] });
    const ended = once(worker, 'exit');
    const copied = await this.#outcome(worker);
    // Another process is reading an old state, such as a backup.
    if (copied.log - copied.checkpointed > MAX_PAUSED_FRAMES) worker.postMessage('end');
    else {
      const resume = await this.#options.pause();
      try {
        worker.postMessage('restart');
        if ((await this.#outcome(worker)).busy === 0) this.#nextAt = this.#options.frames;
      } finally {
        resume();
      }
    }
    await ended;
  }

  async #outcome(worker: Worker): Promise<Exclude<Outcome, { errcode: number }>> {
    const [outcome] = (await once(worker, 'message')) as [Outcome];
    if (!('errcode' in outcome)) return outcome;
    const error = new DatabaseUnavailableError(`the log could not be checkpointed: ${outcome.message}`);
    if ((outcome.errcode & 0xff) === IO_ERROR) this.#options.onLost(error);
    throw error;
  }
}

/** The thread. Its program is text, because a file would be missing from the bundles of the server. */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const database = new DatabaseSync(workerData, { timeout: 0 });
const get = (sql) => database.prepare('pragma ' + sql).get();
const end = () => { database.close(); parentPort.close(); };
const report = (work) => {
  try {
    parentPort.postMessage({ ...work() });
  } catch ({ message, errcode = 0 }) {
    parentPort.postMessage({ message, errcode });
    end();
  }
};
report(() => {
  database.exec('pragma synchronous = normal; pragma wal_autocheckpoint = 0');
  for (let before = 0, tries = 0; ; tries++) {
    const copied = get('wal_checkpoint(passive)');
    if (copied.checkpointed - before <= ${MAX_PAUSED_FRAMES} || tries === 8) return copied;
    before = copied.checkpointed;
  }
});
parentPort.on('message', (order) => {
  if (order === 'restart') report(() => {
    database.exec('pragma busy_timeout = 100');
    const restarted = get('wal_checkpoint(restart)');
    // Writes the page it is on, unchanged.
    if (restarted.busy === 0) database.exec('pragma user_version = ' + get('user_version').user_version);
    return restarted;
  });
  end();
});
`;
