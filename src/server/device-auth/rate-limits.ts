import { LRUCache } from 'lru-cache';
import { POLL_INTERVAL_SECONDS } from '../../contract/device-auth.ts';
import { upToEntries } from '../platform/cache.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import {
  assertWithinLimit,
  type KeyedBudget,
  type RateLimiter,
  type RateLimits,
} from '../platform/limits/rate-limits.ts';

const WINDOW_SECONDS = 600;
const REPORTED_SECONDS = 3_600;

/** Limits on codes per IP and client. */
export interface DeviceCodeLimits {
  /** Codes one IP may request in ten minutes. */
  readonly perIp: number;
  /** Maximum number of pending codes per IP. */
  readonly pendingPerIp: number;
  /** Codes one client may request in ten minutes, over all IPs. */
  readonly perClient: number;
}

/** Codes one client may request in ten minutes: low enough that user codes cannot be guessed by requesting many. */
const CODES_PER_CLIENT = 100_000;
/** A pending code that is decided or replaced may be followed by another. */
const REQUESTS_PER_PENDING = 6;

/** The limits that follow from `DEVICE_CODES_PER_ADDRESS`. */
export const toDeviceCodeLimits = (pendingPerIp: number): DeviceCodeLimits => ({
  perIp: REQUESTS_PER_PENDING * pendingPerIp,
  pendingPerIp,
  perClient: CODES_PER_CLIENT,
});

/** Rate limits of anonymous callers. All but reports use a window of ten minutes; IPv6 counts by /64. */
export class DeviceRateLimits {
  readonly #codesByNetwork: KeyedBudget;
  readonly #codesByClient: RateLimiter;
  readonly #reportedNetworks: RateLimiter;
  readonly #unknownCodes: RateLimiter;
  readonly #logins: RateLimiter;
  readonly #wrongClients: RateLimiter;
  readonly #grants: RateLimiter;
  readonly #metadataFetches: RateLimiter;

  readonly #codesPerIp: () => number;

  constructor(limits: RateLimits, codes: () => DeviceCodeLimits) {
    const define = (name: string, points: number, durationSeconds = WINDOW_SECONDS): RateLimiter =>
      limits.define({ name: `device-${name}`, points, durationSeconds });
    this.#codesPerIp = () => codes().perIp;
    this.#codesByNetwork = limits.defineBudget({ name: 'device-codes-address', durationSeconds: WINDOW_SECONDS });
    this.#codesByClient = define('codes-client', codes().perClient);
    this.#reportedNetworks = define('reported', 1, REPORTED_SECONDS);
    this.#unknownCodes = define('misses', 10);
    this.#logins = define('logins', 5);
    this.#wrongClients = define('wrong-clients', 300);
    this.#grants = define('grants', 60);
    this.#metadataFetches = define('metadata', 30);
  }

  /** @throws rate_limit_exceeded, also for an hour after a report */
  async consumeCodeRequest(clientIp: string, clientId: string): Promise<void> {
    const network = toIpLimitKey(clientIp);
    assertWithinLimit(await this.#reportedNetworks.peek(network));
    const { taken, endsInMs } = await this.#codesByNetwork.take(network, 1, this.#codesPerIp());
    assertWithinLimit({ allowed: taken, retryAfterMs: endsInMs });
    assertWithinLimit(await this.#codesByClient.consume(clientId));
  }

  /** Blocks an IP from requesting codes for an hour; returns false if it is already blocked. */
  async blockCodeRequests(clientIp: string): Promise<boolean> {
    return (await this.#reportedNetworks.consume(toIpLimitKey(clientIp))).allowed;
  }

  /** Counts an unknown user_code. @throws rate_limit_exceeded if the limit is exceeded */
  async recordUnknownCode(clientIp: string): Promise<void> {
    assertWithinLimit(await this.#unknownCodes.consume(toIpLimitKey(clientIp)));
  }

  /**
   * Hides whether a code exists from an IP with too many wrong guesses; a known code does not count. @throws
   * rate_limit_exceeded
   */
  async assertMayLookUp(clientIp: string): Promise<void> {
    assertWithinLimit(await this.#unknownCodes.peek(toIpLimitKey(clientIp)));
  }

  /**
   * Counts a password for a code before it is checked; five wrong ones close the code to logins. @throws
   * rate_limit_exceeded
   */
  async consumeLoginAttempt(userCode: string): Promise<void> {
    assertWithinLimit(await this.#logins.consume(userCode));
  }

  async refundLoginAttempt(userCode: string): Promise<void> {
    await this.#logins.refund(userCode);
  }

  /** Counts an application that an account lets in, since each adds rows. @throws rate_limit_exceeded */
  async consumeGrant(userId: number): Promise<void> {
    assertWithinLimit(await this.#grants.consume(String(userId)));
  }

  /** Counts a fetch of a client's metadata document. @throws rate_limit_exceeded */
  async consumeMetadataFetch(clientIp: string): Promise<void> {
    assertWithinLimit(await this.#metadataFetches.consume(toIpLimitKey(clientIp)));
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
  /** Seconds until the next poll is due; undefined unless this poll was early. */
  readonly retryAfterSeconds: number | undefined;
  /** Whether the code is polled more often than any legitimate client would. */
  readonly isFlooding: boolean;
}

/**
 * Tracks the poll rate of pending codes on the JSON endpoints, which only recommend an interval. Kept in memory,
 * because a write per poll would cost more than excessive polling does. Counts only polls that result in
 * `authorization_pending`.
 */
export class PollRateTracker {
  // Limited by size instead of `max`, which would allocate all slots at once.
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
