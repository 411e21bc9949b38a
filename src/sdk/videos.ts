import type { Static } from 'typebox';
import type { EndpointPart } from '../contract/endpoint.ts';
import { defined } from '../contract/objects.ts';
import { quoteModelVideo } from '../contract/own-videos.ts';
import { getVideoReceipt } from '../contract/receipts.ts';
import * as service from '../contract/service.ts';
import * as endpoints from '../contract/video.ts';
import * as videoSharesEndpoints from '../contract/video-shares.ts';
import { parseErrorResponse, ReelgateError } from './errors.ts';
import type { ReceiptInfo } from './requests.ts';
import { fetchAllPages, sleep, type Transport } from './transport.ts';

/** An OpenAI-style video object; which keys exist varies by vendor. */
export interface Video {
  /** Id of the task. */
  readonly id: string;
  /** `completed` and `failed` are final. */
  readonly status: 'queued' | 'in_progress' | 'completed' | 'failed' | 'unknown';
  /** Percent, 0 to 100. */
  readonly progress: number;
  /** Id of the model. */
  readonly model: string;
  /** When the video was requested; Unix seconds. */
  readonly created_at: number;
  /** Where the file is, once there is one. */
  readonly metadata?: {
    /** URL of the file; valid for a limited time. */
    readonly url?: string;
  };
  /** Why a failed video failed. */
  readonly error?: {
    /** The vendor's reason. */
    readonly message?: string;
    /** Code of the reason. */
    readonly code?: string;
  } | null;
}

/** Model, prompt and options of a video; which options exist depends on the model. */
export type CreateVideoRequest = Static<typeof endpoints.GenerationBody>;

/** What a video would cost, in quota units. */
export type VideoQuote = EndpointPart<typeof quoteModelVideo, 'response'>;

/** Options of waiting for a video. */
export interface WaitOptions {
  /** Ends the wait; the task continues. */
  readonly signal?: AbortSignal;
  /** Milliseconds of the whole wait; default 15 minutes. */
  readonly timeoutMs?: number;
  /** Milliseconds between two polls; default as the service advises: 10 s, growing to 30 s; 1 s with the sandbox. */
  readonly intervalMs?: number;
  /** Called with the state of the video after each poll. */
  readonly onProgress?: (video: Video) => void;
  /** Called when a poll fails; waiting continues, since the task does. */
  readonly onPollError?: (error: ReelgateError) => void;
}

const FIRST_INTERVAL_MS = 10_000;
const LAST_INTERVAL_MS = 30_000;
const TIMEOUT_MS = 15 * 60_000;

/** Options of starting a video. */
export interface CreateOptions {
  /** Aborts the request; a video that was started by then continues. */
  readonly signal?: AbortSignal;
  /** Requests with the same key start one video; default: a new key. */
  readonly idempotencyKey?: string;
}

/** A video that was started. */
export interface StartedVideo {
  /** Id of the task, for `get` and `wait`. */
  readonly id: string;
}

/** Which videos to list. */
export interface VideoQuery {
  /** `last_id` of the page before. */
  readonly after?: string;
  /** Rows of the page, at most 100; default 20. */
  readonly limit?: number;
  /** By time of the request; default `desc`: newest first. */
  readonly order?: 'asc' | 'desc';
}

/** A page of videos. */
export interface VideoPage {
  /** The videos. */
  readonly data: Video[];
  /** Whether another page follows. */
  readonly has_more: boolean;
  /** Id of the last video; null for an empty page. */
  readonly last_id: string | null;
}

/** Which bytes of a file to fetch. */
export interface ContentOptions {
  /** Offset of the first byte; default 0. */
  readonly from?: number;
  /** ETag of the part fetched before: the whole file is sent where the file has changed since. */
  readonly ifRange?: string;
  /** `video` (default), `thumbnail` or another rendition the vendor has. */
  readonly variant?: string;
  /** Aborts the request, and the download of its response. */
  readonly signal?: AbortSignal;
}

