import { finished, type Readable } from 'node:stream';
import { defined } from '../../../contract/defined.ts';
import type { AccessWatch } from '../../accounts/access-watch.ts';
import { AppError } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/caller.ts';
import type { Log } from '../../platform/log.ts';
import {
  type OutboundClient,
  OutboundError,
  type OutboundRequest,
  type OutboundResponse,
  type UntrustedRequest,
} from '../../platform/outbound/outbound.ts';
import { PollFailed, UnsupportedRequestError } from '../../upstreams/error.ts';
import type { ContentSource } from '../../vendors/adapter.ts';
import type { Task } from '../store.ts';
import { artifactOf } from '../task-artifact.ts';
import type { VideoUpstream, VideoUpstreams } from '../video-upstreams.ts';
import { isSingleRange, toRangeResponse } from './byte-range.ts';
import type { DownloadSlots } from './download-slots.ts';
import type { InlineFileCache } from './inline-file-cache.ts';
import type { UrlRefresher } from './url-refresher.ts';

export interface ContentRequest {
  /** One `bytes=` range as the caller sent it; others are ignored, as RFC 9110 section 14.2 permits. */
  readonly range?: string | undefined;
  readonly ifRange?: string | undefined;
  readonly variant?: string | undefined;
  /** The download ends when this credential does. */
  readonly caller: Caller;
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal;
}

export interface Content {
  readonly status: 200 | 206 | 416;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
}

/** Headers of the file host that are forwarded; all others are left out. */
const FORWARDED_HEADERS = ['content-length', 'content-range', 'accept-ranges', 'etag', 'last-modified'];
const SAFE_CONTENT_TYPE = /^(video\/[\w.+-]+|image\/(png|jpeg|webp|gif|avif)|application\/octet-stream)$/;

/** Sent with every file of another host, so that a browser never runs it as a page of this origin. */
export const CONTENT_HEADERS = {
  'cache-control': 'private, max-age=86400',
  vary: 'Authorization',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
} as const;

/** A large file may take hours over a slow connection; below the minimum rate (bytes a second) the download is aborted. */
const DOWNLOAD_TIMEOUTS = {
  totalTimeoutMs: 15 * 60_000,
  minBytesPerSecond: 4 * 1024,
} as const satisfies Partial<OutboundRequest>;

export interface ContentDeliveryDependencies {
  readonly outbound: OutboundClient;
  readonly upstreams: VideoUpstreams;
  readonly urlRefresher: UrlRefresher;
  readonly inlineFileCache: InlineFileCache;
  readonly downloadSlots: DownloadSlots;
  readonly accessWatch: AccessWatch;
  readonly log: Log;
}

