import type { BatchEndpoint } from '../contract/batch-endpoints.ts';
import * as endpoints from '../contract/batches.ts';
import type * as purposes from '../contract/file-purposes.ts';
import * as fileEndpoints from '../contract/files.ts';
import { isOutage, ReelgateError, throwForStatus } from './errors.ts';
import { type CallOptions, sleep, type Transport } from './transport.ts';

/** A batch; times in Unix seconds, amounts in quota. */
export type BatchInfo = endpoints.Batch;
/** A checked sheet with its quote. */
export type SheetInfo = endpoints.Sheet;
/** A sheet of videos as CSV. */
export type NewSheet = endpoints.NewSheet;
/** A line of a batch. */
export type BatchLineInfo = endpoints.BatchLine;

/** A batch to start. */
export interface NewBatch {
  /** Id of a JSONL file with the purpose `batch`. */
  readonly inputFileId: string;
  /** The endpoint that every line calls. */
  readonly endpoint: BatchEndpoint;
  /** From `1h` to `168h`; default `24h`. */
  readonly completionWindow?: string;
  /** Most quota that the lines may cost together. */
  readonly budget?: number;
  /** At most 16 texts. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A page of batches. */
export interface BatchPage {
  /** Batches of the page. */
  readonly data: BatchInfo[];
  /** Whether another page follows. */
  readonly has_more: boolean;
  /** Id of the last batch; null for an empty page. */
  readonly last_id: string | null;
}

/** A page of lines. */
export interface BatchLinePage {
  /** Lines of the page. */
  readonly lines: BatchLineInfo[];
  /** For `after` of the next page; null: there is none. */
  readonly next: string | null;
}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'expired', 'cancelled']);
const DEFAULT_INTERVAL_MS = 5_000;

/** Options of waiting for a batch. */
export interface BatchWaitOptions {
  /** Stops waiting; the batch continues. */
  readonly signal?: AbortSignal;
  /** Milliseconds between two polls; default 5 seconds. */
  readonly intervalMs?: number;
  /** Called with the batch's state after each poll. */
  readonly onProgress?: (batch: BatchInfo) => void;
  /** Called when a poll fails; waiting continues because the batch does. */
  readonly onPollError?: (error: ReelgateError) => void;
}

/** Which page of the batches. */
export interface BatchListOptions {
  /** Id of the last batch of the page before. */
  readonly after?: string;
  /** How many, from 1 to 100; default 20. */
  readonly limit?: number;
}

/** Batches of requests; every key of the account sees them. */
export class Batches {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Starts a batch. @throws ReelgateError `invalid_request`, `file_not_found`, `batches_full` */
  create({ inputFileId, endpoint, completionWindow, budget, metadata }: NewBatch): Promise<BatchInfo> {
    const body = {
      input_file_id: inputFileId,
      endpoint,
      completion_window: completionWindow,
      budget,
      metadata: metadata && { ...metadata },
    };
    return this.#transport.call(endpoints.createBatch, { body });
  }

  /** One page of the account's batches, newest first. @throws ReelgateError `invalid_api_key` */
  list({ after, limit }: BatchListOptions = {}): Promise<BatchPage> {
    return this.#transport.call(endpoints.listBatches, { query: { after, limit: limit?.toString() } });
  }

  /** The current state of a batch. @throws ReelgateError `batch_not_found` */
  get(id: string): Promise<BatchInfo> {
    return this.#transport.call(endpoints.getBatch, { params: { batch_id: id } });
  }

  /**
   * Resolves with the batch once it has ended. After the first read a temporarily unreachable service is tolerated.
   *
   * @throws ReelgateError `batch_not_found`
   */
  async wait(id: string, options: BatchWaitOptions = {}): Promise<BatchInfo> {
    const { intervalMs = DEFAULT_INTERVAL_MS, onProgress, onPollError, signal } = options;
    let wasRead = false;
    for (;;) {
      const read = this.#transport.call(endpoints.getBatch, { params: { batch_id: id } }, { signal });
      const batch = await read.catch((error: unknown) => {
        if (wasRead && error instanceof ReelgateError && isOutage(error)) return error;
        throw error;
      });
      if (batch instanceof ReelgateError) onPollError?.(batch);
      else {
        wasRead = true;
        onProgress?.(batch);
        if (ENDED.has(batch.status)) return batch;
      }
      await sleep(intervalMs, signal);
    }
  }

  /** Starts no new line and refunds waiting videos. @throws ReelgateError `batch_not_found`, `batch_not_running` */
  cancel(id: string): Promise<BatchInfo> {
    return this.#transport.call(endpoints.cancelBatch, { params: { batch_id: id }, body: {} });
  }

  /** Starts no new line until `resume`. @throws ReelgateError `batch_not_found`, `batch_not_running` */
  pause(id: string): Promise<BatchInfo> {
    return this.#transport.call(endpoints.pauseBatch, { params: { batch_id: id }, body: {} });
  }