/** Videos, with an `sk-` token or llm_token. */
export class Videos {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Starts a video. A lost response is requested again under the same Idempotency-Key, so that no second video is
   * generated.
   *
   * @returns the id to wait for
   * @throws ReelgateError `quota_not_enough`, `model_not_found`, `invalid_request`, `upstream_refused`, …
   */
  async create(request: CreateVideoRequest, options: CreateOptions = {}): Promise<StartedVideo> {
    const key = options.idempotencyKey ?? crypto.randomUUID();
    const response = await this.#transport.call(
      endpoints.submitGeneration,
      { body: request },
      { signal: options.signal, headers: { 'idempotency-key': key } },
    );
    return { id: readTaskId(response) };
  }

  /**
   * What a video would cost and how many the account can pay for; nothing is started.
   *
   * @throws ReelgateError as `create` does
   */
  quote(request: CreateVideoRequest): Promise<VideoQuote> {
    return this.#transport.call(quoteModelVideo, { body: request });
  }

  /** State of a video. @throws ReelgateError `task_not_exist` */
  async get(id: string, signal?: AbortSignal): Promise<Video> {
    return (await this.#transport.call(endpoints.getVideo, { params: { task_id: id } }, { signal })) as Video;
  }

  /** One page of the key's videos. @throws ReelgateError `invalid_api_key` */
  async list(query: VideoQuery = {}): Promise<VideoPage> {
    const { limit, ...rest } = query;
    const page = await this.#transport.call(endpoints.listVideos, {
      query: defined({ ...rest, limit: limit?.toString() }),
    });
    return page as typeof page & { data: Video[] };
  }

  /** What a video of this key cost, line by line. @throws ReelgateError `not_exist` */
  receipt(id: string): Promise<ReceiptInfo> {
    return this.#transport.call(getVideoReceipt, { params: { task_id: id } });
  }

  /** Removes a finished video and its stored file. @throws ReelgateError `task_not_exist`, `task_not_completed` */
  async delete(id: string): Promise<void> {
    await this.#transport.call(endpoints.deleteVideo, { params: { task_id: id } });
  }

  /**
   * Starts a new version of a finished video.
   *
   * @throws ReelgateError `task_not_exist`, `quota_not_enough`, `invalid_request` where the vendor has no remix
   */
  async remix(id: string, prompt: string): Promise<StartedVideo> {
    const response = await this.#transport.call(
      endpoints.remixVideo,
      { params: { task_id: id }, body: { prompt } },
      { headers: { 'idempotency-key': crypto.randomUUID() } },
    );
    return { id: readTaskId(response) };
  }

  /**
   * Polls until the video is done; a service that cannot be reached in between is tolerated.
   *
   * @throws ReelgateError `task_failed` with the vendor's reason; `timeout`, or the last poll's own error: the task
   * continues
   *   then, and can be waited for again by its id
   */
  async wait(id: string, options: WaitOptions = {}): Promise<Video> {
    const deadline = Date.now() + (options.timeoutMs ?? TIMEOUT_MS);
    const first = options.intervalMs ?? (await this.#advisedIntervalMs()) ?? FIRST_INTERVAL_MS;
    for (let polls = 1; ; polls += 1) {
      const video = await this.#poll(id, options);
      if (video instanceof ReelgateError) options.onPollError?.(video);
      else {
        options.onProgress?.(video);
        if (video.status === 'completed') return video;
        if (video.status === 'failed')
          throw new ReelgateError(video.error?.message ?? 'The video failed; no reason was given.', {
            code: 'task_failed',
            status: 200,
            taskId: id,
          });
      }
      // A video that takes long is polled less often.
      const interval = options.intervalMs ?? Math.min(LAST_INTERVAL_MS, first * (polls > 12 ? 3 : polls > 6 ? 1.5 : 1));
      if (Date.now() + interval > deadline) throw toTimeoutError(id, video);
      await sleep(interval, options.signal);
    }
  }

  /** The response with the file, complete or from an offset. @throws ReelgateError when there is no file */
  async content(id: string, options: ContentOptions = {}): Promise<Response> {
    const headers = defined({
      range: options.from ? `bytes=${options.from}-` : undefined,
      'if-range': options.ifRange,
    });
    const query = defined({ variant: options.variant });
    const response = await this.#transport.send(
      endpoints.getContent,
      { params: { task_id: id }, query },
      { signal: options.signal, headers },
    );
    if (response.ok || response.status === 416) return response;
    throw (
      parseErrorResponse(response.status, response.headers, await response.json().catch(() => undefined)) ??
      new ReelgateError('The video could not be fetched.', { status: response.status })
    );
  }

  /** The video, or the error of this poll when a later one may succeed. @throws any other error */
  #poll(id: string, { signal }: WaitOptions): Promise<Video | ReelgateError> {
    return this.get(id, signal).catch((error: unknown) => {
      if (error instanceof ReelgateError && error.isTransient) return error;
      throw error;
    });
  }

  async #advisedIntervalMs(): Promise<number | undefined> {
    const { data } = await this.#transport.call(service.getStatus, {});
    return data.sandbox ? 1_000 : undefined;
  }
}

/** @throws ReelgateError `not_json` for a response that names no task */
function readTaskId(response: unknown): string {
  const { id, task_id } = response as { readonly id?: string; readonly task_id?: string };
  const taskId = id ?? task_id;
  if (taskId === undefined)
    throw new ReelgateError('The response of the service has no task id.', { code: 'not_json' });
  return taskId;
}

function toTimeoutError(id: string, last: Video | ReelgateError): ReelgateError {
  if (!(last instanceof ReelgateError))
    return new ReelgateError(`Still ${last.status} when the time to wait was over.`, { code: 'timeout', taskId: id });
  const { message, code, status, requestId } = last;
  return new ReelgateError(message, { code, status, requestId, taskId: id, cause: last });
}

/** A link by which anyone can watch a video. */
export type ShareInfo = EndpointPart<typeof videoSharesEndpoints.listShares, 'response'>['data'][number];
/** Lifetime and password of a link. */
export type NewShare = EndpointPart<typeof videoSharesEndpoints.createShare, 'body'>;
/** A link that was just created, with its URL. */
export type CreatedShare = EndpointPart<typeof videoSharesEndpoints.createShare, 'response'>['data'];

/** Links by which anybody who has one can watch a video of the account. */
export class Shares {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Makes a link to a finished video. Without options it lasts as long as the video and needs no password.
   *
   * @throws ReelgateError `task_not_exist`, `task_not_completed`
   */
  async create(videoId: string, options: NewShare = {}): Promise<CreatedShare> {
    const params = { task_id: videoId };
    return (await this.#transport.call(videoSharesEndpoints.createShare, { params, body: options })).data;
  }

  /** All links that work, newest first; of one video or of all. @throws ReelgateError `task_not_exist` */
  async list(videoId?: string): Promise<ShareInfo[]> {
    if (videoId === undefined)
      return fetchAllPages((query) => this.#transport.call(videoSharesEndpoints.listShares, { query }));
    return (await this.#transport.call(videoSharesEndpoints.listVideoShares, { params: { task_id: videoId } })).data;
  }

  /** Ends a link at once. @throws ReelgateError `not_exist` */
  async remove(videoId: string, id: number): Promise<void> {
    await this.#transport.call(videoSharesEndpoints.deleteShare, { params: { task_id: videoId, id: String(id) } });
  }
}
