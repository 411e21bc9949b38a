import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { ClosedCall } from '../quota/ledger.ts';
import type { Tables, Trx } from '../tables.ts';
import { callToRequestRow, type ListedRequest, type RequestFilter, type RequestStore } from './request-store.ts';

interface RequestLogDependencies {
  readonly database: Database<Tables>;
  readonly store: RequestStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** A call refused before any quota was reserved for it. */
type RefusedCall = Omit<ClosedCall, 'charged' | 'reserved' | 'isSettled' | 'usage' | 'reservedAt'>;

const FLUSH_MS = 1_000;
/**
 * A caller that is refused thousands of times a second must not fill the disk or delay others: further refusals are
 * only counted.
 */
const MAX_WAITING = 1_000;

/**
 * Writes the request log. Calls with a reservation are written in the transaction that settles them, so that row and
 * settlement exist together or not at all. Refused calls, on which nothing depends, are written in batches once a
 * second.
 */
export class RequestLog {
  readonly #dependencies: RequestLogDependencies;
  #waiting: ClosedCall[] = [];
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(dependencies: RequestLogDependencies) {
    this.#dependencies = dependencies;
  }

  /** Called by the ledger with the calls it closes. */
  readonly addClosed = (trx: Trx, closed: readonly ClosedCall[], now: number): Promise<void> =>
    this.#dependencies.store.insert(
      trx,
      closed.map((each) => callToRequestRow(each, now)),
    );

  /** Queues the call and returns at once. */
  addRefused(call: RefusedCall): void {
    if (this.#waiting.length >= MAX_WAITING) {
      this.#dropped++;
      return;
    }
    this.#waiting.push({ ...call, charged: 0, reserved: 0, isSettled: false, usage: NO_TOKENS, reservedAt: 0 });
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS).unref();
  }

  /** Writes the queued refusals. Never rejects. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { database, log, clock } = this.#dependencies;
    const [waiting, dropped] = [this.#waiting, this.#dropped];
    this.#waiting = [];
    this.#dropped = 0;
    if (dropped > 0) log.warn({ dropped }, 'refused calls that the request log does not have');
    if (waiting.length === 0) return;
    await database
      .transaction((trx) => this.addClosed(trx, waiting, clock.now()))
      .catch((error: unknown) => log.warn({ err: error, calls: waiting.length }, 'refused calls could not be logged'));
  }
}

const NO_TOKENS = { promptTokens: 0, completionTokens: 0 };

/** An open live view. */
interface LiveRequestLogSubscriber {
  /** The account that opened it. */
  readonly userId: number;
  readonly filter: RequestFilter;
  /** Called with the matching rows, oldest first. */
  send(rows: readonly ListedRequest[]): void;
  /** Keeps proxies from closing an idle stream. */
  keepAlive(): void;
  end(): void;
}

const POLL_MS = 1_000;
const KEEP_ALIVE_POLLS = 15;
const PAGE_SIZE = 500;
/** On PostgreSQL a row with a lower number may be committed later; this many rows are read again to find such rows. */
const OVERLAP = 200;
/** Every row is compared with the filter of every view, so each view costs time every second. */
const MAX_VIEWS_PER_ACCOUNT = 32;

/**
 * The open live views of the request log in this process. One query a second serves all of them, whichever process
 * wrote the rows; without a view there is no query. A view misses no rows of a second with fewer rows than a page, and
 * skips the rest otherwise.
 */
export class LiveRequestLogSubscribers {
  readonly #store: RequestStore;
  readonly #log: Log;
  readonly #pollMs: number;
  readonly #listeners = new Set<LiveRequestLogSubscriber>();
  #timer: NodeJS.Timeout | undefined;
  /** Undefined: unknown, as while no view is open. */
  #position: number | undefined;
  #sent = new Set<number>();
  #polls = 0;
  #isReading = false;

  constructor(store: RequestStore, log: Log, pollMs = POLL_MS) {
    this.#store = store;
    this.#log = log;
    this.#pollMs = pollMs;
  }

  get size(): number {
    return this.#listeners.size;
  }

  /** @throws AppError `too_many_streams` if the account has reached its limit */
  assertCapacity(userId: number): void {
    let open = 0;
    for (const listener of this.#listeners) if (listener.userId === userId) open += 1;
    if (open >= MAX_VIEWS_PER_ACCOUNT) throw new AppError('too_many_streams', { retryAfterSeconds: 60 });
  }

  /**
   * Sends rows written from now on.
   * @returns a function that closes the view
   */
  async open(listener: LiveRequestLogSubscriber): Promise<() => void> {
    // Counted before any await, so that views opened concurrently cannot exceed the limit together.
    this.#listeners.add(listener);
    const close = (): void => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
    try {
      if (this.#position === undefined) await this.#begin();
    } catch (error) {
      close();
      throw error;
    }
    this.#timer ??= setInterval(() => void this.#poll(), this.#pollMs).unref();
    return close;
  }

  async #begin(): Promise<void> {
    const newest = await this.#store.newestSeq();
    // The rows of the overlap existed before the view was opened.
    this.#position ??= newest;
    for (const row of await this.#read()) this.#sent.add(row.seq);
  }

  close(): void {
    for (const listener of [...this.#listeners]) listener.end();
    this.#listeners.clear();
    this.#stop();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#position = undefined;
    this.#sent = new Set();
  }

  #read(): Promise<ListedRequest[]> {
    return this.#store.listWrittenAfter(Math.max(0, (this.#position ?? 0) - OVERLAP), PAGE_SIZE);
  }

  async #poll(): Promise<void> {
    if (this.#isReading || this.#position === undefined) return;
    this.#isReading = true;
    try {
      const rows = await this.#read();
      if (this.#listeners.size === 0) return;
      const added = rows.filter(({ seq }) => !this.#sent.has(seq));
      this.#sent = new Set(rows.map(({ seq }) => seq));
      this.#position = Math.max(this.#position, rows.at(-1)?.seq ?? 0);
      // A full page is more than anyone can follow, so the remaining rows are skipped.
      if (rows.length === PAGE_SIZE) this.#position = await this.#store.newestSeq();
      this.#send(added);
    } catch (error) {
      this.#log.warn({ err: error }, 'the live view of the request log could not be read');
    } finally {
      this.#isReading = false;
    }
  }

  #send(rows: readonly ListedRequest[]): void {
    const isKeptAlive = ++this.#polls % KEEP_ALIVE_POLLS === 0;
    for (const listener of this.#listeners) {
      const fitting = rows.filter((row) => fits(row, listener.filter));
      if (fitting.length > 0) listener.send(fitting);
      else if (isKeptAlive) listener.keepAlive();
    }
  }
}

const fits = (row: ListedRequest, { userId, channelId, tokenId, model, status, kind }: RequestFilter): boolean =>
  (userId ?? row.user_id) === row.user_id &&
  (channelId ?? row.channel_id) === row.channel_id &&
  (tokenId ?? row.token_id) === row.token_id &&
  (model ?? row.model) === row.model &&
  (status ?? row.status) === row.status &&
  (kind ?? row.kind) === row.kind;
