import { AppError } from '../../platform/errors.ts';

/**
 * Concurrent downloads of one account in one process. A script that fetches a day's videos may use fifty at a time; the
 * outbound client has 256 slots for responses of untrusted hosts, so that fewer than four accounts cannot exhaust it.
 */
export const MAX_DOWNLOADS_PER_USER = 64;

/** A slot is released when any of the downloads ends, which may be at once or, for a stalled one, after a minute. */
const RETRY_SECONDS = 10;

/** Counts each account's concurrent downloads, so that the slow clients of one account leave slots to the others. */
export class DownloadSlots {
  readonly #underWay = new Map<number, number>();
  #size = 0;

  /** Downloads under way. */
  get size(): number {
    return this.#size;
  }

  /** Returns the function that releases the slot, to be called once. @throws rate_limit_exceeded */
  acquire(userId: number): () => void {
    const before = this.#underWay.get(userId) ?? 0;
    if (before >= MAX_DOWNLOADS_PER_USER)
      throw new AppError('rate_limit_exceeded', {
        params: { seconds: RETRY_SECONDS },
        retryAfterSeconds: RETRY_SECONDS,
      });
    this.#underWay.set(userId, before + 1);
    this.#size += 1;
    return () => {
      this.#size -= 1;
      const others = (this.#underWay.get(userId) ?? 1) - 1;
      if (others === 0) this.#underWay.delete(userId);
      else this.#underWay.set(userId, others);
    };
  }
}
