import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { ClosedCall } from '../quota/ledger.ts';
import type { Tables, Trx } from '../tables.ts';
import { callToRequestRow } from './call-to-request-row.ts';
import type { RequestStore } from './request-store.ts';

export interface RequestLogDependencies {
  readonly database: Database<Tables>;
  readonly store: RequestStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** A call that was refused before anything was reserved for it. */
export type RefusedCall = Omit<ClosedCall, 'charged' | 'reserved' | 'isSettled' | 'usage' | 'reservedAt'>;

const FLUSH_MS = 1_000;
/** A caller who is refused thousands of times a second must not fill the disk or delay others: the rest is only counted. */
const MAX_WAITING = 1_000;

/**
 * Writes the request log: what was reserved in the transaction that settles it, so that both are there or neither, and
 * what was refused, which nothing depends on, once a second together.
 */
export class RequestLog {
  readonly #dependencies: RequestLogDependencies;
  #waiting: ClosedCall[] = [];
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(dependencies: RequestLogDependencies) {
    this.#dependencies = dependencies;
  }

  /** Called by the ledger with what it closes. */
  readonly addClosed = (trx: Trx, closed: readonly ClosedCall[], now: number): Promise<void> =>
    this.#dependencies.store.insert(
      trx,
      closed.map((each) => callToRequestRow(each, now)),
    );

  /** Returns at once. */
  addRefused(call: RefusedCall): void {
    if (this.#waiting.length >= MAX_WAITING) {
      this.#dropped++;
      return;
    }
    this.#waiting.push({ ...call, charged: 0, reserved: 0, isSettled: false, usage: NO_TOKENS, reservedAt: 0 });
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS).unref();
  }

  /** Writes what was refused. Never rejects. */
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
