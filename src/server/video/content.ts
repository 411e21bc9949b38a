import { finished, type Readable } from 'node:stream';
import type { ArtifactReader } from '../artifacts/artifact-reader.ts';
import { AppError } from '../platform/app-error.ts';
import { createClientIpResolver, createIpCheck } from '../platform/client-ip.ts';
import type { RequestContext } from '../platform/http/request-context.ts';
import { verifyPartialContent, verifyVideoBody } from '../platform/media.ts';
import type { OutboundResponse } from '../platform/outbound/outbound.ts';
import { createSigner, type Signer } from '../platform/tokens.ts';
import type { Task, VideoUpstreams } from './task-store.ts';
import type { UrlRefresher, VendorFiles } from './vendor-files.ts';

interface ContentRequest {
  /** One `bytes=` range as the caller sent it; others are ignored, as RFC 9110 section 14.2 permits. */
  readonly range?: string;
  readonly ifRange?: string;
  readonly ifNoneMatch?: string;
  readonly variant?: string;
  /** The proxy of this request sends stored files by itself. */
  readonly acceptsPath?: boolean;
  /** Registers what the download ends with: its credential, or the link it was opened by. Returns what undoes it. */
  readonly watchAccess: (onEnd: () => void) => () => void;
  /** Whose share of the concurrent downloads it takes; default the owner's. */
  readonly slotKey?: string;
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal;
}

export interface Content {
  readonly status: 200 | 206 | 304 | 416;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
  /** Of the file that the proxy sends in place of the body. */
  readonly path?: string;
}

/** Headers of the file host that are forwarded; all others are left out. */
const FORWARDED_HEADERS = ['content-length', 'content-range', 'accept-ranges', 'etag', 'last-modified'];
const SAFE_CONTENT_TYPE = /^(video\/[\w.+-]+|image\/(png|jpeg|webp|gif|avif)|application\/octet-stream)$/;

const VIDEO_TYPE = /^(video\/[\w.+-]+|application\/octet-stream)$/;

/** Sent with every file of another host, so that a browser never runs it as a page of this origin. */
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

