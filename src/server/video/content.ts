import { Readable } from 'node:stream';
import type { Channel, Channels } from '../channels/channels.ts';
import { AppError } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { type Outbound, OutboundError, type OutboundResponse } from '../platform/outbound/outbound.ts';
import type { VendorCalls } from './calls.ts';
import type { Looks } from './looks.ts';
import type { Task, TaskStore } from './store.ts';
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

export interface ContentParts {
  readonly outbound: Outbound;
  readonly channels: Channels;
  readonly vendors: Vendors;
  readonly calls: VendorCalls;
  readonly looks: Looks;
  readonly store: TaskStore;
  readonly log: Log;
}

/** Streams finished videos from where they are; nothing is held in memory. */
export class Contents {
  readonly #parts: ContentParts;
  constructor(parts: ContentParts) {
    this.#parts = parts;
  }

  /** Throws `task_not_completed`, `content_not_found` or `content_unavailable`. */
  async open(task: Task, wish: ContentWish): Promise<Content> {
    if (task.status !== 'SUCCESS') throw new AppError('task_not_completed', { params: { status: task.status } });
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
    const { vendors, calls, log } = this.#parts;
    if (task.handle === null) throw new AppError('content_not_found');
    try {
      const outcome = await vendors.get(task.vendor).query(JSON.parse(task.handle), calls.make(channel, wish.signal));
      if (outcome.state === 'SUCCESS' && outcome.artifact !== undefined) {
        const answer = await this.#fetch(
          { ...task, artifact: JSON.stringify(outcome.artifact), data: JSON.stringify(outcome.raw) },
          channel,
          wish,
        );
        if (!isGone(answer.status)) return toContent(answer);
        answer.body.destroy();
      }
    } catch (error) {
      if (!(error instanceof CouldNotAsk) && !(error instanceof OutboundError)) throw error;
      log.warn({ err: error, taskId: task.id }, 'a fresh address could not be asked for');
      throw new AppError('content_unavailable');
    }
    throw new AppError('content_not_found', { message: 'The provider no longer keeps this video.' });
  }

  async #fetch(task: Task, channel: Channel, wish: ContentWish): Promise<OutboundResponse> {
    const { outbound, vendors, calls, log } = this.#parts;
    const headers = {
      ...(isSingleRange(wish.range) ? { range: wish.range } : {}),
      ...(wish.ifRange !== undefined && isSingleRange(wish.range) ? { 'if-range': wish.ifRange } : {}),
      'accept-encoding': 'identity',
    };
    try {
      const source = await this.#sourceOf(task, vendors, calls.make(channel, wish.signal), wish.variant);
      if (source.kind === 'bytes') return fromBytes(source.bytes, source.mimeType, wish.range);
      const request = {
        method: 'GET',
        url: source.url,
        headers: { ...source.headers, ...headers },
        signal: wish.signal,
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

  #sourceOf(
    task: Task,
    vendors: Vendors,
    call: Parameters<ReturnType<Vendors['get']>['content']>[3],
    variant: string | undefined,
  ): Promise<ContentSource> {
    const artifact = task.artifact === null ? undefined : (JSON.parse(task.artifact) as { kind: string; url?: string });
    if (artifact?.kind === 'url' && artifact.url !== undefined && (variant === undefined || variant === 'video')) {
      return Promise.resolve({ kind: 'fetch', url: artifact.url, headers: {}, trusted: false });
    }
    return vendors.get(task.vendor).content(JSON.parse(task.handle ?? 'null'), JSON.parse(task.data), variant, call);
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
      ...(request.signal === undefined ? {} : { signal: request.signal }),
      ...(channel.private ? { alsoHosts: [hostOf(url)] } : {}),
    });
  }
}

const isGone = (status: number): boolean => status === 401 || status === 403 || status === 404 || status === 410;

const isSingleRange = (range: string | undefined): range is string =>
  range !== undefined && /^bytes=(\d{1,15}-\d{0,15}|-\d{1,15})$/.test(range);

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

/** Bytes that came inside an answer, with one range cut out where asked. */
function fromBytes(bytes: Buffer, mimeType: string, range: string | undefined): OutboundResponse {
  const base = { 'content-type': mimeType, 'accept-ranges': 'bytes' };
  const cut = isSingleRange(range) ? toSpan(range, bytes.length) : undefined;
  if (cut === undefined)
    return { status: 200, headers: { ...base, 'content-length': String(bytes.length) }, body: Readable.from([bytes]) };
  if (cut === 'unsatisfiable')
    return {
      status: 416,
      headers: { 'content-range': `bytes */${bytes.length}`, 'content-length': '0' },
      body: Readable.from([]),
    };
  const part = bytes.subarray(cut.start, cut.end + 1);
  return {
    status: 206,
    headers: {
      ...base,
      'content-length': String(part.length),
      'content-range': `bytes ${cut.start}-${cut.end}/${bytes.length}`,
    },
    body: Readable.from([part]),
  };
}

function toSpan(range: string, length: number): { start: number; end: number } | 'unsatisfiable' {
  const [first = '', last = ''] = range.slice('bytes='.length).split('-');
  const start = first === '' ? Math.max(0, length - Number(last)) : Number(first);
  const end = first === '' || last === '' ? length - 1 : Math.min(Number(last), length - 1);
  return start >= length || end < start ? 'unsatisfiable' : { start, end };
}
