import type { Static } from 'typebox';
import * as service from '../contract/service.ts';
import * as lines from '../contract/video.ts';
import { ReelgateError, readFailure } from './errors.ts';
import { pause, type Transport } from './transport.ts';

/** An OpenAI-style video object, read leniently: which keys exist varies by vendor. */
export interface Video {
  readonly id: string;
  readonly status: 'queued' | 'in_progress' | 'completed' | 'failed' | 'unknown';
  readonly progress: number;
  readonly model: string;
  readonly created_at: number;
  readonly metadata?: { readonly url?: string };
  readonly error?: { readonly message?: string; readonly code?: string } | null;
}

export type CreateVideo = Static<typeof lines.GenerationBody>;

export interface WaitOptions {
  readonly signal?: AbortSignal;
  /** The whole wait; default 15 minutes. */
  readonly timeoutMs?: number;
  /** Between two looks; default by the service's advice: 10 s, up to 30 s later, 1 s on a sandbox. */
  readonly intervalMs?: number;
  readonly onProgress?: (video: Video) => void;
  /** Called when a look got no answer; the wait goes on, since the task does. */
  readonly onTrouble?: (error: ReelgateError) => void;
}

const FIRST_INTERVAL_MS = 10_000;
const LAST_INTERVAL_MS = 30_000;
const TIMEOUT_MS = 15 * 60_000;

/** Videos by an `sk-` token or llm_token. */
export class Videos {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Starts a video. A lost answer is asked for again under the same Idempotency-Key, so that nothing is made twice. */
  async create(
    wish: CreateVideo,
    options: { readonly signal?: AbortSignal; readonly idempotencyKey?: string } = {},
  ): Promise<{ readonly id: string }> {
    const key = options.idempotencyKey ?? crypto.randomUUID();
    const answer = await this.#transport.call(
      lines.submitGeneration,
      { body: wish },
      { signal: options.signal, headers: { 'idempotency-key': key } },
    );
    const { id, task_id } = answer as { readonly id?: string; readonly task_id?: string };
    const found = id ?? task_id;
    if (found === undefined) throw new ReelgateError('The service named no task.', { code: 'not_json' });
    return { id: found };
  }

  async get(id: string, signal?: AbortSignal): Promise<Video> {
    return (await this.#transport.call(lines.getVideo, { params: { task_id: id } }, { signal })) as Video;
  }

  async list(
    query: { readonly after?: string; readonly limit?: number; readonly order?: 'asc' | 'desc' } = {},
  ): Promise<{ readonly data: Video[]; readonly has_more: boolean; readonly last_id: string | null }> {
    const { limit, ...rest } = query;
    const page = await this.#transport.call(lines.listVideos, {
      query: { ...rest, ...(limit === undefined ? {} : { limit: String(limit) }) },
    });
    return page as typeof page & { data: Video[] };
  }

  async delete(id: string): Promise<void> {
    await this.#transport.call(lines.deleteVideo, { params: { task_id: id } });
  }

  async remix(id: string, prompt: string): Promise<{ readonly id: string }> {
    const answer = await this.#transport.call(
      lines.remixVideo,
      { params: { task_id: id }, body: { prompt } },
      { headers: { 'idempotency-key': crypto.randomUUID() } },
    );
    const { id: own, task_id } = answer as { readonly id?: string; readonly task_id?: string };
    return { id: own ?? task_id ?? '' };
  }

  /**
   * Looks until the video is done; a service that cannot be reached meanwhile ends nothing.
   *
   * @throws ReelgateError `task_failed` with the vendor's reason; `timeout`, or `network` when the last look got no answer: the
   *   task goes on then, and can be waited for again by its id
   */
  async wait(id: string, options: WaitOptions = {}): Promise<Video> {
    const deadline = Date.now() + (options.timeoutMs ?? TIMEOUT_MS);
    const first = options.intervalMs ?? (await this.#isSandbox()) ?? FIRST_INTERVAL_MS;
    for (let looks = 1; ; looks += 1) {
      const video = await this.#look(id, options);
      if (video instanceof ReelgateError) options.onTrouble?.(video);
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
      // After many looks without an end, looking less often loses nothing.
      const interval = options.intervalMs ?? Math.min(LAST_INTERVAL_MS, first * (looks > 12 ? 3 : looks > 6 ? 1.5 : 1));
      if (Date.now() + interval > deadline) throw toTimeout(id, video);
      await pause(interval, options.signal);
    }
  }

  /** The file's answer, whole or from a byte on; throws where there is none. */
  async content(
    id: string,
    options: {
      readonly from?: number;
      readonly ifRange?: string;
      readonly variant?: string;
      readonly signal?: AbortSignal;
    } = {},
  ): Promise<Response> {
    const headers = {
      ...(options.from === undefined || options.from === 0 ? {} : { range: `bytes=${options.from}-` }),
      ...(options.ifRange === undefined ? {} : { 'if-range': options.ifRange }),
    };
    const query = options.variant === undefined ? {} : { variant: options.variant };
    const response = await this.#transport.send(
      lines.getContent,
      { params: { task_id: id }, query },
      { signal: options.signal, headers },
    );
    if (response.ok || response.status === 416) return response;
    throw (
      readFailure(response.status, response.headers, await response.json().catch(() => undefined)) ??
      new ReelgateError('The video could not be fetched.', { status: response.status })
    );
  }

  /** The video, or why it could not be looked at this time; throws what another look would not mend. */
  #look(id: string, { signal }: WaitOptions): Promise<Video | ReelgateError> {
    return this.get(id, signal).catch((error: unknown) => {
      if (error instanceof ReelgateError && error.isPassing) return error;
      throw error;
    });
  }

  async #isSandbox(): Promise<number | undefined> {
    const { data } = await this.#transport.call(service.getStatus, {});
    return data.sandbox ? 1_000 : undefined;
  }
}

function toTimeout(id: string, last: Video | ReelgateError): ReelgateError {
  if (!(last instanceof ReelgateError))
    return new ReelgateError(`Still ${last.status} when the time to wait was over.`, { code: 'timeout', taskId: id });
  const { message, code, status, requestId } = last;
  return new ReelgateError(message, { code, status, requestId, taskId: id, cause: last });
}
