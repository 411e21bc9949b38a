import { finished, type Readable } from 'node:stream';
import type { ArtifactReader } from '../../artifacts/artifact-reader.ts';
import { AppError } from '../../platform/app-error.ts';
import { verifyPartialContent, verifyVideoBody } from '../../platform/media.ts';
import type { OutboundResponse } from '../../platform/outbound/outbound.ts';
import type { Task } from '../task-store.ts';
import type { VideoUpstreams } from '../video-upstream-types.ts';
import type { DownloadSlots } from './download-slots.ts';
import type { UrlRefresher } from './url-refresher.ts';
import type { VendorFiles } from './vendor-files.ts';

export interface ContentRequest {
  /** One `bytes=` range as the caller sent it; others are ignored, as RFC 9110 section 14.2 permits. */
  readonly range?: string | undefined;
  readonly ifRange?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly variant?: string | undefined;
  /** The proxy of this request sends stored files by itself. */
  readonly acceptsPath?: boolean | undefined;
  /** Registers what the download ends with: its credential, or the link it was opened by. Returns what undoes it. */
  readonly watchAccess: (onEnd: () => void) => () => void;
  /** Whose share of the concurrent downloads it takes; default the owner's. */
  readonly slotKey?: string | undefined;
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
export const CONTENT_HEADERS = {
  'cache-control': 'private, max-age=86400',
  vary: 'Authorization',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
} as const;

export interface ContentDeliveryDependencies {
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
