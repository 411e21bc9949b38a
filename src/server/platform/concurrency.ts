import { createContext, Script } from 'node:vm';
import type { Log } from './log.ts';

/**
 * Shares one operation among all callers that request it while it runs. Results are not cached: all waiting callers get
 * the same success or failure, and the next call starts the operation again.
 */
export class SingleFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  run(key: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const started = work().finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }
}

/**
 * Identifies the state of the database that a read would see now. A repeated read in one snapshot has the same result.
 * Undefined: unknown.
 */
export type CurrentSnapshot = () => object | undefined;

/**
 * Shares reads among concurrent callers without ever returning data that a read at the time of the call would not see:
 * a call that arrives during a read waits for the next read, together with all other calls that arrived meanwhile,
 * unless both belong to one snapshot.
 */
export class FreshReadSingleFlight<T> {
  readonly #fetch: () => Promise<T>;
  readonly #snapshot: CurrentSnapshot;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;
  #latest: { readonly snapshot: object | undefined; readonly read: Promise<T> } | undefined;

  constructor(read: () => Promise<T>, snapshot: CurrentSnapshot = () => undefined) {
    this.#fetch = read;
    this.#snapshot = snapshot;
  }

  read(): Promise<T> {
    const snapshot = this.#snapshot();
    if (snapshot !== undefined && this.#latest?.snapshot === snapshot) return this.#latest.read;
    if (this.#running === undefined) return this.#start();
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    );
    return this.#next;
  }

  #start(): Promise<T> {
    this.#next = undefined;
    const end = (): void => {
      if (this.#running === running) this.#running = undefined;
    };
    const running = this.#fetch().then(
      (value) => {
        end();
        return value;
      },
      (error: unknown) => {
        end();
        this.#latest = undefined;
        throw error;
      },
    );
    this.#running = running;
    this.#latest = { snapshot: this.#snapshot(), read: running };
    return running;
  }
}

/** Serializes work on the same key within this process; work on different keys runs concurrently. */
export class KeyedMutex<K> {
  readonly #last = new Map<K, Promise<unknown>>();

  /** Runs `work` after all earlier work on this key has ended, whether it succeeded or failed. */
  runExclusive<T>(key: K, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const result = before.then(work, work);
    const ended = result.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, ended);
    void ended.then(() => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    });
    return result;
  }
}

/** Usage counts by key. Keys whose count is zero are not stored. */
export class KeyedCounter<K> {
  readonly #counts = new Map<K, number>();

  of(key: K): number {
    return this.#counts.get(key) ?? 0;
  }

  /** @param change negative for a release */
  add(key: K, change: number): void {
    const count = this.of(key) + change;
    if (count > 0) this.#counts.set(key, count);
    else this.#counts.delete(key);
  }
}

/** Limits concurrent holders. Others wait in order of arrival, up to a limit of their own. */
export class Semaphore {
  readonly #maxHolders: number;
  readonly #maxWaiting: number;
  readonly #waiting = new Set<() => void>();
  #holders = 0;

  constructor(maxHolders: number, maxWaiting: number) {
    this.#maxHolders = maxHolders;
    this.#maxWaiting = maxWaiting;
  }

  get holders(): number {
    return this.#holders;
  }

