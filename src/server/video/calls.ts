import type { Channel } from '../channels/channels.ts';
import type { Clock } from '../platform/clock.ts';
import type { Outbound } from '../platform/outbound/outbound.ts';
import { OutboundError } from '../platform/outbound/outbound.ts';
import { bearerIn, maskAnswer, secretsIn } from './credential-mask.ts';
import { readMedia } from './media.ts';
import { type VendorCall, VendorRefusal } from './vendor.ts';

interface Kept {
  readonly value: string;
  readonly expiresAtMs: number;
}

/** Makes what arrives with every call of an adapter: the channel's credentials and door, the clock, the token cache. */
export class VendorCalls {
  readonly #outbound: Outbound;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Promise<Kept>>();

  constructor(outbound: Outbound, clock: Clock) {
    this.#outbound = outbound;
    this.#clock = clock;
  }

  make(channel: Channel, signal: AbortSignal): VendorCall {
    const outbound = this.#outbound;
    const secrets = secretsIn(channel.credentials);
    return {
      baseUrl: channel.baseUrl,
      credentials: channel.credentials,
      options: channel.options,
      now: () => this.#clock.now(),
      async json(request) {
        const answer = await outbound.json({ signal, ...request, private: channel.private });
        return maskAnswer(answer, [...secrets, ...bearerIn(request.headers)]);
      },
      loadImage: (url, maxBytes) => this.#loadImage(url, maxBytes, signal),
      cached: (key, make, rejected) => this.#cached(`${channel.id}:${key}`, make, rejected),
      signal,
    };
  }

  async #loadImage(url: string, maxBytes: number, signal: AbortSignal): Promise<{ data: string; mimeType: string }> {
    const refuse = (why: string): VendorRefusal =>
      new VendorRefusal(`The picture at the given address ${why}.`, 'image');
    try {
      const { status, body } = await this.#outbound.stranger({
        method: 'GET',
        url,
        signal,
        maxBytes,
        totalTimeoutMs: 30_000,
      });
      if (status !== 200) {
        body.destroy();
        throw refuse(`could not be fetched (HTTP ${status})`);
      }
      const data = Buffer.concat(await body.toArray()).toString('base64');
      const media = readMedia(data, 'image');
      return { data, mimeType: media.kind === 'base64' ? media.mimeType : 'application/octet-stream' };
    } catch (error) {
      if (error instanceof VendorRefusal) throw error;
      if (error instanceof OutboundError)
        throw refuse(error.phase === 'blocked' ? 'is not a public one' : 'could not be fetched');
      throw refuse('is no picture of a known kind');
    }
  }

  /** One flight at a time per key; a value is used until a minute before its end, a failed flight is not kept. */
  async #cached(key: string, make: () => Promise<Kept>, rejected?: string): Promise<string> {
    const present = this.#kept.get(key);
    if (present !== undefined) {
      const { value, expiresAtMs } = await present;
      if (value !== rejected && expiresAtMs - 60_000 > this.#clock.now()) return value;
      // Another caller may have replaced it while this one waited.
      if (this.#kept.get(key) !== present) return this.#cached(key, make, rejected);
    }
    const flight = make();
    this.#kept.set(key, flight);
    flight.catch(() => this.#kept.get(key) === flight && this.#kept.delete(key));
    return (await flight).value;
  }
}
