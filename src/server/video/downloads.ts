import { AppError } from '../platform/errors.ts';

/**
 * Downloads of one account under way at once, in one process. A script that fetches a day's work takes fifty at a time; the
 * door out has places for 256 foreign hosts' answers, so that four accounts would have to conspire to fill it.
 */
export const DOWNLOADS_AT_ONCE = 64;

/** A place comes free when any of the downloads ends, which may be at once or, for one that stands still, in a minute. */
const RETRY_SECONDS = 10;

/** Counts each account's downloads under way, so that the slow readers of one leave places to the others. */
export class Downloads {
  readonly #underWay = new Map<number, number>();

  /** Answers the function that gives the place back, to be called once. @throws rate_limit_exceeded */
  enter(userId: number): () => void {
    const before = this.#underWay.get(userId) ?? 0;
    if (before >= DOWNLOADS_AT_ONCE)
      throw new AppError('rate_limit_exceeded', {
        params: { seconds: RETRY_SECONDS },
        retryAfterSeconds: RETRY_SECONDS,
      });
    this.#underWay.set(userId, before + 1);
    return () => {
      const others = (this.#underWay.get(userId) ?? 1) - 1;
      if (others === 0) this.#underWay.delete(userId);
      else this.#underWay.set(userId, others);
    };
  }
}
