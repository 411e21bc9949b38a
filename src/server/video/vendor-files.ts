import { type Duplex, pipeline, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { defined } from '../../contract/objects.ts';
import type { VideoSources } from '../artifacts/artifact-copier.ts';
import { AppError } from '../platform/app-error.ts';
import { upToEntries } from '../platform/cache.ts';
import type { Clock } from '../platform/clock.ts';
import { Semaphore, SingleFlight } from '../platform/concurrency.ts';
import { tryParse } from '../platform/json.ts';
import type { Log } from '../platform/log.ts';
import { beginsLikeVideo, isSingleRange, toRangeResponse } from '../platform/media.ts';
import { readLocation } from '../platform/outbound/client.ts';
import {
  type OutboundClient,
  OutboundError,
  type OutboundRequest,
  type OutboundResponse,
  type UntrustedRequest,
} from '../platform/outbound/outbound.ts';
import { PollFailed, UnsupportedRequestError } from '../upstreams/upstream.ts';
import type { ContentSource } from '../vendors/adapter.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import { toSubject, toVideoData } from './task-completion.ts';
import {
  parseTaskArtifact,
  type Task,
  type TaskStore,
  truncateBase64,
  type VideoUpstream,
  type VideoUpstreams,
} from './task-store.ts';

interface VendorFileRequest {
  /** A single `bytes=` range as sent by the caller; any other range is ignored, as RFC 9110 section 14.2 permits. */
  readonly range?: string;
  readonly ifRange?: string;
  /** Default: the video itself. */
  readonly variant?: string;
  /** A longer file fails. */
  readonly maxBytes?: number;
  /** Bytes received ahead of the reader. */
  readonly readAheadBytes?: number;
  readonly signal: AbortSignal;
}

/**
 * A large file may take hours over a slow connection; below the minimum rate (bytes per second) the download is
 * aborted.
 */
const DOWNLOAD_TIMEOUTS = {
  totalTimeoutMs: 15 * 60_000,
  minBytesPerSecond: 4 * 1024,
} as const satisfies Partial<OutboundRequest>;

/** Dependencies of {@link VendorFiles}. */
export interface VendorFilesDependencies {
  readonly outbound: OutboundClient;
  readonly upstreams: VideoUpstreams;
  readonly urlRefresher: UrlRefresher;
  readonly inlineFileCache: Base64VideoCache;
  readonly log: Log;
}

/** Opens the files of finished videos at their vendors. */
export class VendorFiles {
  readonly #dependencies: VendorFilesDependencies;
  constructor(dependencies: VendorFilesDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns the vendor's response with status 200, 206 or 416 and an unread body.
   * @throws AppError `content_not_found`, `content_unavailable`
   */
  async open(task: Task, request: VendorFileRequest): Promise<OutboundResponse> {
    const upstream = await this.#dependencies.upstreams.find(task);
    const response = await this.#fetch(task, upstream, request);
    if (!isGone(response.status)) return checked(response, request);
    response.body.destroy();
    return this.#openWithFreshUrl(task, request);
  }

  /** As `open`, without fetching a fresh URL, for a task whose vendor has just been polled. */
  async openAsPolled(task: Task, request: VendorFileRequest): Promise<OutboundResponse> {
    const response = await this.#fetch(task, await this.#dependencies.upstreams.find(task), request);
    return checked(response, request);
  }

  /** Signed URLs expire; the vendor is polled for a fresh one, once. */
  async #openWithFreshUrl(task: Task, request: VendorFileRequest): Promise<OutboundResponse> {
    const { urlRefresher, upstreams } = this.#dependencies;
    const refreshed = await urlRefresher.refresh(task);
    if (refreshed === 'failed') throw new AppError('content_unavailable');
    const upstream = refreshed === 'gone' ? undefined : await upstreams.find(refreshed);
    const response =
      refreshed === 'gone' || upstream === undefined ? undefined : await this.#fetch(refreshed, upstream, request);
    if (response !== undefined && !isGone(response.status)) return checked(response, request);
    response?.body.destroy();
    throw new AppError('content_not_found', { message: 'The provider no longer keeps this video.' });
  }

  async #fetch(task: Task, upstream: VideoUpstream | undefined, request: VendorFileRequest): Promise<OutboundResponse> {
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
        ...defined({ maxBytes: request.maxBytes, readAheadBytes: request.readAheadBytes }),
        ...DOWNLOAD_TIMEOUTS,
      } as const;
      if (source.trusted && upstream !== undefined)
        return await this.#followTrusted(fileRequest, upstream, source.addressIn);
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

  /** A public URL needs no channel: the channel may have been removed, or not have been imported with the video. */
  async #sourceOf(
    task: Task,
    upstream: VideoUpstream | undefined,
    { variant, signal }: VendorFileRequest,
  ): Promise<ContentSource> {
    const artifact = parseTaskArtifact(task);
    const isVideo = variant === undefined || variant === 'video';
    if (isVideo && artifact?.kind === 'url') return { kind: 'fetch', url: artifact.url, headers: {}, trusted: false };
    if (upstream === undefined || !upstream.isConfirmed) throw new AppError('content_not_found');
    if (isVideo && artifact?.kind === 'inline') return this.#dependencies.inlineFileCache.get(task, upstream);
    return upstream.call(signal, (adapter, handle, context) =>
      adapter.content(handle, JSON.parse(task.data), variant, context),
    );
  }

  /** A vendor's own host may redirect to a storage host, which must receive neither the credentials nor the trust. */
  async #followTrusted(
    request: OutboundRequest & { readonly method: 'GET' },
    upstream: VideoUpstream,
    addressIn: TrustedSource['addressIn'],
  ): Promise<OutboundResponse> {
    const { outbound } = this.#dependencies;
    const response = await outbound.request({
      ...request,
      private: upstream.account.private,
      proxy: upstream.account.proxy,
    });
    const isRedirect = response.status >= 300 && response.status < 400;
    const location = isRedirect ? response.headers.location : await addressNamedIn(response, addressIn);
    if (location === undefined) return response;
    response.body.destroy();
    const url = new URL(readLocation(location), request.url).href;
    const range = request.headers?.range;
    return outbound.requestUntrusted({
      ...request,
      url,
      headers: defined({ 'accept-encoding': 'identity', range }),
      ...extraHosts(upstream, url),
    });
  }
}

