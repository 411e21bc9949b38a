/** How long a success of another account is evidence that a channel works, milliseconds. */
const VALID_MS = 60_000;

/**
 * Whose calls over one circuit succeed and fail. While calls of others succeed, what fails for one account alone is the fault of its
 * requests: a firewall in front of a vendor answers 403 to a prompt with markup in it, and some bodies break a vendor's server
 * every time. Such failures must not take the channel from everybody else.
 */
export class SingleCallerFailureDetector {
  /** The accounts of the two newest successes, of different accounts; times are Unix milliseconds. */
  #newest: number | undefined;
  #newestAt = 0;
  #other: number | undefined;
  #otherAt = 0;
  /** The accounts whose calls have failed since the newest success. */
  #failing: number | 'several' | undefined;

  succeeded(userId: number, now: number): void {
    if (this.#newest !== userId) {
      this.#other = this.#newest;
      this.#otherAt = this.#newestAt;
      this.#newest = userId;
    }
    this.#newestAt = now;
    this.#failing = undefined;
  }

  /** @returns whether calls fail for this account alone, and for another one succeeded within the last minute */
  failed(userId: number, now: number): boolean {
    this.#failing = this.#failing === undefined || this.#failing === userId ? userId : 'several';
    if (this.#failing === 'several') return false;
    const isNewest = this.#newest === userId;
    const other = isNewest ? this.#other : this.#newest;
    return other !== undefined && now - (isNewest ? this.#otherAt : this.#newestAt) < VALID_MS;
  }
}
