import { finished, type Readable } from 'node:stream';
import type { Channel, Channels } from '../channels/channels.ts';
import { AppError } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { type Outbound, OutboundError, type OutboundResponse } from '../platform/outbound/outbound.ts';
import { fromBytes, isSingleRange } from './byte-range.ts';
import type { VendorCalls } from './calls.ts';
import type { Downloads } from './downloads.ts';
import { artifactOf } from './faces/unified.ts';
import type { InlineFiles } from './inline-files.ts';
import type { Renewals } from './renewals.ts';
import type { Task } from './store.ts';
import { type ContentSource, CouldNotAsk, VendorRefusal } from './vendor.ts';
import type { Vendors } from './vendors.ts';

export interface ContentWish {
  /** One `bytes=` range as the caller sent it; others are ignored (RFC 9110 section 14.2 permits that). */
  readonly range?: string;
  readonly ifRange?: string;
  readonly variant?: string;
  readonly signal: AbortSignal;
}

export interface Content {
  readonly status: 200 | 206 | 416;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
}

/** Headers of an upstream's answer that pass; everything else is theirs or dangerous. */
const PASSED = ['content-length', 'content-range', 'accept-ranges', 'etag', 'last-modified'];
const SAFE_TYPE = /^(video\/[\w.+-]+|image\/(png|jpeg|webp|gif|avif)|application\/octet-stream)$/;

/** What every answer with somebody else's bytes carries, so that they can never act as a page of ours. */
export const CONTENT_HEADERS = {
  'cache-control': 'private, max-age=86400',
  vary: 'Authorization',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
} as const;

/** A large file over a slow line may take hours; one that trickles is given up. */
const UNHURRIED = { totalTimeoutMs: 15 * 60_000, leastRate: 4 * 1024 } as const;

export interface ContentParts {
  readonly outbound: Outbound;
  readonly channels: Channels;
  readonly vendors: Vendors;
  readonly calls: VendorCalls;
  readonly renewals: Renewals;
  readonly inlineFiles: InlineFiles;
  readonly downloads: Downloads;
  readonly log: Log;
}

/** Streams finished videos from where they are; nothing is held in memory. */
export class Contents {
  readonly #parts: ContentParts;
  constructor(parts: ContentParts) {
    this.#parts = parts;
  }

  /**
   * Holds one of the owner's places until the body has ended, whoever reads it.
   *
   * Throws `task_not_completed`, `content_not_found`, `content_unavailable` or `rate_limit_exceeded`.
   */
  async open(task: Task, wish: ContentWish): Promise<Content> {
    if (task.status !== 'SUCCESS') throw new AppError('task_not_completed', { params: { status: task.status } });
    const leave = this.#parts.downloads.enter(task.user_id);
    try {
      const content = await this.#find(task, wish);
      // Fires too where the body has broken before it got here.
      finished(content.body, leave);
      return content;
    } catch (error) {
      leave();
      throw error;
    }
  }