  /** Returns the function that releases the slot, or undefined when none became free within `timeoutMs`. */
  async acquire(timeoutMs: number): Promise<(() => void) | undefined> {
    if (this.#holders < this.#maxHolders) this.#holders++;
    // A waiter takes over a slot that is counted already. Others may have become free before it continues, and counting
    // it again then would lose a slot for good.
    else if (!(await this.#wait(timeoutMs))) return undefined;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#release();
    };
  }

  /** A slot passes directly from the releasing holder to the first waiter, so that no newcomer can take it. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#holders--;
    else next();
  }

  #wait(timeoutMs: number): Promise<boolean> {
    if (this.#waiting.size >= this.#maxWaiting) return Promise.resolve(false);
    return new Promise((resolve) => {
      const settle = (entered: boolean): void => {
        this.#waiting.delete(take);
        clearTimeout(timer);
        resolve(entered);
      };
      const take = (): void => settle(true);
      const timer = setTimeout(() => settle(false), timeoutMs);
      this.#waiting.add(take);
    });
  }
}

/**
 * Shares queries among concurrent look-ups of different keys, without ever returning data that a query at the time of
 * the call would not see: look-ups that arrive during a query wait for the next one and share it. Values found in the
 * current snapshot are not queried again.
 */
export class BatchedLookup<V> {
  readonly #find: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>;
  readonly #snapshot: CurrentSnapshot;
  #waiting = new Map<string, PromiseWithResolvers<V | undefined>>();
  #isRunning = false;
  #foundIn: object | undefined;
  readonly #found = new Map<string, V>();

  /** @param find resolves to the values of those keys that exist */
  constructor(
    find: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>,
    snapshot: CurrentSnapshot = () => undefined,
  ) {
    this.#find = find;
    this.#snapshot = snapshot;
  }

  async find(key: string): Promise<V | undefined> {
    const snapshot = this.#snapshot();
    const found = snapshot !== undefined && snapshot === this.#foundIn ? this.#found.get(key) : undefined;
    return found ?? this.#enqueue(key);
  }

  #enqueue(key: string): Promise<V | undefined> {
    let waiting = this.#waiting.get(key);
    if (waiting === undefined) {
      waiting = Promise.withResolvers();
      this.#waiting.set(key, waiting);
    }
    if (!this.#isRunning) void this.#run();
    return waiting.promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.size > 0) {
      const batch = this.#waiting;
      this.#waiting = new Map();
      try {
        const reading = this.#find([...batch.keys()]);
        const snapshot = this.#snapshot();
        const found = await reading;
        this.#remember(found, snapshot);
        for (const [key, { resolve }] of batch) resolve(found.get(key));
      } catch (error) {
        for (const { reject } of batch.values()) reject(error);
      }
    }
    this.#isRunning = false;
  }

  #remember(found: ReadonlyMap<string, V>, snapshot: object | undefined): void {
    if (snapshot !== this.#foundIn) this.#found.clear();
    this.#foundIn = snapshot;
    if (snapshot !== undefined) for (const [key, value] of found) this.#found.set(key, value);
  }
}

/** More failures in one run are not due to single items: the database or another service is unavailable. */
const MAX_FAILURES = 20;

/**
 * Works on items one after another, also after one has failed: an item that always fails must not keep the others from
 * their turn.
 * @throws Error the only failure, or an AggregateError of all
 */
export async function workOnEach<T>(
  items: Iterable<T> | AsyncIterable<T>,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const failures: unknown[] = [];
  for await (const item of items) {
    if (failures.length >= MAX_FAILURES) break;
    try {
      await work(item);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 1) throw new AggregateError(failures, `${failures.length} items failed`);
  if (failures.length > 0) throw failures[0];
}

const WRITE_EVERY_MS = 10_000;
/** Entries per write, so that few others fail because of one that cannot be stored. */
const WRITTEN_AT_ONCE = 500;
/** With more failed writes of one batch, the database is unavailable and the rest is not tried. */
const MAX_FAILED_PARTS = 3;
/** Failed entries kept; beyond, the oldest are dropped. */
const MAX_FAILED = 10_000;
/** Five minutes in which no other write failed: the entries themselves cannot be stored. */
const MAX_RETRIES = 30;

/** Options of a `PeriodicWriter`. `V` is the value stored for each id. */
interface PeriodicWriterOptions<V> {
  readonly log: Log;
  /** Names the data in the log when a write fails: `the last use of tokens`. */
  readonly subject: string;
  /** Stores one batch; called with at least one entry. */
  write(batch: ReadonlyMap<number, V>): Promise<void>;
}

/**
 * Collects the newest value of each id and stores the batch every ten seconds, so that no request waits for a write
 * that is only displayed to users (when a key was last used). A failed write is repeated before the next one. A crash
 * loses only values that have not been written yet.
 */
export class PeriodicWriter<V> {
  readonly #options: PeriodicWriterOptions<V>;
  readonly #timer: NodeJS.Timeout;
  #pending = new Map<number, V>();
  #failed = new Map<number, V>();
  #retries = 0;
  #isWriting = false;

  constructor(options: PeriodicWriterOptions<V>) {
    this.#options = options;
    this.#timer = setInterval(() => {
      // A write can take longer than the interval while the database is slow.
      if (this.#isWriting) return;
      this.#isWriting = true;
      void this.#writeAll().finally(() => {
        this.#isWriting = false;
      });
    }, WRITE_EVERY_MS).unref();
  }

