import { AppError } from '../../platform/app-error.ts';

/**
 * Concurrent downloads of one account in one process. A script that fetches a day's videos may use fifty at a time; the
 * outbound client has 256 slots for responses of untrusted hosts, so that fewer than four accounts cannot exhaust it.
 */
export const MAX_DOWNLOADS_EACH = 64;

/** A slot is released when any of the downloads ends, which may be at once or, for a stalled one, after a minute. */
const RETRY_SECONDS = 10;

/** Counts concurrent downloads by who makes them, so that the slow clients of one account or network leave slots to the others. */
export class DownloadSlots {
  readonly #underWay = new Map<string, number>();
  #size = 0;

  /** Downloads under way. */
  get size(): number {
    return this.#size;
  }

  /** @param key the account, or the network of a viewer. Returns the function that releases the slot, to be called once. @throws rate_limit_exceeded */
  acquire(key: string): () => void {
    const before = this.#underWay.get(key) ?? 0;
    if (before >= MAX_DOWNLOADS_EACH)
      throw new AppError('rate_limit_exceeded', {
        params: { seconds: RETRY_SECONDS },
        retryAfterSeconds: RETRY_SECONDS,
      });
    this.#underWay.set(key, before + 1);
    this.#size += 1;
    return () => {
      this.#size -= 1;
      const others = (this.#underWay.get(key) ?? 1) - 1;
      if (others === 0) this.#underWay.delete(key);
      else this.#underWay.set(key, others);
    };
  }
}