type TrustedSource = Extract<ContentSource, { kind: 'fetch' }>;

const JSON_TYPE = /^\s*application\/(?:\w+\+)?json/i;
const MAX_JSON_BYTES = 64 * 1024;

/**
 * The file's URL in a response that names the file instead of containing it.
 * @throws PollFailed if it names none
 */
async function addressNamedIn(
  response: OutboundResponse,
  addressIn: TrustedSource['addressIn'],
): Promise<string | undefined> {
  const isJson = JSON_TYPE.test(response.headers['content-type'] ?? '');
  if (addressIn === undefined || !isJson || (response.status !== 200 && response.status !== 206)) return undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_JSON_BYTES) break;
    chunks.push(chunk);
  }
  const address = bytes > MAX_JSON_BYTES ? undefined : addressIn(tryParse(Buffer.concat(chunks)));
  if (address === undefined) throw new PollFailed('the upstream answered with JSON that names no video');
  return address;
}

const isGone = (status: number): boolean => status === 401 || status === 403 || status === 404 || status === 410;

/** The file host of a private channel may have a private IP address. */
function extraHosts(
  upstream: VideoUpstream | undefined,
  url: string,
): Partial<Pick<UntrustedRequest, 'allowedPrivateHosts'>> {
  if (upstream?.account.private !== true) return {};
  const { hostname, port, protocol } = new URL(url);
  return { allowedPrivateHosts: [`${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`] };
}

/**
 * The response as that of a plain file. The bytes of a video decide, whatever type and coding the host declares. A page
 * is refused here if an image was requested, and by the check of the bytes if a video was.
 *
 * @throws AppError `content_unavailable`
 */
function checked(response: OutboundResponse, request: VendorFileRequest): Promise<OutboundResponse> | OutboundResponse {
  const { status, headers, body } = response;
  const isVideo = request.variant === undefined || request.variant === 'video';
  const decoder = DECODERS[(headers['content-encoding'] ?? '').trim().toLowerCase()];
  const isUnaskedPart = status === 206 && !isSingleRange(request.range);
  const isWhole = status === 200 || (isUnaskedPart && isWholeRange(headers['content-range']));
  if (isWhole && isVideo) {
    const whole = { ...response, status: 200, headers: omit(headers, 'content-range') };
    return decoder === undefined ? whole : decoded(whole, decoder);
  }
  const isFile = status === 416 || isVideo || !TEXT_TYPE.test(headers['content-type'] ?? '');
  if ((status === 200 || status === 206 || status === 416) && !isUnaskedPart && decoder === undefined && isFile)
    return response;
  body.destroy();
  throw new AppError('content_unavailable', {
    log: { upstreamStatus: status, coding: headers['content-encoding'], isFile },
  });
}

/** A page or a message instead of an image, whatever its status. */
const TEXT_TYPE = /^\s*(text\/|application\/(xhtml\+|problem\+)?(xml|json))/i;

