import { finished, Readable } from 'node:stream';
import { defined } from '../../contract/objects.ts';
import type { ArtifactReader } from '../artifacts/artifact-reader.ts';
import { AppError, isAppError } from '../platform/app-error.ts';
import { createClientIpResolver, createIpCheck } from '../platform/client-ip.ts';
import { KeyedCounter } from '../platform/concurrency.ts';
import type { RequestContext } from '../platform/http/route-registry.ts';
import { verifyPartialContent, verifyVideoBody } from '../platform/media.ts';
import type { OutboundResponse } from '../platform/outbound/outbound.ts';
import { type ConditionalRequest, evaluatePreconditions } from '../platform/preconditions.ts';
import { truncateCodePoints } from '../platform/text.ts';
import { createSigner, type Signer } from '../platform/tokens.ts';
import type { Task, VideoUpstreams } from './task-store.ts';
import type { UrlRefresher, VendorFiles } from './vendor-files.ts';

interface ContentRequest extends ConditionalRequest {
  /** A single `bytes=` range as sent by the caller; any other range is ignored, as RFC 9110 section 14.2 permits. */
  readonly range?: string;
  readonly ifRange?: string;
  readonly variant?: string;
  /** The proxy that forwarded this request can send stored files itself. */
  readonly acceptsPath?: boolean;
  /**
   * Calls `onEnd` when access is revoked: its credential, or the link it was opened by, ends. Returns a function that
   * unregisters the callback.
   */
  readonly watchAccess: (onEnd: () => void) => () => void;
  /** Key under which the concurrent downloads are counted; default: the owner. */
  readonly slotKey?: string;
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal;
}

/** The response of a video's file: status, headers and body. */
export interface Content {
  readonly status: 200 | 206 | 304 | 416;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
  /** Path of the file that the proxy sends instead of the body. */
  readonly path?: string;
}

/** Response headers of the file host that are forwarded; all others are dropped. */
const FORWARDED_HEADERS = ['content-length', 'content-range', 'accept-ranges', 'etag', 'last-modified'];
const SAFE_CONTENT_TYPE = /^(video\/[\w.+-]+|image\/(png|jpeg|webp|gif|avif)|application\/octet-stream)$/;

const VIDEO_TYPE = /^(video\/[\w.+-]+|application\/octet-stream)$/;

/** Sent with every file from another host, so that a browser never renders the file as a page of this origin. */
const CONTENT_HEADERS = {
  'cache-control': 'private, max-age=86400',
  vary: 'Authorization',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
} as const;

interface ContentDeliveryDependencies {
  readonly vendorFiles: VendorFiles;
  readonly storedFiles: ArtifactReader;
  readonly urlRefresher: UrlRefresher;
  readonly upstreams: VideoUpstreams;
  readonly downloadSlots: DownloadSlots;
}

/** Streams finished videos from the stored copy, or from the vendor if there is none, without buffering. */
export class ContentDelivery {
  readonly #dependencies: ContentDeliveryDependencies;
  constructor(dependencies: ContentDeliveryDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Opens a task's video and holds a download slot until the body has ended.
   * @throws AppError `task_not_completed`, `content_not_found`, `content_unavailable`, `unavailable`,
   * `rate_limit_exceeded`
   */
  async open(task: Task, request: ContentRequest): Promise<Content> {
    if (task.status !== 'SUCCESS') throw new AppError('task_not_completed', { params: { status: task.status } });
    const release = this.#dependencies.downloadSlots.acquire(request.slotKey ?? `user ${task.user_id}`);
    try {
      const content = await this.#find(task, request);
      const stopWatching = request.watchAccess(() => {
        content.body.destroy(new Error('access to this download was revoked'));
      });
      // Also called when the body fails before it is passed on.
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
    try {
      const stored = await this.#openStored(task, request);
      if (stored !== undefined) return { ...stored, headers: { ...stored.headers, ...CONTENT_HEADERS } };
    } catch (error) {
      if (!isAppError(error, 'unavailable')) throw error;
      // The storage is unreachable. A video that the vendor no longer has may still be there, so its error is reported.
      return this.#openAtVendor(task, request).catch((atVendor: unknown) => {
        throw isAppError(atVendor, 'content_not_found') || isAppError(atVendor, 'content_unavailable')
          ? error
          : atVendor;
      });
    }
    return this.#openAtVendor(task, request);
  }

