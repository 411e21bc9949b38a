import { defined } from '../../contract/omit-undefined.ts';
import type { Clock } from '../platform/clock.ts';
import { detectMediaType } from '../platform/media.ts';
import {
  type BufferedResponse,
  type OutboundClient,
  OutboundError,
  type OutboundRequest,
} from '../platform/outbound/outbound.ts';
import { credentialMaskOf } from './mask-credentials.ts';
import { UnsupportedRequestError } from './vendor-errors.ts';

/** An account at an upstream, as far as calling it needs to know; a channel is one. */
export interface UpstreamAccount {
  readonly id: number;
  /** Which of the credentials on file these are. */
  readonly credentialId: number;
  /** With the path below which the endpoints are, if any, and without a trailing slash. */
  readonly baseUrl: string;
  /** In clear. */
  readonly credentials: { readonly [key: string]: unknown };
  /** As the administrator wrote them. */
  readonly options: { readonly [key: string]: unknown };
  /** Whether its own base URL and artifacts may be at private IP addresses. */
  readonly private: boolean;
  /** Sent with every request, lower-case names; they win over the adapter's own. Absent: none. */
  readonly extraHeaders?: Readonly<Record<string, string>> | undefined;
  /** URL of the proxy its requests go through, with credentials. Absent: none. */
  readonly proxy?: string | undefined;
}

/** What an adapter is given with every call: it holds no state, clock, credentials or sockets of its own. */
export interface AdapterContext extends Pick<UpstreamAccount, 'baseUrl' | 'credentials' | 'options'> {
  /** Unix milliseconds. */
  now(): number;
  /**
   * One JSON request to the vendor, its response with the channel's credentials masked.
   * @throws OutboundError when there was no response
   */
  sendJson(request: OutboundRequest & { readonly maxBytes?: number }): Promise<BufferedResponse>;
  /**
   * Downloads an image the caller named by URL, as Base64, for vendors that take no URL. Fetched from public IP addresses only.
   * @throws UnsupportedRequestError when it cannot be had, is larger than `maxBytes`, or is no image
   */
  fetchImage(url: string, maxBytes: number): Promise<{ data: string; mimeType: string }>;
  /**
   * A secret cached until it expires (an OAuth access token), shared by all calls with the same credential; concurrent callers wait for
   * one `make`. `rejected` is a value the vendor has just refused: it is replaced only while it is still the cached one, so
   * that a hundred calls refused together request one new token.
   */
  cachedSecret(
    key: string,
    make: () => Promise<{ value: string; expiresAtMs: number }>,
    rejected?: string,
  ): Promise<string>;
  readonly signal: AbortSignal;
}

interface CachedSecret {
  readonly value: string;
  readonly expiresAtMs: number;
}

/** A cached secret is replaced this long before it expires, milliseconds. */
const EXPIRY_MARGIN_MS = 60_000;
const IMAGE_TIMEOUT_MS = 30_000;

/** Makes the context of adapter calls. One per process: it holds the cache of access tokens. */
export class UpstreamCalls {
  readonly #outbound: OutboundClient;
  readonly #clock: Clock;
  readonly #secrets = new Map<string, Promise<CachedSecret>>();

  constructor(outbound: OutboundClient, clock: Clock) {
    this.#outbound = outbound;
    this.#clock = clock;
  }

  /** @param signal aborts every request made through the context */
  contextFor(account: UpstreamAccount, signal: AbortSignal): AdapterContext {
    const outbound = this.#outbound;
    const { extraHeaders, proxy } = account;
    return {
      baseUrl: account.baseUrl,
      credentials: account.credentials,
      options: account.options,
      now: () => this.#clock.now(),
      async sendJson(request) {
        const headers = extraHeaders === undefined ? request.headers : { ...request.headers, ...extraHeaders };
        const response = await outbound.requestJson(
          defined({ signal, ...request, headers, private: account.private, proxy }),
        );
        return credentialMaskOf(account).response(response, request.headers);
      },
      fetchImage: (url, maxBytes) => this.#fetchImage(url, maxBytes, signal),
      cachedSecret: (key, make, rejected) =>
        this.#cachedSecret(`${account.id}/${account.credentialId}:${key}`, make, rejected),
      signal,
    };
  }

  async #fetchImage(url: string, maxBytes: number, signal: AbortSignal): Promise<{ data: string; mimeType: string }> {
    const refuse = (why: string): UnsupportedRequestError =>
      new UnsupportedRequestError(`The picture at the given address ${why}.`, 'image');
    try {
      const { status, body } = await this.#outbound.requestUntrusted({
        method: 'GET',
        url,
        signal,
        maxBytes,
        totalTimeoutMs: IMAGE_TIMEOUT_MS,
      });
      if (status !== 200) {
        body.destroy();
        throw refuse(`could not be fetched (HTTP ${status})`);
      }
      const data = Buffer.concat(await body.toArray()).toString('base64');
      const mimeType = detectMediaType(data);
      if (mimeType === undefined) throw refuse('is no picture of a known kind');
      return { data, mimeType };
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      throw refuse(error.phase === 'blocked' ? 'is not a public one' : 'could not be fetched');
    }
  }

  async #cachedSecret(key: string, make: () => Promise<CachedSecret>, rejected?: string): Promise<string> {
    const cached = this.#secrets.get(key);
    if (cached !== undefined) {
      const { value, expiresAtMs } = await cached;
      if (value !== rejected && expiresAtMs - EXPIRY_MARGIN_MS > this.#clock.now()) return value;
      // Another caller may have replaced it while this one waited.
      if (this.#secrets.get(key) !== cached) return this.#cachedSecret(key, make, rejected);
    }
    const made = make();
    this.#secrets.set(key, made);
    made.catch(() => this.#secrets.get(key) === made && this.#secrets.delete(key));
    return (await made).value;
  }
}
