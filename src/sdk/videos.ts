import type { Static } from 'typebox';
import type { EndpointPart } from '../contract/endpoint.ts';
import { defined } from '../contract/objects.ts';
import * as collectionEndpoints from '../contract/own-videos.ts';
import { quoteModelVideo } from '../contract/own-videos.ts';
import { randomId } from '../contract/random-id.ts';
import { getVideoReceipt } from '../contract/request-log.ts';
import * as service from '../contract/service.ts';
import * as endpoints from '../contract/video.ts';
import { listVideoModels } from '../contract/video.ts';
import * as shareEndpoints from '../contract/video-shares.ts';
import { isOutage, ReelgateError, throwForStatus } from './errors.ts';
import type { ReceiptInfo } from './requests.ts';
import { type CallOptions, fetchAllPages, sleep, type Transport } from './transport.ts';

/** An OpenAI-style video object; its keys vary by vendor. */
export interface Video {
  /** Id of the task. */
  readonly id: string;
  /** `completed` and `failed` are final. */
  readonly status: 'queued' | 'in_progress' | 'completed' | 'failed' | 'unknown';
  /** Percent, 0 to 100. */
  readonly progress: number;
  /** Id of the model. */
  readonly model: string;
  /** Time of the request; Unix seconds. */
  readonly created_at: number;
  /** Description of the video; in lists, and where the vendor returns it. */
  readonly prompt?: string | null;
  /** Details of the file, once it exists. */
  readonly metadata?: {
    /** URL of the file; valid for a limited time. */
    readonly url?: string;
  };
  /** Reason of a failure. */
  readonly error?: {
    /** The vendor's explanation. */
    readonly message?: string;
    /** Error code. */
    readonly code?: string;
  } | null;
  /** Where the video stands while it waits for its start; absent otherwise. */
  readonly queue?: VideoQueuePosition;
}

/** The queue position of a video that waits for its start. */
export type VideoQueuePosition = Static<typeof endpoints.QueuePosition>;

/** Model, prompt and options of a video; the available options depend on the model. */
export type CreateVideoRequest = Static<typeof endpoints.GenerationBody>;

/** A model with its inputs, lengths, sizes, operations, parameters and price. */
export type VideoModelInfo = EndpointPart<typeof listVideoModels, 'response'>['data'][number];

/** Options of an edit or an extension. */
export interface ChangeOptions extends CreateOptions {
  /** Id of the model; default: the model of the video. */
  readonly model?: string;
  /** Length of an extension in seconds. */
  readonly seconds?: number;
}

/** Estimated cost of a video, in quota. */
export type VideoQuote = EndpointPart<typeof quoteModelVideo, 'response'>;

/** Options of waiting for a video. */
export interface WaitOptions {
  /** Stops waiting; the task continues. */
  readonly signal?: AbortSignal;
  /** Maximum waiting time in milliseconds; default 15 minutes. */
  readonly timeoutMs?: number;
  /** Milliseconds between two polls. Defaults to the service's advice: 10 s, growing to 30 s; 1 s with the sandbox. */
  readonly intervalMs?: number;
  /** Called with the video's state after each poll. */
  readonly onProgress?: (video: Video) => void;
  /** Called when a poll fails; waiting continues because the task does. */
  readonly onPollError?: (error: ReelgateError) => void;
}

const FIRST_INTERVAL_MS = 10_000;
const LAST_INTERVAL_MS = 30_000;
const TIMEOUT_MS = 15 * 60_000;

/** Options of starting a video. */
export interface CreateOptions {
  /** Aborts the request; a video already started continues. */
  readonly signal?: AbortSignal;
  /** Requests with the same key start a single video; default: a new key. */
  readonly idempotencyKey?: string;
}

/** A newly started video. */
export interface StartedVideo {
  /** Id of the task, for `get` and `wait`. */
  readonly id: string;
}

/** Cursor and order of the video list. */
export interface VideoQuery {
  /** `last_id` of the previous page. */
  readonly after?: string;
  /** Rows per page, at most 100; default 20. */
  readonly limit?: number;
  /** By request time; default `desc`: newest first. */
  readonly order?: 'asc' | 'desc';
}

/** A page of videos. */
export interface VideoPage {
  /** Videos of the page. */
  readonly data: Video[];
  /** Whether another page follows. */
  readonly has_more: boolean;
  /** Id of the last video; null for an empty page. */
  readonly last_id: string | null;
}

/** Byte range and rendition of a file. */
export interface ContentOptions {
  /** Offset of the first byte; default 0. */
  readonly from?: number;
  /** ETag of the part fetched earlier: the whole file is sent if it has changed since. */
  readonly ifRange?: string;
  /** `video` (default), `thumbnail` or another rendition offered by the vendor. */
  readonly variant?: string;
  /** Aborts the request, and the download of its response. */
  readonly signal?: AbortSignal;
}