  record(id: number, value: V): void {
    this.#pending.set(id, value);
  }

  /** Writes pending values, and those that could not be written before, and stops. Failures are logged. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writeAll();
  }

  /** Writes pending values now. */
  async flush(): Promise<void> {
    const batch = this.#pending;
    this.#pending = new Map();
    try {
      await this.#write(batch);
    } catch (error) {
      this.#retries = 0;
      throw error;
    }
  }

  async #writeAll(): Promise<void> {
    const { log, subject } = this.#options;
    for (const write of [() => this.#retry(), () => this.flush()])
      await write().catch((error: unknown) => log.warn({ err: error }, `${subject} could not be written`));
  }

  async #retry(): Promise<void> {
    for (const id of this.#pending.keys()) this.#failed.delete(id);
    const batch = this.#failed;
    this.#failed = new Map();
    await this.#write(batch).catch((error: unknown) => {
      this.#retries += 1;
      if (this.#retries >= MAX_RETRIES) this.#dropFailed();
      throw error;
    });
    this.#retries = 0;
  }

  async #write(batch: ReadonlyMap<number, V>): Promise<void> {
    const entries = [...batch];
    const failures: unknown[] = [];
    for (let start = 0; start < entries.length; start += WRITTEN_AT_ONCE) {
      const part = new Map(entries.slice(start, start + WRITTEN_AT_ONCE));
      try {
        if (failures.length < MAX_FAILED_PARTS) await this.#options.write(part);
        else this.#keepFailed(part);
      } catch (error) {
        failures.push(error);
        this.#keepFailed(part);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  #keepFailed(part: ReadonlyMap<number, V>): void {
    for (const [id, value] of part) this.#failed.set(id, value);
    for (const id of this.#failed.keys()) {
      if (this.#failed.size <= MAX_FAILED) break;
      this.#failed.delete(id);
    }
  }

  #dropFailed(): void {
    const { log, subject } = this.#options;
    log.error({ dropped: this.#failed.size }, `${subject} cannot be stored and is dropped`);
    this.#failed.clear();
    this.#retries = 0;
  }
}

const script = new Script('work()');
const context = createContext({});

/**
 * Runs synchronous work that may be slow because of someone else's regular expression, and stops it after a time.
 * @returns undefined when it was stopped
 */
export function runWithinTime<R>(work: () => R, timeoutMs: number): R | undefined {
  let result: R | undefined;
  context.work = () => {
    result = work();
  };
  try {
    script.runInContext(context, { timeout: timeoutMs });
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return undefined;
  } finally {
    context.work = undefined;
  }
  return result;
}

/**
 * Waits for work for at most `ms`; the work itself continues.
 *
 * @param late called when the time is over; its result or error is that of the wait
 */
export async function withinTime<R, L>(work: Promise<R>, ms: number, late: () => L): Promise<R | L> {
  const timeout = Promise.withResolvers<undefined>();
  const timer = setTimeout(timeout.resolve, ms, undefined);
  try {
    const ended = await Promise.race([work.then((result) => ({ result })), timeout.promise]);
    return ended === undefined ? late() : ended.result;
  } finally {
    clearTimeout(timer);
  }
}
