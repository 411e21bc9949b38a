import { toIpLimitKey } from '../platform/client-ip.ts';
import { assertWithinLimit, type RateLimiter, type RateLimits } from '../platform/limits/rate-limits.ts';

const WINDOW_SECONDS = 600;

/** Limits by IP (IPv6: by /64) on requests of anonymous callers that cost a row and a request to a provider. */
export class IdentityRateLimits {
  readonly #starts: RateLimiter;
  readonly #failures: RateLimiter;
  readonly #logouts: RateLimiter;

  constructor(limits: RateLimits) {
    this.#starts = limits.define({ name: 'identity-starts', points: 300, durationSeconds: WINDOW_SECONDS });
    this.#failures = limits.define({ name: 'identity-failures', points: 100, durationSeconds: WINDOW_SECONDS });
    this.#logouts = limits.define({ name: 'identity-logouts', points: 100, durationSeconds: WINDOW_SECONDS });
  }

  /** @throws rate_limit_exceeded */
  async consumeStart(clientIp: string): Promise<void> {
    assertWithinLimit(await this.#starts.consume(toIpLimitKey(clientIp)));
  }

  /** Counts a failed return from a provider, a successful one not. @throws rate_limit_exceeded */
  countReturn<R>(clientIp: string, work: () => Promise<R>): Promise<R> {
    return countFailure(this.#failures, clientIp, work);
  }

  /** Counts an invalid logout token, a valid one not. @throws rate_limit_exceeded */
  countLogout<R>(clientIp: string, work: () => Promise<R>): Promise<R> {
    return countFailure(this.#logouts, clientIp, work);
  }
}

async function countFailure<R>(limiter: RateLimiter, clientIp: string, work: () => Promise<R>): Promise<R> {
  const key = toIpLimitKey(clientIp);
  assertWithinLimit(await limiter.consume(key));
  const result = await work();
  await limiter.refund(key);
  return result;
}