  async #openStored({ id }: Task, request: ContentRequest) {
    const { storedFiles } = this.#dependencies;
    if (isOfVideo(request)) return storedFiles.open(id, request);
    return request.variant === 'thumbnail' ? storedFiles.openPoster(id, request) : undefined;
  }

  async #openAtVendor(task: Task, request: ContentRequest): Promise<Content> {
    const { vendorFiles, urlRefresher, upstreams } = this.#dependencies;
    const adapter = upstreams.adapterOf(task);
    if (request.variant === 'thumbnail' && adapter.hasCover !== true)
      throw new AppError('content_not_found', { message: 'This video has no poster yet.' });
    if (request.variant === 'spritesheet' && adapter.hasSpritesheet !== true)
      throw new AppError('content_not_found', { message: 'This video has no spritesheet.' });
    const response = await vendorFiles.open(await urlRefresher.withFreshUrl(task), request);
    if (response.status !== 416 && isUnchanged(response, request)) return toNotModified(response);
    return isOfVideo(request) ? toVideoContent(response) : toContent(checkedPart(response));
  }
}

/**
 * Closes the response if no file is sent.
 * @throws AppError `precondition_failed`
 */
function isUnchanged({ headers, body }: OutboundResponse, request: ContentRequest): boolean {
  const modifiedAt = Date.parse(headers['last-modified'] ?? '');
  const validators = { etag: headers.etag, modifiedAt: Number.isNaN(modifiedAt) ? undefined : modifiedAt };
  let outcome: 'send' | 'unchanged' | undefined;
  try {
    outcome = evaluatePreconditions(validators, request);
    return outcome === 'unchanged';
  } finally {
    if (outcome !== 'send') body.destroy();
  }
}

const toNotModified = ({ headers: { etag, 'last-modified': modified } }: OutboundResponse): Content => ({
  status: 304,
  headers: { ...defined({ etag, 'last-modified': modified }), ...CONTENT_HEADERS },
  body: Readable.from([]),
});

const isOfVideo = ({ variant }: ContentRequest): boolean => variant === undefined || variant === 'video';

/**
 * A vendor's video response, validated and with safe headers.
 * @throws AppError `content_unavailable`
 */
async function toVideoContent(response: OutboundResponse): Promise<Content> {
  if (response.status !== 200) return toContent(checkedPart(response), 'video/mp4');
  const verified = await verifyVideoBody(response.body);
  if (verified === undefined) throw new AppError('content_unavailable', { log: { isVideo: false } });
  const headers = { ...response.headers, 'content-type': verified.mimeType };
  return toContent({ ...response, headers, body: verified.body });
}

/** @throws AppError `content_unavailable` */
function checkedPart(response: OutboundResponse): OutboundResponse {
  if (response.status !== 206) return response;
  const part = verifyPartialContent(response);
  if (part === undefined) throw new AppError('content_unavailable', { log: { isPart: false } });
  return part;
}

/** @param videoType media type to send when the host declares a type that is no video type */
function toContent({ status, headers, body }: OutboundResponse, videoType?: string): Content {
  const named = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const type = videoType === undefined || VIDEO_TYPE.test(named) ? named : videoType;
  const isSafe = SAFE_CONTENT_TYPE.test(type);
  return {
    // The only statuses that VendorFiles returns.
    status: status as 200 | 206 | 416,
    headers: {
      ...Object.fromEntries(
        FORWARDED_HEADERS.flatMap((name) => {
          const value = headers[name];
          return value === undefined ? [] : [[name, value]];
        }),
      ),
      'content-type': isSafe ? type : 'application/octet-stream',
      ...(!isSafe && { 'content-disposition': 'attachment' }),
      ...CONTENT_HEADERS,
    },
    body,
  };
}

/** Extensions of saved files by media type. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  'video/mp4': 'mp4',
  'video/quicktime': 'mov',
  'video/webm': 'webm',
  'image/avif': 'avif',
  'image/gif': 'gif',
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
};
const MAX_NAME_LENGTH = 80;

/**
 * Names the file for a receiver that saves it (RFC 6266), with the extension of its media type.
 * @param name any text; its letters, their marks and digits are kept, joined by hyphens
 */
export function withFileName(content: Content, name: string): Content {
  const extension = EXTENSIONS[content.headers['content-type'] ?? ''];
  if (extension === undefined || content.status === 416) return content;
  const words = name.match(/[\p{L}\p{M}\p{N}_]+/gu) ?? ['video'];
  const file = `${truncateCodePoints(words.join('-'), MAX_NAME_LENGTH)}.${extension}`;
  // Receivers that do not know the second form get a name without the letters of other scripts.
  const plain = /^[\w.-]+$/.test(file) ? file : `video.${extension}`;
  const disposition = `inline; filename="${plain}"; filename*=UTF-8''${encodeURIComponent(file)}`;
  return { ...content, headers: { ...content.headers, 'content-disposition': disposition } };
}

/**
 * Maximum concurrent downloads per account and process. A script that fetches a day's videos may use fifty at a time;
 * the outbound client has 256 slots for responses of untrusted hosts, so fewer than four accounts cannot exhaust it.
 */
export const MAX_DOWNLOADS_EACH = 64;