/** Streams finished videos: the stored copy where there is one, else from the vendor; nothing is buffered. */
export class ContentDelivery {
  readonly #dependencies: ContentDeliveryDependencies;
  constructor(dependencies: ContentDeliveryDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Opens a task's video. Takes a download slot until the body has ended.
   * @throws AppError `task_not_completed`, `content_not_found`, `content_unavailable`, `rate_limit_exceeded`
   */
  async open(task: Task, request: ContentRequest): Promise<Content> {
    if (task.status !== 'SUCCESS') throw new AppError('task_not_completed', { params: { status: task.status } });
    const release = this.#dependencies.downloadSlots.acquire(request.slotKey ?? `user ${task.user_id}`);
    try {
      const content = await this.#find(task, request);
      const stopWatching = request.watchAccess(() => {
        content.body.destroy(new Error('what permitted this download has ended'));
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
    const { vendorFiles, storedFiles, urlRefresher, upstreams } = this.#dependencies;
    const isVideo = request.variant === undefined || request.variant === 'video';
    const stored = await (isVideo
      ? storedFiles.open(task.id, request)
      : request.variant === 'thumbnail' && storedFiles.openPoster(task.id, request));
    if (stored) return { ...stored, headers: { ...stored.headers, ...CONTENT_HEADERS } };
    const adapter = upstreams.adapterOf(task);
    if (request.variant === 'thumbnail' && adapter.hasCover !== true)
      throw new AppError('content_not_found', { message: 'This video has no poster yet.' });
    if (request.variant === 'spritesheet' && adapter.hasSpritesheet !== true)
      throw new AppError('content_not_found', { message: 'This video has no spritesheet.' });
    const response = await vendorFiles.open(await urlRefresher.withFreshUrl(task), request);
    return isVideo ? toVideoContent(response) : toContent(checkedPart(response));
  }
}

/** A vendor's film as it may be passed on. @throws AppError `content_unavailable` */
async function toVideoContent(response: OutboundResponse): Promise<Content> {
  if (response.status !== 200) return toContent(checkedPart(response), 'video/mp4');
  const verified = await verifyVideoBody(response.body);
  if (verified === undefined) throw new AppError('content_unavailable', { log: { isVideo: false } });
  return toContent({ ...response, body: verified.body }, verified.mimeType);
}

/** @throws AppError `content_unavailable` */
function checkedPart(response: OutboundResponse): OutboundResponse {
  if (response.status !== 206) return response;
  const part = verifyPartialContent(response);
  if (part === undefined) throw new AppError('content_unavailable', { log: { isPart: false } });
  return part;
}

/** @param videoType what a film is sent as whose host names a type that films do not have */
function toContent({ status, headers, body }: OutboundResponse, videoType?: string): Content {
  const named = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const type = videoType === undefined || VIDEO_TYPE.test(named) ? named : videoType;
  const isSafe = SAFE_CONTENT_TYPE.test(type);
  return {
    // The statuses that VendorFiles lets pass.
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

/**
 * Concurrent downloads of one account in one process. A script that fetches a day's videos may use fifty at a time; the
 * outbound client has 256 slots for responses of untrusted hosts, so that fewer than four accounts cannot exhaust it.
 */
export const MAX_DOWNLOADS_EACH = 64;

/** A slot is released when any of the downloads ends, which may be at once or, for a stalled one, after a minute. */
const RETRY_SECONDS = 10;

/** Counts concurrent downloads by who makes them, so that the slow clients of one account or network leave slots to the others. */
export class DownloadSlots {
  readonly #underWay = new Map<string, number>();
  #size = 0;

  /** Downloads under way. */
  get size(): number {
    return this.#size;
  }

  /** @param key the account, or the network of a viewer. Returns the function that releases the slot, to be called once. @throws rate_limit_exceeded */
  acquire(key: string): () => void {
    const before = this.#underWay.get(key) ?? 0;
    if (before >= MAX_DOWNLOADS_EACH)
      throw new AppError('rate_limit_exceeded', {
        params: { seconds: RETRY_SECONDS },
        retryAfterSeconds: RETRY_SECONDS,
      });
    this.#underWay.set(key, before + 1);
    this.#size += 1;
    return () => {
      this.#size -= 1;
      const others = (this.#underWay.get(key) ?? 1) - 1;
      if (others === 0) this.#underWay.delete(key);
      else this.#underWay.set(key, others);
    };
  }
}

/** How long a link plays, milliseconds. */
const LINK_TTL_MS = 10 * 60_000;
/** Links end on whole minutes, so that a page that loads twice within one gets the same URL and the browser keeps its copy. */
const ROUNDING_MS = 60_000;

/** What a link permits, and until when. */
interface PlayLink {
  readonly taskId: string;
  /** Unix milliseconds. */
  readonly expires: number;
  /** Names the credential that asked for the link; see CredentialRevocationWatch. */
  readonly credential: string;
}

/**
 * Short-lived links for playing a video in a browser, whose video element cannot send an Authorization header: an HMAC-SHA256
 * over task, expiry and credential, under a key derived from MASTER_KEY (RFC 5869). A link permits GET of this one task. That
 * the credential still works is checked where the link is used.
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

  /** Whether the link was made by this service and has not expired. */
  verify(link: PlayLink, signature: string, nowMs: number): boolean {
    return (
      link.expires > nowMs &&
      link.expires <= nowMs + LINK_TTL_MS + ROUNDING_MS &&
      this.#signer.verify(textOf(link), signature)
    );
  }
}

const textOf = ({ taskId, expires, credential }: PlayLink): string => `GET\n${taskId}\n${expires}\n${credential}`;

/** nginx's internal location of the stored files, in deploy/nginx.conf. */
const LOCATION = '/stored-videos/';
/** nginx finds these for itself, from the file and the request. */
const OF_NGINX = new Set(['content-length', 'content-range', 'accept-ranges']);
const peerOf = createClientIpResolver([]);

/**
 * Leaves the sending of a stored file to the nginx that passed on the request (`X-Accel-Redirect`), once the service has
 * checked who asks. What nginx has begun to send does not end with the credential that permitted it.
 */
export class AccelRedirect {
  readonly #isProxy: (ip: string) => boolean;

  /** @param proxies IP addresses and CIDR ranges of nginx; none: the service sends all files itself */
  constructor(proxies: readonly string[]) {
    this.#isProxy = createIpCheck(proxies);
  }

  /**
   * Whether the sender of this request knows the header. A program beside nginx may have its address: it sends no
   * X-Forwarded-For. Conditions that the service leaves aside and nginx would not are answered by the service.
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

/** @param path of the file below nginx's location @param headers of the response if the service sent the file itself */
export function toAccelHeaders(path: string, headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => !OF_NGINX.has(name));
  // With a length of 0 nginx keeps the connection to the service open.
  return { ...Object.fromEntries(kept), 'x-accel-redirect': LOCATION + path, 'content-length': '0' };
}