  /** Resumes a paused batch. @throws ReelgateError `batch_not_found`, `batch_not_running` */
  resume(id: string): Promise<BatchInfo> {
    return this.#transport.call(endpoints.resumeBatch, { params: { batch_id: id }, body: {} });
  }

  /**
   * Repeats the failed lines of an ended batch as a new one.
   *
   * @throws ReelgateError `batch_not_ended`, `batch_without_failures`
   */
  retry(id: string): Promise<BatchInfo> {
    return this.#transport.call(endpoints.retryBatch, { params: { batch_id: id }, body: {} });
  }

  /**
   * Checks and prices a sheet of videos; `start: true` starts it if every row is valid.
   *
   * @throws ReelgateError `invalid_request`
   */
  async checkSheet(sheet: NewSheet): Promise<SheetInfo> {
    return (await this.#transport.call(endpoints.createSheetBatch, { body: sheet })).data;
  }

  /** Lines of a batch in order, as its owner. @throws ReelgateError `refused` (batch_not_found) */
  async lines(id: string, after?: string): Promise<BatchLinePage> {
    const input = { params: { batch_id: id }, query: { after } };
    return (await this.#transport.call(endpoints.listOwnBatchLines, input)).data;
  }

  /**
   * Results of a batch as CSV, as its owner; the response is still to be read.
   *
   * @throws ReelgateError `refused` (batch_not_found)
   */
  async results(id: string, options: CallOptions = {}): Promise<Response> {
    return throwForStatus(await this.#transport.send(endpoints.exportOwnBatch, { params: { batch_id: id } }, options));
  }
}

/** What a file is for: media of videos and chat, or the lines of a batch. */
export type FilePurpose = purposes.FilePurpose;

/** An uploaded file; times in Unix seconds. */
export type FileInfo = fileEndpoints.FileObject;

/** A file to upload. */
export interface NewFile {
  /** Content: an image, a video, a sound, or JSONL. */
  readonly content: Blob;
  /** Name to show; default `file`. */
  readonly filename?: string;
  /** What it is for. */
  readonly purpose: FilePurpose;
  /** Seconds until the file is deleted, 3,600 to 2,592,000; default 30 days. */
  readonly expiresAfterSeconds?: number;
}

/** Purpose, cursor and order of the list of files. */
export interface FileQuery {
  /** Only files of this purpose. */
  readonly purpose?: FilePurpose;
  /** `last_id` of the previous page. */
  readonly after?: string;
  /** Rows per page, at most 10,000; default 100. */
  readonly limit?: number;
  /** By upload time; default `desc`: newest first. */
  readonly order?: 'asc' | 'desc';
}

/** A page of files. */
export interface FilePage {
  /** Files of the page. */
  readonly data: FileInfo[];
  /** Whether another page follows. */
  readonly has_more: boolean;
  /** Id of the last file; null for an empty page. */
  readonly last_id: string | null;
}

/** Uploaded files of the account, as inputs of videos; every key of the account sees them. */
export class Files {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Uploads a file. @throws ReelgateError `invalid_request`, `storage_full`, `files_full`, `files_disabled` */
  create(
    { content, filename = 'file', purpose, expiresAfterSeconds }: NewFile,
    options: CallOptions = {},
  ): Promise<FileInfo> {
    const form = new FormData();
    form.set('purpose', purpose);
    if (expiresAfterSeconds !== undefined) {
      form.set('expires_after[anchor]', 'created_at');
      form.set('expires_after[seconds]', String(expiresAfterSeconds));
    }
    form.set('file', content, filename);
    return this.#transport.call(fileEndpoints.uploadFile, { body: { purpose } }, { ...options, form });
  }

  /** One page of the account's files. @throws ReelgateError `invalid_api_key` */
  list({ limit, ...query }: FileQuery = {}): Promise<FilePage> {
    return this.#transport.call(fileEndpoints.listFiles, { query: { ...query, limit: limit?.toString() } });
  }

  /** A file without its content. @throws ReelgateError `file_not_found` */
  get(id: string): Promise<FileInfo> {
    return this.#transport.call(fileEndpoints.getFile, { params: { file_id: id } });
  }

  /** The content of a file as a response that is still to be read. @throws ReelgateError `file_not_found` */
  async content(id: string, options: CallOptions = {}): Promise<Response> {
    return throwForStatus(
      await this.#transport.send(fileEndpoints.getFileContent, { params: { file_id: id } }, options),
    );
  }

  /** Deletes a file; open downloads of it end. @throws ReelgateError `file_not_found` */
  async delete(id: string): Promise<void> {
    await this.#transport.call(fileEndpoints.deleteFile, { params: { file_id: id } });
  }
}