/** Streams finished videos from where they are; nothing is buffered. */
export class ContentDelivery {
  readonly #dependencies: ContentDeliveryDependencies;
  constructor(dependencies: ContentDeliveryDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Opens a task's video. Takes one of the owner's download slots until the body has ended.
   * @throws AppError `task_not_completed`, `content_not_found`, `content_unavailable`, `rate_limit_exceeded`
   */
  async open(task: Task, request: ContentRequest): Promise<Content> {
    if (task.status !== 'SUCCESS') throw new AppError('task_not_completed', { params: { status: task.status } });
    const release = this.#dependencies.downloadSlots.acquire(task.user_id);
    try {
      const content = await this.#find(task, request);
      const stopWatching = this.#dependencies.accessWatch.watch(request.caller, () => {
        content.body.destroy(new Error('the credential of this download has ended'));
      });
      // Also called when the body failed before it was passed on.
      finished(content.body, () => {
        stopWatching();
        release();
      });
      return content;
    } catch (error) {
      release();
      throw error;
    }
  }

  async #find(task: Task, request: ContentRequest): Promise<Content> {
    const upstream = await this.#dependencies.upstreams.find(task);
    if (upstream === undefined || !upstream.isConfirmed) throw new AppError('content_not_found');
    const response = await this.#fetch(task, upstream, request);
    if (!isGone(response.status)) return toContent(response);
    response.body.destroy();
    return this.#findWithFreshUrl(task, request);
  }

  /** Signed URLs expire; the vendor is polled for a fresh one, once. */
  async #findWithFreshUrl(task: Task, request: ContentRequest): Promise<Content> {
    const { urlRefresher, upstreams } = this.#dependencies;
    const refreshed = await urlRefresher.refresh(task);
    if (refreshed === 'failed') throw new AppError('content_unavailable');
    const upstream = refreshed === 'gone' ? undefined : await upstreams.find(refreshed);
    const response =
      refreshed === 'gone' || upstream === undefined ? undefined : await this.#fetch(refreshed, upstream, request);
    if (response !== undefined && !isGone(response.status)) return toContent(response);
    response?.body.destroy();
    throw new AppError('content_not_found', { message: 'The provider no longer keeps this video.' });
  }

  async #fetch(task: Task, upstream: VideoUpstream, request: ContentRequest): Promise<OutboundResponse> {
    const { outbound, log } = this.#dependencies;
    const range = isSingleRange(request.range) ? request.range : undefined;
    try {
      const source = await this.#sourceOf(task, upstream, request);
      if (source.kind === 'bytes') return toRangeResponse(source.bytes, source.mimeType, range);
      const fileRequest = {
        method: 'GET',
        url: source.url,
        headers: {
          ...source.headers,
          ...defined({ range, 'if-range': range === undefined ? undefined : request.ifRange }),
          'accept-encoding': 'identity',
        },
        signal: request.signal,
        ...DOWNLOAD_TIMEOUTS,
      } as const;
      if (source.trusted) return await this.#followTrusted(fileRequest, upstream);
      return await outbound.requestUntrusted({ ...fileRequest, ...extraHosts(upstream, source.url) });
    } catch (error) {
      if (error instanceof UnsupportedRequestError) throw new AppError('content_not_found', { message: error.message });
      if (error instanceof PollFailed || error instanceof OutboundError) {
        log.warn({ err: error, taskId: task.id }, 'a video could not be fetched');
        throw new AppError('content_unavailable');
      }
      throw error;
    }
  }

  async #sourceOf(task: Task, upstream: VideoUpstream, { variant, signal }: ContentRequest): Promise<ContentSource> {
    const artifact = artifactOf(task);
    const isVideo = variant === undefined || variant === 'video';
    if (isVideo && artifact?.kind === 'url') return { kind: 'fetch', url: artifact.url, headers: {}, trusted: false };
    if (isVideo && artifact?.kind === 'inline') return this.#dependencies.inlineFileCache.get(task, upstream);
    return upstream.call(signal, (adapter, handle, context) =>
      adapter.content(handle, JSON.parse(task.data), variant, context),
    );
  }

  /** A vendor's own host may redirect to a storage host, which gets neither the credentials nor the trust. */
  async #followTrusted(
    request: OutboundRequest & { readonly method: 'GET' },
    upstream: VideoUpstream,
  ): Promise<OutboundResponse> {
    const { outbound } = this.#dependencies;
    const response = await outbound.request({
      ...request,
      private: upstream.account.private,
      proxy: upstream.account.proxy,
    });
    const { location } = response.headers;
    if (response.status < 300 || response.status >= 400 || location === undefined) return response;
    response.body.destroy();
    const url = new URL(location, request.url).href;
    const range = request.headers?.range;
    return outbound.requestUntrusted({
      ...request,
      url,
      headers: defined({ 'accept-encoding': 'identity', range }),
      ...extraHosts(upstream, url),
    });
  }
}

const isGone = (status: number): boolean => status === 401 || status === 403 || status === 404 || status === 410;

/** The file host of a private channel may be at a private IP address. */
function extraHosts(upstream: VideoUpstream, url: string): Partial<Pick<UntrustedRequest, 'allowedPrivateHosts'>> {
  if (!upstream.account.private) return {};
  const { hostname, port, protocol } = new URL(url);
  return { allowedPrivateHosts: [`${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`] };
}

function toContent(response: OutboundResponse): Content {
  const { status } = response;
  // Nothing is decompressed here, and compressed bytes without their Content-Encoding would be a broken file.
  const coding = response.headers['content-encoding'] ?? 'identity';
  if ((status !== 200 && status !== 206 && status !== 416) || coding.trim().toLowerCase() !== 'identity') {
    response.body.destroy();
    throw new AppError('content_unavailable', { log: { upstreamStatus: status, coding } });
  }
  const type = (response.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const isSafe = SAFE_CONTENT_TYPE.test(type);
  return {
    status,
    headers: {
      ...Object.fromEntries(
        FORWARDED_HEADERS.flatMap((name) => {
          const value = response.headers[name];
          return value === undefined ? [] : [[name, value]];
        }),
      ),
      'content-type': isSafe ? type : 'application/octet-stream',
      ...(!isSafe && { 'content-disposition': 'attachment' }),
      ...CONTENT_HEADERS,
    },
    body: response.body,
  };
}
