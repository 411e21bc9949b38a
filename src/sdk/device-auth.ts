import { CLI_CLIENT } from '../contract/cli-client.ts';
import * as lines from '../contract/device-auth.ts';
import type { PartOf } from '../contract/endpoint.ts';
import { ReelgateError } from './errors.ts';
import { pause, type Transport } from './transport.ts';

/** What a sign-in begins with: show `user_code` and the link, keep `device_code`. */
export type DeviceCode = PartOf<typeof lines.createDeviceCode, 'answer'>['data'];
/** What an approved sign-in is given, once. */
export type DeviceTokens = PartOf<typeof lines.pollDeviceToken, 'answer'>['data'];
/** What a refresh answers; the old pair ended with it. */
export type DevicePair = PartOf<typeof lines.refreshDevice, 'answer'>['data'];

/** A registered official client; the command line's own by default. */
export interface DeviceClient {
  readonly id: string;
  readonly secret: string;
}

export interface PollOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called when a poll could not be answered and is tried again: the network, an overloaded service, a proxy's page. */
  readonly onTrouble?: (error: ReelgateError, waitMs: number) => void;
}

/** A poll without an answer is given up after this, and tried again. */
const POLL_TIMEOUT_MS = 30_000;
const REFRESH_TIMEOUT_MS = 30_000;
const LONGEST_WAIT_MS = 60_000;

/** Device authorization (RFC 8628): a code is shown here, a person confirms it in any browser. */
export class DeviceAuth {
  readonly #transport: Transport;
  readonly #client: DeviceClient;

  constructor(transport: Transport, client: DeviceClient = CLI_CLIENT) {
    this.#transport = transport;
    this.#client = client;
  }

  /**
   * Asks for a code.
   *
   * @param device.name shown to the person who confirms, at most 100 characters
   * @param device.id the same for all sign-ins of one installation: a new sign-in of the account replaces the old one
   */
  async start(
    device: { readonly name?: string; readonly id?: string } = {},
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<DeviceCode> {
    const body = {
      client_id: this.#client.id,
      ...(device.name === undefined ? {} : { client_name: device.name }),
      ...(device.id === undefined ? {} : { device_id: device.id }),
    };
    return (await this.#transport.call(lines.createDeviceCode, { body }, options)).data;
  }

  /**
   * Polls until the code has come to its end (RFC 8628 section 3.5): never faster than the service asks for, slower after
   * `slow_down`, with growing pauses while it cannot be reached, and not a moment after the code has expired.
   *
   * @throws ReelgateError `access_denied`, `expired_token`, `invalid_grant` (used or unknown), `invalid_client`; the
   *   signal's reason when it is aborted
   */
  async poll(code: DeviceCode, { signal, onTrouble }: PollOptions = {}): Promise<DeviceTokens> {
    // By a clock that setting the time of day does not move.
    const deadline = performance.now() + code.expires_in * 1000;
    let intervalMs = Math.max(1, code.interval) * 1000;
    let waitMs = intervalMs;
    let troubles = 0;
    while (performance.now() < deadline) {
      await pause(Math.min(waitMs, Math.max(0, deadline - performance.now())), signal);
      const outcome = await this.#pollOnce(code.device_code, signal);
      if (!(outcome instanceof ReelgateError)) return outcome;
      const askedMs = (outcome.retryAfterSeconds ?? 0) * 1000;
      if (outcome.code === 'slow_down') intervalMs += 5_000;
      if (outcome.code === 'authorization_pending' || outcome.code === 'slow_down') {
        troubles = 0;
        waitMs = Math.max(intervalMs, askedMs);
      } else if (mayPass(outcome)) {
        troubles += 1;
        waitMs = Math.max(askedMs, Math.min(LONGEST_WAIT_MS, intervalMs * 2 ** Math.min(troubles - 1, 6)));
        onTrouble?.(outcome, waitMs);
      } else throw outcome;
    }
    throw new ReelgateError('The code has expired.', { code: 'expired_token', status: 200 });
  }

  /**
   * Exchanges a refresh_token, once, for a new pair. Never repeated by itself: a second use of the same token ends the
   * sign-in. Store the answer before using it.
   *
   * @throws ReelgateError `invalid_grant` when the sign-in is over
   */
  async refresh(refreshToken: string): Promise<DevicePair> {
    const { id, secret } = this.#client;
    const body = { refresh_token: refreshToken, client_id: id, client_secret: secret };
    const signal = AbortSignal.timeout(REFRESH_TIMEOUT_MS);
    return (await this.#transport.call(lines.refreshDevice, { body }, { signal })).data;
  }

  /** Ends the sign-in of an access_token, expired or not: it, its refresh_token and its llm_token stop at once. */
  async logout(accessToken: string): Promise<void> {
    const headers = { authorization: `Bearer ${accessToken}` };
    await this.#transport.call(lines.logoutDevice, {}, { headers });
  }

  async #pollOnce(deviceCode: string, signal: AbortSignal | undefined): Promise<DeviceTokens | ReelgateError> {
    const body = { device_code: deviceCode, client_id: this.#client.id, client_secret: this.#client.secret };
    const timeout = AbortSignal.timeout(POLL_TIMEOUT_MS);
    const both = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    try {
      return (await this.#transport.call(lines.pollDeviceToken, { body }, { signal: both })).data;
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      if (error instanceof ReelgateError) return error;
      return new ReelgateError('The service did not answer in time.', { code: 'network', cause: error });
    }
  }
}

/** Whether it says nothing about the code: no answer, too many requests, a failing service or a page of something between. */
const mayPass = (error: ReelgateError): boolean => error.isPassing || error.status >= 500 || error.code === 'not_json';
