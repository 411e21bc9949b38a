import { LRUCache } from 'lru-cache';
import { POLL_INTERVAL_SECONDS } from '../../contract/device-auth.ts';
import { upToEntries } from '../platform/cache.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import { assertWithinLimit, type RateLimiter, type RateLimits } from '../platform/limits/rate-limits.ts';

const WINDOW_SECONDS = 600;
const REPORTED_SECONDS = 3_600;

export interface DeviceCodeLimits {
  /** Codes one IP may request in ten minutes. */
  readonly perIp: number;
  /** Codes of one IP that may be pending at a time. */
  readonly pendingPerIp: number;
  /** Codes one client may request in ten minutes, over all IPs. */
  readonly perClient: number;
}

/** Above what an office behind one IP needs, and low enough that user codes cannot be guessed by requesting many. */
export const DEVICE_CODE_LIMITS: DeviceCodeLimits = { perIp: 300, pendingPerIp: 50, perClient: 100_000 };

/** What anonymous callers may do how often. All but reports are counted over ten minutes; IPv6 counts by /64. */
export class DeviceRateLimits {
  readonly #codesByNetwork: RateLimiter;
  readonly #codesByClient: RateLimiter;
  readonly #reportedNetworks: RateLimiter;
  readonly #unknownCodes: RateLimiter;
  readonly #logins: RateLimiter;
  readonly #wrongClients: RateLimiter;

  constructor(limits: RateLimits, codes: DeviceCodeLimits) {
    const define = (name: string, points: number, durationSeconds = WINDOW_SECONDS): RateLimiter =>
      limits.define({ name: `device-${name}`, points, durationSeconds });
    this.#codesByNetwork = define('codes-address', codes.perIp);
    this.#codesByClient = define('codes-client', codes.perClient);
    this.#reportedNetworks = define('reported', 1, REPORTED_SECONDS);
    this.#unknownCodes = define('misses', 10);
    this.#logins = define('logins', 5);
    this.#wrongClients = define('wrong-clients', 300);
  }

  /** @throws rate_limit_exceeded, for an hour after a report too */
  async consumeCodeRequest(clientIp: string, clientId: string): Promise<void> {
    const network = toIpLimitKey(clientIp);
    assertWithinLimit(await this.#reportedNetworks.peek(network));
    assertWithinLimit(await this.#codesByNetwork.consume(network));
    assertWithinLimit(await this.#codesByClient.consume(clientId));
  }

  /** Keeps an IP from requesting codes for an hour; false where it is blocked already. */
  async blockCodeRequests(clientIp: string): Promise<boolean> {
    return (await this.#reportedNetworks.consume(toIpLimitKey(clientIp))).allowed;
  }

  /** Counts an unknown user_code. @throws rate_limit_exceeded when it was one too many */
  async recordUnknownCode(clientIp: string): Promise<void> {
    assertWithinLimit(await this.#unknownCodes.consume(toIpLimitKey(clientIp)));
  }

  /** Hides that a code exists from an IP that guessed too often; a known code itself counts nothing. @throws rate_limit_exceeded */
  async assertMayLookUp(clientIp: string): Promise<void> {
    assertWithinLimit(await this.#unknownCodes.peek(toIpLimitKey(clientIp)));
  }

  /** Counts a password for a code before it is checked; five wrong ones close the code to logins. @throws rate_limit_exceeded */
  async consumeLoginAttempt(userCode: string): Promise<void> {
    assertWithinLimit(await this.#logins.consume(userCode));
  }

  async refundLoginAttempt(userCode: string): Promise<void> {
    await this.#logins.refund(userCode);
  }

  /** Counts wrong client credentials. @throws rate_limit_exceeded, with the public code `invalid_client` */
  async recordWrongClient(clientIp: string): Promise<void> {
    assertWithinLimit(await this.#wrongClients.consume(toIpLimitKey(clientIp)), 'invalid_client');
  }
}

const MAX_CODES = 50_000;
const JITTER_MS = 1_000;
const FLOOD_WINDOW_MS = 10_000;
const FLOOD_POLLS = 60;

interface PollRate {
  /** Seconds until the next poll is due, where this one came early. */
  readonly retryAfterSeconds: number | undefined;
  /** More polls than any client has a reason for. */
  readonly isFlooding: boolean;
}

/**
 * Poll rate of pending codes on the JSON endpoints, which only recommend an interval: kept in memory, because a write for each
 * poll would cost more than polling too often does. Only polls that result in `authorization_pending` are counted.
 */
export class PollRateTracker {
  // Bounded by size and not by `max`, which would allocate room for all of them at once.
  readonly #pollsByCode = new LRUCache<string, { last: number; windowStart: number; polls: number }>(
    upToEntries(MAX_CODES),
  );

  record(code: string, now: number): PollRate {
    const known = this.#pollsByCode.get(code);
    if (known === undefined) {
      this.#pollsByCode.set(code, { last: now, windowStart: now, polls: 1 });
      return { retryAfterSeconds: undefined, isFlooding: false };
    }
    if (now - known.windowStart >= FLOOD_WINDOW_MS) {
      known.windowStart = now;
      known.polls = 0;
    }
    known.polls += 1;
    const dueInMs = known.last + POLL_INTERVAL_SECONDS * 1000 - now;
    known.last = now;
    return {
      retryAfterSeconds: dueInMs > JITTER_MS ? POLL_INTERVAL_SECONDS : undefined,
      isFlooding: known.polls > FLOOD_POLLS,
    };
  }
}