/** Videos, generated with an `sk-` token or llm_token. */
export class Videos {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Starts a video. If the response is lost, the request is repeated with the same Idempotency-Key, so that no second
   * video is generated.
   *
   * @returns the id to wait for
   * @throws ReelgateError `quota_not_enough`, `model_not_found`, `invalid_request`, `upstream_refused`, …
   */
  async create(request: CreateVideoRequest, options: CreateOptions = {}): Promise<StartedVideo> {
    const key = options.idempotencyKey ?? randomId();
    const response = await this.#transport.call(
      endpoints.submitGeneration,
      { body: request },
      { signal: options.signal, headers: { 'idempotency-key': key } },
    );
    return { id: readTaskId(response) };
  }

  /**
   * Estimated cost of a video and the number the account can pay for; nothing is started.
   *
   * @throws ReelgateError as `create` does
   */
  quote(request: CreateVideoRequest): Promise<VideoQuote> {
    return this.#transport.call(quoteModelVideo, { body: request });
  }

  /** State of a video. @throws ReelgateError `task_not_exist` */
  async get(id: string, options: CallOptions = {}): Promise<Video> {
    return (await this.#transport.call(endpoints.getVideo, { params: { task_id: id }, query: {} }, options)) as Video;
  }

  /** One page of the key's videos. @throws ReelgateError `invalid_api_key` */
  async list(query: VideoQuery = {}): Promise<VideoPage> {
    const { limit, ...rest } = query;
    const page = await this.#transport.call(endpoints.listVideos, {
      query: { ...rest, limit: limit?.toString() },
    });
    return page as typeof page & { data: Video[] };
  }

  /** Cost of a video started with this key, line by line. @throws ReelgateError `not_exist` */
  receipt(id: string): Promise<ReceiptInfo> {
    return this.#transport.call(getVideoReceipt, { params: { task_id: id } });
  }

  /** Removes a finished video and its stored file. @throws ReelgateError `task_not_exist`, `task_not_completed` */
  async delete(id: string): Promise<void> {
    await this.#transport.call(endpoints.deleteVideo, { params: { task_id: id } });
  }

  /**
   * Cancels a video that waits for its start; its quota is refunded.
   *
   * @throws ReelgateError `task_not_exist`, `task_not_waiting`
   */
  async cancel(id: string): Promise<Video> {
    return (await this.#transport.call(endpoints.cancelVideo, { params: { task_id: id } })) as Video;
  }

  /**
   * Starts a new version of a finished video.
   *
   * @throws ReelgateError `task_not_exist`, `quota_not_enough`, `invalid_request` if the vendor has no remix
   */
  async remix(id: string, prompt: string): Promise<StartedVideo> {
    const response = await this.#transport.call(
      endpoints.remixVideo,
      { params: { task_id: id }, body: { prompt } },
      { headers: { 'idempotency-key': randomId() } },
    );
    return { id: readTaskId(response) };
  }

  /**
   * Starts an edit of a finished video or an uploaded file: a new video with the same length.
   *
   * @param id of a video or a file
   * @throws ReelgateError `task_not_exist`, `quota_not_enough`, `invalid_request` with the models that can
   */
  edit(id: string, prompt: string, options: ChangeOptions = {}): Promise<StartedVideo> {
    return this.#change(endpoints.editVideo, id, prompt, options);
  }

  /**
   * Starts a continuation of a finished video or an uploaded file.
   *
   * @param id of a video or a file
   * @throws ReelgateError `task_not_exist`, `quota_not_enough`, `invalid_request` with the models that can
   */
  extend(id: string, prompt: string, options: ChangeOptions = {}): Promise<StartedVideo> {
    return this.#change(endpoints.extendVideo, id, prompt, options);
  }

  async #change(
    change: typeof endpoints.editVideo | typeof endpoints.extendVideo,
    id: string,
    prompt: string,
    { signal, idempotencyKey = randomId(), model, seconds }: ChangeOptions,
  ): Promise<StartedVideo> {
    const body = { prompt, video: { id }, model, seconds };
    const headers = { 'idempotency-key': idempotencyKey };
    return { id: readTaskId(await this.#transport.call(change, { body }, { signal, headers })) };
  }

  /** Models the key may call, with everything a request to them may contain. @throws ReelgateError `invalid_api_key` */
  async models(): Promise<readonly VideoModelInfo[]> {
    return (await this.#transport.call(listVideoModels, {})).data;
  }

  /**
   * Polls until the video is finished, tolerating a temporarily unreachable service.
   *
   * @throws ReelgateError `task_failed` with the vendor's reason; `timeout`, or the last poll's own error: the task
   *   continues in both cases and can be awaited again by its id
   */
  async wait(id: string, options: WaitOptions = {}): Promise<Video> {
    // Uses the monotonic clock, so that changing the system time does not move the deadline.
    const deadline = performance.now() + (options.timeoutMs ?? TIMEOUT_MS);
    const first = options.intervalMs ?? (await this.#advisedIntervalMs(options.signal)) ?? FIRST_INTERVAL_MS;
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
      // Long-running videos are polled less often.
      const interval = options.intervalMs ?? Math.min(LAST_INTERVAL_MS, first * (polls > 12 ? 3 : polls > 6 ? 1.5 : 1));
      if (performance.now() + interval > deadline) throw toTimeoutError(id, video);
      await sleep(interval, options.signal);
    }
  }

  /**
   * Fetches the file, complete or from an offset. `Content-Disposition` names it with the extension of its media type.
   * @throws ReelgateError if there is no file
   */
  async content(id: string, options: ContentOptions = {}): Promise<Response> {
    const headers = defined({
      range: options.from ? `bytes=${options.from}-` : undefined,
      'if-range': options.ifRange,
    });
    const query = { variant: options.variant };
    const response = await this.#transport.send(
      endpoints.getContent,
      { params: { task_id: id }, query },
      { signal: options.signal, headers },
    );
    return response.status === 416 ? response : throwForStatus(response);
  }

  /** Returns the video, or the error of this poll if a later poll may succeed. @throws any other error */
  #poll(id: string, { signal }: WaitOptions): Promise<Video | ReelgateError> {
    return this.get(id, { signal }).catch((error: unknown) => {
      if (error instanceof ReelgateError && isOutage(error)) return error;
      throw error;
    });
  }

  /** Undefined also while the service cannot be reached: the video continues. */
  async #advisedIntervalMs(signal: AbortSignal | undefined): Promise<number | undefined> {
    try {
      const { data } = await this.#transport.call(service.getStatus, {}, { signal });
      return data.sandbox ? 1_000 : undefined;
    } catch (error) {
      if (error instanceof ReelgateError) return undefined;
      throw error;
    }
  }
}

