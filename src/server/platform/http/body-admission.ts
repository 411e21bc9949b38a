import type { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../app-error.ts';
import { collectYoungGarbage } from '../collect-garbage.ts';
import { allowGrowthForLargeBodies } from '../heap-growth.ts';
import { KeyedByteBudget } from './keyed-byte-budget.ts';

const MB = 1024 * 1024;
/** Bodies up to this are taken at once: they cost less than the bookkeeping. */
export const LARGE_BODY_BYTES = 256 * 1024;
/** From here on a body is a good part of what the heap may grow by. */
const GROWTH_BYTES = 4 * MB;
/** Collected before more is taken. */
const MAX_GARBAGE_BYTES = 16 * MB;
/** How long after its body was read a request may count against its account; most are answered or refused sooner. */
const HANDLING_MS = 500;

/** Bounds of large bodies that are being read and parsed at a time, and how fast they must come while others wait. */
interface AdmissionBounds {
  /** Bytes: one picture of the largest kind, or several common ones. */
  readonly maxBytesPerAccount: number;
  readonly maxBytesInTotal: number;
  /** Every body may take this long. */
  readonly graceMs: number;
  readonly minBytesPerMs: number;
}

const BOUNDS: AdmissionBounds = {
  maxBytesPerAccount: 32 * MB,
  maxBytesInTotal: 128 * MB,
  graceMs: 10_000,
  minBytesPerMs: 128,
};

/** A request whose body waits to be read. */
export interface AdmissionRequest {
  readonly source: Readable & { readonly socket: { readonly bytesRead: number } };
  /** Closes when the response was sent or its connection is gone. */
  readonly response: EventEmitter;
  /** Who shares a budget: the account. */
  readonly budgetKey: string;
  /** Bytes the body may have at most. */
  readonly bytes: number;
}

/**
 * Bounds how much memory all bodies together take that are being read and parsed. The large ones of one account are taken
 * one after another; nothing of a body is received while it waits, and nobody keeps others waiting by sending slowly. What
 * rejected bodies leave behind is collected before the next is taken.
 */
export class BodyAdmission {
  readonly #bounds: AdmissionBounds;
  readonly #budget: KeyedByteBudget;
  #garbageBytes = 0;

  constructor(bounds = BOUNDS) {
    this.#bounds = bounds;
    this.#budget = new KeyedByteBudget(bounds.maxBytesPerAccount, bounds.maxBytesInTotal);
  }

  /**
   * Runs `read` when there is room for the body.
   *
   * @throws AppError `invalid_json` when the client disconnects while it waits, `request_timeout` when it is too slow
   */
  async read<T>(request: AdmissionRequest, read: () => Promise<T>): Promise<T> {
    const { source, response, budgetKey, bytes } = request;
    if (bytes <= LARGE_BODY_BYTES) return read();
    const gone = new AbortController();
    const leave = (): void => gone.abort(new AppError('invalid_json'));
    source.once('close', leave);
    const releaseBudget = await this.#budget.acquire(budgetKey, bytes, gone.signal).finally(() => {
      source.off('close', leave);
    });
    let timer: NodeJS.Timeout | undefined;
    const release = (): void => {
      response.off('close', release);
      clearTimeout(timer);
      releaseBudget();
    };
    response.once('close', release);
    try {
      if (bytes >= GROWTH_BYTES) allowGrowthForLargeBodies();
      await this.#collectGarbage();
      const result = await this.#whileFastEnough(request, read);
      timer = setTimeout(release, HANDLING_MS).unref();
      return result;
    } catch (error) {
      release();
      throw error;
    } finally {
      this.#garbageBytes += bytes;
    }
  }

  async #whileFastEnough<T>({ source, response }: AdmissionRequest, read: () => Promise<T>): Promise<T> {
    const { graceMs, minBytesPerMs } = this.#bounds;
    const startedAt = performance.now();
    const bytesBefore = source.socket.bytesRead;
    const tooSlow = Promise.withResolvers<never>();
    const timer = setInterval(() => {
      const expected = (performance.now() - startedAt - graceMs) * minBytesPerMs;
      if (!this.#budget.isWaitedFor || source.socket.bytesRead - bytesBefore >= expected) return;
      response.once('finish', () => source.destroy());
      tooSlow.reject(new AppError('request_timeout', { headers: { connection: 'close' } }));
    }, graceMs / 4).unref();
    try {
      return await Promise.race([read(), tooSlow.promise]);
    } finally {
      clearInterval(timer);
    }
  }

  async #collectGarbage(): Promise<void> {
    if (this.#garbageBytes < MAX_GARBAGE_BYTES) return;
    // In a turn of its own: whoever has just finished still holds what it read.
    await nextTurn();
    if (this.#garbageBytes < MAX_GARBAGE_BYTES) return;
    this.#garbageBytes = 0;
    collectYoungGarbage();
  }
}
