import * as endpoints from '../contract/device-auth.ts';
import { CLI_OAUTH_CLIENT } from '../contract/device-auth.ts';
import type { EndpointPart } from '../contract/endpoint.ts';
import { isOutage, ReelgateError } from './errors.ts';
import { type CallOptions, sleep, type Transport } from './transport.ts';

/** A started sign-in: show `user_code` and the link to the user, poll with `device_code`. */
export type DeviceCode = EndpointPart<typeof endpoints.createDeviceCode, 'response'>['data'];
/** Tokens of an approved sign-in; returned only once. */
export type DeviceTokens = EndpointPart<typeof endpoints.pollDeviceToken, 'response'>['data'];
/** Result of a refresh; the previous token pair becomes invalid. */
export type RefreshedTokens = EndpointPart<typeof endpoints.refreshDevice, 'response'>['data'];

/** A registered OAuth client; default: the command line's. */
export interface DeviceClient {
  /** The client_id. */
  readonly id: string;
  /** The client_secret. */
  readonly secret: string;
}

/** How a sign-in describes its device. */
export interface DeviceDescription {
  /** Shown to the confirming user; at most 100 characters. */
  readonly name?: string;
  /** Identical for all sign-ins of one installation, so that a new sign-in of the account replaces the previous one. */
  readonly id?: string;
}

/** Options of waiting for an approval. */
export interface PollOptions {
  /** Stops waiting; `poll` then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * Called when a poll fails and will be retried: network errors, an overloaded service, a proxy's error page.
   * `waitMs`: milliseconds until the retry.
   */
  readonly onPollError?: (error: ReelgateError, waitMs: number) => void;
}

/** A poll without a response is aborted after this time and retried. */
const POLL_TIMEOUT_MS = 30_000;
const REFRESH_TIMEOUT_MS = 30_000;
const MAX_WAIT_MS = 60_000;

/** Device authorization (RFC 8628): the device shows a code, and the user confirms it in any browser. */
export class DeviceAuth {
  readonly #transport: Transport;
  readonly #client: DeviceClient;

  /** @internal */
  constructor(transport: Transport, client: DeviceClient = CLI_OAUTH_CLIENT) {
    this.#transport = transport;
    this.#client = client;
  }

  /**
   * Requests a code.
   *
   * @throws ReelgateError `refused` (invalid_client) if the service does not know the OAuth client
   */
  async start(device: DeviceDescription = {}, options: Pick<CallOptions, 'signal'> = {}): Promise<DeviceCode> {
    const body = {
      client_id: this.#client.id,
      client_name: device.name,
      device_id: device.id,
    };
    return (await this.#transport.call(endpoints.createDeviceCode, { body }, options)).data;
  }

  /**
   * Polls until the code is approved, denied or expired (RFC 8628 section 3.5): never faster than the service's
   * interval, slower after `slow_down`, with exponential backoff while the service is unreachable, and never after the
   * code has expired.
   *
   * @throws ReelgateError `access_denied`, `expired_token`, `invalid_grant` (used or unknown), `invalid_client`; the
   *   signal's reason when aborted
   */
  async poll(code: DeviceCode, { signal, onPollError }: PollOptions = {}): Promise<DeviceTokens> {
    // Uses the monotonic clock, so that changing the system time does not move the deadline.
    const deadline = performance.now() + code.expires_in * 1000;
    let intervalMs = Math.max(1, code.interval) * 1000;
    let waitMs = intervalMs;
    let failures = 0;
    while (performance.now() < deadline) {
      await sleep(Math.min(waitMs, Math.max(0, deadline - performance.now())), signal);
      const outcome = await this.#pollOnce(code.device_code, signal);
      if (!(outcome instanceof ReelgateError)) return outcome;
      const retryAfterMs = (outcome.retryAfterSeconds ?? 0) * 1000;
      if (outcome.code === 'slow_down') intervalMs += 5_000;
      if (outcome.code === 'authorization_pending' || outcome.code === 'slow_down') {
        failures = 0;
        waitMs = Math.max(intervalMs, retryAfterMs);
      } else if (isOutage(outcome)) {
        failures += 1;
        waitMs = Math.max(retryAfterMs, Math.min(MAX_WAIT_MS, intervalMs * 2 ** Math.min(failures - 1, 6)));
        onPollError?.(outcome, waitMs);
      } else throw outcome;
    }
    throw new ReelgateError('The code has expired.', { code: 'expired_token', status: 200 });
  }

  /**
   * Exchanges a refresh_token for a new pair. Never retried automatically: using the same token twice revokes the
   * sign-in. Store the result before using it.
   *
   * @throws ReelgateError `invalid_grant` when the sign-in has ended
   */
  async refresh(refreshToken: string): Promise<RefreshedTokens> {
    const { id, secret } = this.#client;
    const body = { refresh_token: refreshToken, client_id: id, client_secret: secret };
    const signal = AbortSignal.timeout(REFRESH_TIMEOUT_MS);
    return (await this.#transport.call(endpoints.refreshDevice, { body }, { signal })).data;
  }

  /**
   * Ends the sign-in of an access_token, even an expired one: the access_token, its refresh_token and its llm_token are
   * revoked immediately.
   *
   * @throws ReelgateError `unauthorized`
   */
  async logout(accessToken: string): Promise<void> {
    const headers = { authorization: `Bearer ${accessToken}` };
    await this.#transport.call(endpoints.logoutDevice, {}, { headers });
  }

  async #pollOnce(deviceCode: string, signal: AbortSignal | undefined): Promise<DeviceTokens | ReelgateError> {
    const body = { device_code: deviceCode, client_id: this.#client.id, client_secret: this.#client.secret };
    const timeout = AbortSignal.timeout(POLL_TIMEOUT_MS);
    const combined = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    try {
      return (await this.#transport.call(endpoints.pollDeviceToken, { body }, { signal: combined })).data;
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      if (error instanceof ReelgateError) return error;
      return new ReelgateError('The service did not answer in time.', { code: 'network', cause: error });
    }
  }
}