/** @throws ReelgateError `not_json` if the response contains no task id */
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

/** A link with which anyone can watch a video. */
export type ShareInfo = EndpointPart<typeof shareEndpoints.listShares, 'response'>['data'][number];
/** Lifetime and password of a link. */
export type NewShare = EndpointPart<typeof shareEndpoints.createShare, 'body'>;
/** A newly created link with its URL. */
export type CreatedShare = EndpointPart<typeof shareEndpoints.createShare, 'response'>['data'];

/** Links with which anyone can watch a video of the account. */
export class Shares {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Creates a link to a finished video. By default the link lasts as long as the video and needs no password.
   *
   * @throws ReelgateError `refused` (task_not_exist, task_not_completed)
   */
  async create(videoId: string, options: NewShare = {}): Promise<CreatedShare> {
    const params = { task_id: videoId };
    return (await this.#transport.call(shareEndpoints.createShare, { params, body: options })).data;
  }

  /** Active links of one video or of all videos, newest first. @throws ReelgateError `refused` (task_not_exist) */
  async list(videoId?: string): Promise<ShareInfo[]> {
    if (videoId === undefined)
      return fetchAllPages((query) => this.#transport.call(shareEndpoints.listShares, { query }));
    return (await this.#transport.call(shareEndpoints.listVideoShares, { params: { task_id: videoId } })).data;
  }

  /** Revokes a link immediately. @throws ReelgateError `refused` (not_exist) */
  async revoke(videoId: string, id: number): Promise<void> {
    await this.#transport.call(shareEndpoints.deleteShare, { params: { task_id: videoId, id: String(id) } });
  }
}

/** A named group of the account's videos. */
export type CollectionInfo = collectionEndpoints.Collection;

/** Collections of the account's own videos. */
export class Collections {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * All collections, by name.
   * @param taskId a video; `contains` then says whether it is in the collection
   * @throws ReelgateError `unauthorized`
   */
  async list(taskId?: string): Promise<CollectionInfo[]> {
    return (await this.#transport.call(collectionEndpoints.listCollections, { query: { task_id: taskId } })).data;
  }

  /**
   * Creates an empty collection and returns its id.
   *
   * @throws ReelgateError `refused` (already_exists, collections_full)
   */
  async create(name: string): Promise<number> {
    return (await this.#transport.call(collectionEndpoints.createCollection, { body: { name } })).data.id;
  }

  /** Renames a collection. @throws ReelgateError `refused` (not_exist, already_exists) */
  async rename(id: number, name: string): Promise<void> {
    await this.#transport.call(collectionEndpoints.renameCollection, { params: { id: String(id) }, body: { name } });
  }

  /** Deletes a collection; its videos stay. @throws ReelgateError `refused` (not_exist) */
  async delete(id: number): Promise<void> {
    await this.#transport.call(collectionEndpoints.deleteCollection, { params: { id: String(id) } });
  }

  /** Adds up to 100 videos, all or none. @throws ReelgateError `refused` (not_exist) */
  async add(id: number, taskIds: readonly string[]): Promise<void> {
    await this.#transport.call(collectionEndpoints.addToCollection, {
      params: { id: String(id) },
      body: { task_ids: [...taskIds] },
    });
  }

  /** Removes up to 100 videos, which are not deleted. @throws ReelgateError `refused` (not_exist) */
  async remove(id: number, taskIds: readonly string[]): Promise<void> {
    await this.#transport.call(collectionEndpoints.removeFromCollection, {
      params: { id: String(id) },
      body: { task_ids: [...taskIds] },
    });
  }
}