/**
 * The content codings of HTTP. Some hosts name values that are none (`aws-chunked`, `utf-8`, `binary`); the bytes are
 * then the file itself.
 */
const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** Decodes a response, unless its bytes already are a video. */
async function decoded(response: OutboundResponse, decoder: () => Duplex): Promise<OutboundResponse> {
  const { headers, body } = response;
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const { value: first = Buffer.alloc(0) } = await chunks.next().catch(() => ({ value: undefined }));
  const joined = Readable.from(startingWith(first, chunks), { objectMode: false });
  joined.once('close', () => body.destroy());
  const plain = omit(headers, 'content-encoding');
  if (beginsLikeVideo(first)) return { ...response, headers: plain, body: joined };
  const output = pipeline(joined, decoder(), () => {}).on('error', () => {});
  const bounded = Readable.from(upTo(MAX_DECODED_BYTES, output), { objectMode: false });
  return { ...response, headers: omit(plain, 'content-length'), body: bounded.once('close', () => output.destroy()) };
}

/** A compressed file may expand a thousandfold. */
const MAX_DECODED_BYTES = 1024 ** 3;

async function* upTo(maxBytes: number, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new OutboundError('body', `a coded file has more than ${maxBytes} bytes`);
    yield chunk;
  }
}

async function* startingWith(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* { [Symbol.asyncIterator]: () => rest };
}

/** Also true for a host that sends 206 with the whole file and names no range. */
function isWholeRange(contentRange: string | undefined): boolean {
  const [, last, total] = /^bytes 0-(\d{1,15})\/(\d{1,15})$/.exec(contentRange ?? '') ?? [];
  return contentRange === undefined || (total !== undefined && Number(last) + 1 === Number(total));
}

const omit = (headers: OutboundResponse['headers'], name: string): OutboundResponse['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name));

interface UrlRefresherDependencies {
  readonly store: TaskStore;
  readonly upstreams: VideoUpstreams;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
}

/** `gone`: the vendor no longer has the video. `failed`: the vendor could not be polled. */
type UrlRefreshResult = Task | 'gone' | 'failed';

/** Longest time a reader of the task waits for a fresh URL. */
const READER_WAIT_MS = 3_000;
const MAX_TASKS_REMEMBERED = 10_000;

/**
 * Refreshes signed URLs of finished videos, which expire while the vendor still has the video. The vendor is polled
 * again and the fresh URL stored, so that neither the task nor the next download uses the expired one. State and quota
 * never change here.
 */
export class UrlRefresher {
  readonly #dependencies: UrlRefresherDependencies;
  readonly #refreshes = new SingleFlight<UrlRefreshResult>();
  /** Time of the last poll for a URL, Unix milliseconds by task id. */
  readonly #refreshedAt = new LRUCache<string, number>(upToEntries(MAX_TASKS_REMEMBERED));

  constructor(dependencies: UrlRefresherDependencies) {
    this.#dependencies = dependencies;
  }

  /** Polls the vendor now; concurrent calls for one task share the poll. */
  refresh(task: Task): Promise<UrlRefreshResult> {
    return this.#refreshes.run(task.id, () => this.#refresh(task));
  }

  /** Returns the task, with a fresh URL if the stored URL is known to have expired. */
  async withFreshUrl(task: Task): Promise<Task> {
    const { upstreams, clock } = this.#dependencies;
    const lifetime = upstreams.adapterOf(task).artifactUrlLifetimeMs;
    if (lifetime === undefined || task.status !== 'SUCCESS') return task;
    const now = clock.now();
    if (now - Math.max(task.finish_time, this.#refreshedAt.get(task.id) ?? 0) < lifetime) return task;
    this.#refreshedAt.set(task.id, now);
    const timeout = new Promise<'failed'>((resolve) => setTimeout(resolve, READER_WAIT_MS, 'failed').unref());
    const refreshed = await Promise.race([this.refresh(task), timeout]);
    return typeof refreshed === 'string' ? task : refreshed;
  }

  async #refresh(task: Task): Promise<UrlRefreshResult> {
    const { upstreams, log } = this.#dependencies;
    const upstream = await upstreams.find(task);
    if (upstream === undefined || task.handle === null) return 'gone';
    try {
      return await this.#query(task, upstream, task.handle);
    } catch (error) {
      if (!(error instanceof PollFailed) && !(error instanceof OutboundError)) throw error;
      log.warn({ err: error, taskId: task.id }, 'the URL of a video could not be refreshed');
      return 'failed';
    }
  }

  async #query(task: Task, upstream: VideoUpstream, storedHandle: string): Promise<UrlRefreshResult> {
    const { store, clock, stopping } = this.#dependencies;
    const outcome = await upstream.call(stopping, (adapter, handle, context) => adapter.query(handle, context));
    if (outcome.state !== 'SUCCESS' || outcome.artifact === undefined)
      return outcome.state === 'FAILURE' ? 'gone' : 'failed';
    const fresh = {
      artifact: JSON.stringify(outcome.artifact),
      data: JSON.stringify(truncateBase64(outcome.raw)),
      handle: outcome.handle === undefined ? storedHandle : JSON.stringify(outcome.handle),
    };
    this.#refreshedAt.set(task.id, clock.now());
    if (fresh.artifact !== task.artifact || fresh.handle !== storedHandle) await store.updateArtifact(task.id, fresh);
    return { ...task, ...fresh };
  }
}

type InlineFile = Extract<ContentSource, { kind: 'bytes' }>;

const MAX_CACHED_BYTES = 64 * 1024 ** 2;
/** A player requests many ranges of one file within minutes. */
const CACHE_TTL_MS = 5 * 60_000;
/** Each response is held in memory as text, as JSON and as bytes for a moment. */
const MAX_CONCURRENT_FETCHES = 2;
const MAX_QUEUED_FETCHES = 256;
const FETCH_WAIT_MS = 30_000;

/**
 * Caches videos that a vendor sends inside its JSON (Vertex AI without a bucket). Such a response has tens of megabytes
 * whatever range is requested, so it is fetched once for all concurrent readers and cached while the video is played.
 */
export class Base64VideoCache {
  readonly #files: LRUCache<string, InlineFile, { task: Task; upstream: VideoUpstream }>;

  /** @param stopping aborted when the service stops */
  constructor(stopping: AbortSignal) {
    const semaphore = new Semaphore(MAX_CONCURRENT_FETCHES, MAX_QUEUED_FETCHES);
    this.#files = new LRUCache({
      maxSize: MAX_CACHED_BYTES,
      sizeCalculation: ({ bytes }) => bytes.length,
      ttl: CACHE_TTL_MS,
      ttlAutopurge: true,
      fetchMethod: async (_id, _stale, { context: { task, upstream } }) => {
        const release = await semaphore.acquire(FETCH_WAIT_MS);
        if (release === undefined) throw new PollFailed('too many videos are being fetched');
        try {
          // Not the first reader's signal: that reader may disconnect while others still wait for the file.
          const file = await upstream.call(stopping, (adapter, handle, context) =>
            adapter.content(handle, JSON.parse(task.data), undefined, context),
          );
          if (file.kind !== 'bytes') throw new PollFailed('the upstream now keeps this video at a URL');
          return file;
        } finally {
          release();
        }
      },
    });
  }

  /** @throws the adapter's errors: PollFailed, UnsupportedRequestError, OutboundError */
  get(task: Task, upstream: VideoUpstream): Promise<InlineFile> {
    return this.#files.forceFetch(task.id, { context: { task, upstream } });
  }
}

