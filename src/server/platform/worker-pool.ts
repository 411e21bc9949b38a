import { Worker } from 'node:worker_threads';

/** How long an idle thread is kept for the next call. */
const IDLE_MS = 10_000;

/** Calls the named function of the module with each message's arguments; a thread works on one call at a time. */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
import(workerData.module).then((module) => {
  parentPort.on('message', async (args) => {
    try {
      parentPort.postMessage({ result: await module[workerData.name](...args) });
    } catch (error) {
      parentPort.postMessage({ error });
    }
  });
});`;

type Answer<R> = { readonly result: R } | { readonly error: Error };

interface Call<A, R> {
  readonly args: A;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** A function of a package that other threads can load. */
interface WorkerFunction {
  /** URL of the module, from `import.meta.resolve`. */
  readonly module: string;
  readonly name: string;
  readonly maxThreads: number;
}

/**
 * Runs a CPU-bound function on worker threads, because one call would hold up the event loop for longer than 10 ms.
 * Threads start with the first calls and end when idle. Arguments and result are copied.
 */
export class WorkerPool<A extends readonly unknown[], R> {
  readonly #function: WorkerFunction;
  readonly #waiting: Call<A, R>[] = [];
  readonly #idle: Worker[] = [];
  #threads = 0;

  constructor(workerFunction: WorkerFunction) {
    this.#function = workerFunction;
  }

  run(...args: A): Promise<R> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ args, resolve, reject });
      this.#next(this.#idle.pop());
    });
  }

  /** Gives the longest waiting call to this thread, or to a new one if there may be another. */
  #next(thread: Worker | undefined): void {
    if (thread === undefined && this.#threads >= this.#function.maxThreads) return;
    const call = this.#waiting.shift();
    if (call !== undefined) this.#send(thread ?? this.#start(), call);
    else if (thread !== undefined) this.#rest(thread);
  }

  #send(thread: Worker, { args, resolve, reject }: Call<A, R>): void {
    thread.ref();
    const fail = (error: unknown): void => {
      reject(error);
      this.#next(undefined);
    };
    thread.once('error', fail);
    thread.once('message', (answer: Answer<R>) => {
      thread.off('error', fail);
      if ('error' in answer) reject(answer.error);
      else resolve(answer.result);
      this.#next(thread);
    });
    thread.postMessage(args);
  }

  #start(): Worker {
    const { module, name } = this.#function;
    const thread = new Worker(PROGRAM, { eval: true, workerData: { module, name }, execArgv: [] });
    this.#threads += 1;
    // Before the listeners of calls: they may start another thread.
    thread.once('error', () => {
      this.#threads -= 1;
    });
    return thread;
  }

  #rest(thread: Worker): void {
    thread.unref();
    this.#idle.push(thread);
    setTimeout(() => {
      const place = this.#idle.indexOf(thread);
      if (place === -1) return;
      this.#idle.splice(place, 1);
      this.#threads -= 1;
      void thread.terminate();
    }, IDLE_MS).unref();
  }
}