  async #find(task: Task, wish: ContentWish): Promise<Content> {
    const channel = task.channel_id === null ? undefined : await this.#parts.channels.byId(task.channel_id);
    if (channel === undefined || task.handle === null) throw new AppError('content_not_found');
    const answer = await this.#fetch(task, channel, wish);
    if (isGone(answer.status)) {
      answer.body.destroy();
      return this.#openAgain(task, channel, wish);
    }
    return toContent(answer);
  }

  /** Signed addresses expire; the vendor is asked for a fresh one, once. */
  async #openAgain(task: Task, channel: Channel, wish: ContentWish): Promise<Content> {
    const renewed = await this.#parts.renewals.renew(task);
    if (renewed === 'failed') throw new AppError('content_unavailable');
    const answer = renewed === 'gone' ? undefined : await this.#fetch(renewed, channel, wish);
    if (answer !== undefined && !isGone(answer.status)) return toContent(answer);
    answer?.body.destroy();
    throw new AppError('content_not_found', { message: 'The provider no longer keeps this video.' });
  }

  async #fetch(task: Task, channel: Channel, wish: ContentWish): Promise<OutboundResponse> {
    const { outbound, log } = this.#parts;
    const headers = {
      ...(isSingleRange(wish.range) ? { range: wish.range } : {}),
      ...(wish.ifRange !== undefined && isSingleRange(wish.range) ? { 'if-range': wish.ifRange } : {}),
      'accept-encoding': 'identity',
    };
    try {
      const source = await this.#sourceOf(task, channel, wish);
      if (source.kind === 'bytes') return fromBytes(source.bytes, source.mimeType, wish.range);
      const request = {
        method: 'GET',
        url: source.url,
        headers: { ...source.headers, ...headers },
        signal: wish.signal,
        ...UNHURRIED,
      } as const;
      if (source.trusted) return await this.#followTrusted(request, channel);
      return await outbound.stranger({ ...request, ...(channel.private ? { alsoHosts: [hostOf(source.url)] } : {}) });
    } catch (error) {
      if (error instanceof VendorRefusal) throw new AppError('content_not_found', { message: error.message });
      if (error instanceof CouldNotAsk || error instanceof OutboundError) {
        log.warn({ err: error, taskId: task.id }, 'a video could not be fetched');
        throw new AppError('content_unavailable');
      }
      throw error;
    }
  }

  async #sourceOf(task: Task, channel: Channel, { variant, signal }: ContentWish): Promise<ContentSource> {
    const { vendors, calls, inlineFiles } = this.#parts;
    const artifact = artifactOf(task);
    const isVideo = variant === undefined || variant === 'video';
    if (isVideo && artifact?.kind === 'url') return { kind: 'fetch', url: artifact.url, headers: {}, trusted: false };
    if (isVideo && artifact?.kind === 'inline') return inlineFiles.of(task, channel);
    const handle = JSON.parse(task.handle ?? 'null');
    return vendors.get(task.vendor).content(handle, JSON.parse(task.data), variant, calls.make(channel, signal));
  }

  /** A vendor's own host may redirect to a storage host, which gets neither the credentials nor trust. */
  async #followTrusted(request: Parameters<Outbound['configured']>[0], channel: Channel): Promise<OutboundResponse> {
    const answer = await this.#parts.outbound.configured({ ...request, private: channel.private });
    const { location } = answer.headers;
    if (answer.status < 300 || answer.status >= 400 || location === undefined) return answer;
    answer.body.destroy();
    const url = new URL(location, request.url).href;
    const range = request.headers?.range;
    return this.#parts.outbound.stranger({
      method: 'GET',
      url,
      headers: { 'accept-encoding': 'identity', ...(range === undefined ? {} : { range }) },
      ...UNHURRIED,
      ...(request.signal === undefined ? {} : { signal: request.signal }),
      ...(channel.private ? { alsoHosts: [hostOf(url)] } : {}),
    });
  }
}

const isGone = (status: number): boolean => status === 401 || status === 403 || status === 404 || status === 410;

function hostOf(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;
}

function toContent(answer: OutboundResponse): Content {
  const { status } = answer;
  // Nothing is unpacked here, and packed bytes under a type of their own would be a broken file.
  const coding = answer.headers['content-encoding'] ?? 'identity';
  if ((status !== 200 && status !== 206 && status !== 416) || coding.trim().toLowerCase() !== 'identity') {
    answer.body.destroy();
    throw new AppError('content_unavailable', { log: { upstreamStatus: status, coding } });
  }
  const type = (answer.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const safe = SAFE_TYPE.test(type);
  return {
    status,
    headers: {
      ...Object.fromEntries(
        PASSED.flatMap((name) => (answer.headers[name] === undefined ? [] : [[name, answer.headers[name]]])),
      ),
      'content-type': safe ? type : 'application/octet-stream',
      ...(safe ? {} : { 'content-disposition': 'attachment' }),
      ...CONTENT_HEADERS,
    },
    body: answer.body,
  };
}
