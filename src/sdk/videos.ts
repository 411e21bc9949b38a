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
  readonly id: string;
  readonly status: 'queued' | 'in_progress' | 'completed' | 'failed' | 'unknown';
  readonly progress: number;
  readonly model: string;
  readonly created_at: number;
  readonly metadata?: { readonly url?: string };
  readonly error?: { readonly message?: string; readonly code?: string } | null;
}

export type CreateVideoRequest = Static<typeof endpoints.GenerationBody>;

export type VideoQuote = EndpointPart<typeof quoteModelVideo, 'response'>;

export interface WaitOptions {
  readonly signal?: AbortSignal;
  /** For the whole wait; default 15 minutes. */
  readonly timeoutMs?: number;
  /** Between two polls; default as the service advises: 10 s, growing to 30 s; 1 s with the sandbox. */
  readonly intervalMs?: number;
  readonly onProgress?: (video: Video) => void;
  /** Called when a poll fails; waiting continues, since the task does. */
  readonly onPollError?: (error: ReelgateError) => void;
}

const FIRST_INTERVAL_MS = 10_000;
const LAST_INTERVAL_MS = 30_000;
const TIMEOUT_MS = 15 * 60_000;

/** Videos, with an `sk-` token or llm_token. */
export class Videos {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Starts a video. A lost response is requested again under the same Idempotency-Key, so that no second video is made. */
  async create(
    request: CreateVideoRequest,
    options: { readonly signal?: AbortSignal; readonly idempotencyKey?: string } = {},
  ): Promise<{ readonly id: string }> {
    const key = options.idempotencyKey ?? crypto.randomUUID();
    const response = await this.#transport.call(
      endpoints.submitGeneration,
      { body: request },
      { signal: options.signal, headers: { 'idempotency-key': key } },
    );
    const { id, task_id } = response as { readonly id?: string; readonly task_id?: string };
    const taskId = id ?? task_id;
    if (taskId === undefined)
      throw new ReelgateError('The response of the service has no task id.', { code: 'not_json' });
    return { id: taskId };
  }

  /** What a video would cost and how many can be made; nothing is started. */
  quote(request: CreateVideoRequest): Promise<VideoQuote> {
    return this.#transport.call(quoteModelVideo, { body: request });
  }

  async get(id: string, signal?: AbortSignal): Promise<Video> {
    return (await this.#transport.call(endpoints.getVideo, { params: { task_id: id } }, { signal })) as Video;
  }

  async list(
    query: { readonly after?: string; readonly limit?: number; readonly order?: 'asc' | 'desc' } = {},
  ): Promise<{ readonly data: Video[]; readonly has_more: boolean; readonly last_id: string | null }> {
    const { limit, ...rest } = query;
    const page = await this.#transport.call(endpoints.listVideos, {
      query: defined({ ...rest, limit: limit?.toString() }),
    });
    return page as typeof page & { data: Video[] };
  }

  /** What a video of this key cost, line by line. */
  receipt(id: string): Promise<ReceiptInfo> {
    return this.#transport.call(getVideoReceipt, { params: { task_id: id } });
  }

  async delete(id: string): Promise<void> {
    await this.#transport.call(endpoints.deleteVideo, { params: { task_id: id } });
  }

  async remix(id: string, prompt: string): Promise<{ readonly id: string }> {
    const response = await this.#transport.call(
      endpoints.remixVideo,
      { params: { task_id: id }, body: { prompt } },
      { headers: { 'idempotency-key': crypto.randomUUID() } },
    );
    const { id: own, task_id } = response as { readonly id?: string; readonly task_id?: string };
    return { id: own ?? task_id ?? '' };
  }

  /**
   * Polls until the video is done; a service that cannot be reached in between is tolerated.
   *
   * @throws ReelgateError `task_failed` with the vendor's reason; `timeout`, or the last poll's own error: the task continues
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
  async content(
    id: string,
    options: {
      readonly from?: number;
      readonly ifRange?: string;
      readonly variant?: string;
      readonly signal?: AbortSignal;
    } = {},
  ): Promise<Response> {
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

function toTimeoutError(id: string, last: Video | ReelgateError): ReelgateError {
  if (!(last instanceof ReelgateError))
    return new ReelgateError(`Still ${last.status} when the time to wait was over.`, { code: 'timeout', taskId: id });
  const { message, code, status, requestId } = last;
  return new ReelgateError(message, { code, status, requestId, taskId: id, cause: last });
}

export type ShareInfo = EndpointPart<typeof videoSharesEndpoints.listShares, 'response'>['data'][number];
export type NewShare = EndpointPart<typeof videoSharesEndpoints.createShare, 'body'>;
export type CreatedShare = EndpointPart<typeof videoSharesEndpoints.createShare, 'response'>['data'];

/** Links by which anybody who has one can watch a video of the account. */
export class Shares {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Makes a link to a finished video. Without options it lasts as long as the video and needs no password. */
  async create(videoId: string, options: NewShare = {}): Promise<CreatedShare> {
    const params = { task_id: videoId };
    return (await this.#transport.call(videoSharesEndpoints.createShare, { params, body: options })).data;
  }

  /** All links that work, newest first; of one video or of all. */
  async list(videoId?: string): Promise<ShareInfo[]> {
    if (videoId === undefined)
      return fetchAllPages((query) => this.#transport.call(videoSharesEndpoints.listShares, { query }));
    return (await this.#transport.call(videoSharesEndpoints.listVideoShares, { params: { task_id: videoId } })).data;
  }

  /** Ends a link at once. */
  async remove(videoId: string, id: number): Promise<void> {
    await this.#transport.call(videoSharesEndpoints.deleteShare, { params: { task_id: videoId, id: String(id) } });
  }
}