/** A slot is released when any download ends: often at once, after a minute for a stalled one. */
const RETRY_SECONDS = 10;

/** Counts concurrent downloads per account or network, so that the slow clients of one leave slots for the others. */
export class DownloadSlots {
  readonly #inProgress = new KeyedCounter<string>();
  #size = 0;

  /** Number of downloads in progress. */
  get size(): number {
    return this.#size;
  }

  /**
   * @param key the account, or the network of an anonymous viewer
   * @returns a function that releases the slot; call it exactly once
   * @throws AppError `rate_limit_exceeded`
   */
  acquire(key: string): () => void {
    if (this.#inProgress.of(key) >= MAX_DOWNLOADS_EACH)
      throw new AppError('rate_limit_exceeded', {
        params: { seconds: RETRY_SECONDS },
        retryAfterSeconds: RETRY_SECONDS,
      });
    this.#inProgress.add(key, 1);
    this.#size += 1;
    return () => {
      this.#size -= 1;
      this.#inProgress.add(key, -1);
    };
  }
}

/** Lifetime of a link, milliseconds. */
const LINK_TTL_MS = 10 * 60_000;
/**
 * Links expire on whole minutes, so that a page loaded twice within a minute gets the same URL and the browser reuses
 * its cached file.
 */
const ROUNDING_MS = 60_000;

/** The task a link permits access to, and its expiry. */
interface PlayLink {
  readonly taskId: string;
  /** Unix milliseconds. */
  readonly expires: number;
  /** Identifies the credential that requested the link; see CredentialRevocationWatch. */
  readonly credential: string;
}

/** The credential of a link for a vendor that fetches the video as an input; no sign-in ends it. */
export const VENDOR_CREDENTIAL = 'v0';

/**
 * Short-lived links for playing a video in a browser, whose video element cannot send an Authorization header: an
 * HMAC-SHA256 over task, expiry and credential, under a key derived from MASTER_KEY (RFC 5869). A link permits GET of
 * this one task. Whether its credential is still valid is checked when the link is used.
 */
export class PlayLinks {
  readonly #signer: Signer;
  constructor(masterKey: Buffer) {
    this.#signer = createSigner(masterKey, 'play link');
  }

  /** @returns a path of this service */
  create(taskId: string, credential: string, nowMs: number): string {
    const expires = Math.ceil((nowMs + LINK_TTL_MS) / ROUNDING_MS) * ROUNDING_MS;
    const signature = this.#signer.sign(textOf({ taskId, expires, credential }));
    return `/play/${encodeURIComponent(taskId)}?${new URLSearchParams({ expires: String(expires), credential, signature })}`;
  }

  /** Whether this service issued the link and it has not expired. */
  verify(link: PlayLink, signature: string, nowMs: number): boolean {
    return (
      link.expires > nowMs &&
      link.expires <= nowMs + LINK_TTL_MS + ROUNDING_MS &&
      this.#signer.verify(textOf(link), signature)
    );
  }
}

const textOf = ({ taskId, expires, credential }: PlayLink): string => `GET\n${taskId}\n${expires}\n${credential}`;

/** nginx's internal location for stored files, defined in deploy/nginx.conf. */
const LOCATION = '/stored-videos/';
/** nginx derives these headers from the file and the request itself. */
const OF_NGINX = new Set(['content-length', 'content-range', 'accept-ranges']);
const peerOf = createClientIpResolver([]);

/**
 * Lets the nginx instance that forwarded a request send the stored file (`X-Accel-Redirect`) after the service has
 * authorized the caller. A transfer that nginx has started continues even if the credential is revoked.
 */
export class AccelRedirect {
  readonly #isProxy: (ip: string) => boolean;

  /** @param proxies IP addresses and CIDR ranges of nginx; if empty, the service sends every file itself */
  constructor(proxies: readonly string[]) {
    this.#isProxy = createIpCheck(proxies);
  }

  /**
   * Whether the sender of this request supports X-Accel-Redirect. Another program on nginx's host shares its address
   * but sends no X-Forwarded-For. nginx would compare If-Match with its own tag and time
   * of the file, so the service serves such requests.
   */
  accepts({ headers, socket }: Pick<RequestContext, 'headers' | 'socket'>): boolean {
    return (
      headers['x-forwarded-for'] !== undefined &&
      headers['if-match'] === undefined &&
      headers['if-unmodified-since'] === undefined &&
      this.#isProxy(peerOf({ headers, socket }))
    );
  }
}

/**
 * @param path path of the file below nginx's location
 * @param headers headers of the response if the service sent the file itself
 */
export function toAccelHeaders(path: string, headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => !OF_NGINX.has(name));
  // A length of 0 lets nginx keep its connection to the service open.
  return { ...Object.fromEntries(kept), 'x-accel-redirect': LOCATION + path, 'content-length': '0' };
}