interface VideoSourceDependencies {
  readonly store: TaskStore;
  readonly vendors: VendorRegistry;
  readonly vendorFiles: VendorFiles;
}

/** Posters are limited to 256 KiB, so a cover above this size is not read to its end. */
const MAX_COVER_BYTES = 1024 ** 2;

/** Opens whole files and covers at their vendors for storage and posters. */
export function createVideoCopySources({ store, vendors, vendorFiles }: VideoSourceDependencies): VideoSources {
  const findFinished = async (taskId: string): Promise<Task | undefined> => {
    const task = await store.findById(taskId);
    return task === undefined || task.deleted === 1 || task.status !== 'SUCCESS' ? undefined : task;
  };
  return {
    async describe(taskId) {
      const task = await findFinished(taskId);
      return task && { subject: toSubject(task), data: toVideoData(task, 'SUCCESS', task.finish_time) };
    },
    async openVideo(taskId, signal) {
      const task = await findFinished(taskId);
      if (task === undefined) return undefined;
      // Hundreds of files are copied at once: each copy holds no more in memory than the chunk being written.
      const { status, headers, body } = await vendorFiles.open(task, { signal, readAheadBytes: 0 });
      if (status !== 200) {
        body.destroy();
        throw new AppError('content_unavailable', { log: { upstreamStatus: status } });
      }
      const length = headers['content-length'];
      return { body, bytes: length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined };
    },
    async openCover(taskId, signal) {
      const task = await findFinished(taskId);
      if (task === undefined || vendors.get(task.vendor).hasCover !== true) return undefined;
      const { body } = await vendorFiles.open(task, { signal, variant: 'thumbnail', maxBytes: MAX_COVER_BYTES });
      return buffer(body);
    },
  };
}
