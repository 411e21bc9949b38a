import { type Duplex, pipeline, Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { defined } from '../../../contract/omit-undefined.ts';
import { AppError } from '../../platform/app-error.ts';
import { JsonRejectedError, parseJson } from '../../platform/json.ts';
import type { Log } from '../../platform/log.ts';
import { beginsLikeVideo, isSingleRange, toRangeResponse } from '../../platform/media.ts';
import { readLocation } from '../../platform/outbound/client.ts';
import {
  type OutboundClient,
  OutboundError,
  type OutboundRequest,
  type OutboundResponse,
  type UntrustedRequest,
} from '../../platform/outbound/outbound.ts';
import { PollFailed, UnsupportedRequestError } from '../../upstreams/vendor-errors.ts';
import type { ContentSource } from '../../vendors/adapter.ts';
import { parseTaskArtifact } from '../parse-task-artifact.ts';
import type { Task } from '../task-store.ts';
import type { VideoUpstream, VideoUpstreams } from '../video-upstream-types.ts';
import type { Base64VideoCache } from './base64-video-cache.ts';
import type { UrlRefresher } from './url-refresher.ts';

export interface VendorFileRequest {
  /** One `bytes=` range as the caller sent it; others are ignored, as RFC 9110 section 14.2 permits. */
  readonly range?: string | undefined;
  readonly ifRange?: string | undefined;
  /** Default: the video itself. */
  readonly variant?: string | undefined;
  /** A longer file fails. */
  readonly maxBytes?: number | undefined;
  /** Bytes that are received before they are read. */
  readonly readAheadBytes?: number | undefined;
  readonly signal: AbortSignal;
}

/** A large file may take hours over a slow connection; below the minimum rate (bytes a second) the download is aborted. */
const DOWNLOAD_TIMEOUTS = {
  totalTimeoutMs: 15 * 60_000,
  minBytesPerSecond: 4 * 1024,
} as const satisfies Partial<OutboundRequest>;

export interface VendorFilesDependencies {
  readonly outbound: OutboundClient;
  readonly upstreams: VideoUpstreams;
  readonly urlRefresher: UrlRefresher;
  readonly inlineFileCache: Base64VideoCache;
  readonly log: Log;
}

/** Opens the files of finished videos where their vendors keep them. */
export class VendorFiles {
  readonly #dependencies: VendorFilesDependencies;
  constructor(dependencies: VendorFilesDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * The vendor's response with status 200, 206 or 416, its body unread.
   * @throws AppError `content_not_found`, `content_unavailable`
   */
  async open(task: Task, request: VendorFileRequest): Promise<OutboundResponse> {
    const upstream = await this.#dependencies.upstreams.find(task);
    const response = await this.#fetch(task, upstream, request);
    if (!isGone(response.status)) return checked(response, request);
    response.body.destroy();
    return this.#openWithFreshUrl(task, request);
  }

  /** The same without a fresh URL, for a task whose vendor has just been polled. */
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

  /** A public URL needs no channel: that may have been removed, or have stayed behind when the video was imported. */
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

  /** A vendor's own host may lead to a storage host, which gets neither the credentials nor the trust. */
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

/** The URL in an answer that names the file in place of being it. @throws PollFailed where it names none */
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
  const address = bytes > MAX_JSON_BYTES ? undefined : addressIn(readJson(Buffer.concat(chunks)));
  if (address === undefined) throw new PollFailed('the upstream answered with JSON that names no video');
  return address;
}

function readJson(bytes: Buffer): unknown {
  try {
    return parseJson(bytes);
  } catch (error) {
    if (error instanceof JsonRejectedError) return undefined;
    throw error;
  }
}

const isGone = (status: number): boolean => status === 401 || status === 403 || status === 404 || status === 410;

/** The file host of a private channel may be at a private IP address. */
function extraHosts(
  upstream: VideoUpstream | undefined,
  url: string,
): Partial<Pick<UntrustedRequest, 'allowedPrivateHosts'>> {
  if (upstream?.account.private !== true) return {};
  const { hostname, port, protocol } = new URL(url);
  return { allowedPrivateHosts: [`${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`] };
}

/**
 * The response as that of a plain file. The bytes of a video decide, whatever the host says of their type and coding; a page is
 * refused here where a picture was asked for, and by the check of the bytes where a video was.
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

/** A page or a message in place of a picture, whatever its status says. */
const TEXT_TYPE = /^\s*(text\/|application\/(xhtml\+|problem\+)?(xml|json))/i;

/** The codings of HTTP. Hosts name others that are none (`aws-chunked`, `utf-8`, `binary`): the bytes are the file itself then. */
const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** Without its coding, unless the bytes are a video already. */
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

/** A coded file may become a thousand times larger. */
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

/** Also where a host sends 206 for the whole file and names no part. */
function isWholeRange(contentRange: string | undefined): boolean {
  const [, last, total] = /^bytes 0-(\d{1,15})\/(\d{1,15})$/.exec(contentRange ?? '') ?? [];
  return contentRange === undefined || (total !== undefined && Number(last) + 1 === Number(total));
}

const omit = (headers: OutboundResponse['headers'], name: string): OutboundResponse['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name));
