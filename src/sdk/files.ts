import type * as purposes from '../contract/file-purposes.ts';
import * as endpoints from '../contract/files.ts';
import { defined } from '../contract/objects.ts';
import { parseErrorResponse, ReelgateError } from './errors.ts';
import type { Transport } from './transport.ts';

/** What a file is for: media of videos and chat, or the lines of a batch. */
export type FilePurpose = purposes.FilePurpose;

/** An uploaded file; times in Unix seconds. */
export type FileInfo = endpoints.FileObject;

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
    signal?: AbortSignal,
  ): Promise<FileInfo> {
    const form = new FormData();
    form.set('purpose', purpose);
    if (expiresAfterSeconds !== undefined) {
      form.set('expires_after[anchor]', 'created_at');
      form.set('expires_after[seconds]', String(expiresAfterSeconds));
    }
    form.set('file', content, filename);
    return this.#transport.call(endpoints.uploadFile, { body: { purpose } }, { form, signal });
  }

  /** One page of the account's files. @throws ReelgateError `invalid_api_key` */
  list({ limit, ...query }: FileQuery = {}): Promise<FilePage> {
    return this.#transport.call(endpoints.listFiles, { query: defined({ ...query, limit: limit?.toString() }) });
  }

  /** A file without its content. @throws ReelgateError `file_not_found` */
  get(id: string): Promise<FileInfo> {
    return this.#transport.call(endpoints.getFile, { params: { file_id: id } });
  }

  /** The content of a file as a response that is still to be read. @throws ReelgateError `file_not_found` */
  async content(id: string, signal?: AbortSignal): Promise<Response> {
    const response = await this.#transport.send(endpoints.getFileContent, { params: { file_id: id } }, { signal });
    if (response.ok) return response;
    const body: unknown = await response.json().catch(() => undefined);
    throw (
      parseErrorResponse(response.status, response.headers, body) ??
      new ReelgateError('The file could not be fetched.', { status: response.status })
    );
  }

  /** Deletes a file; open downloads of it end. @throws ReelgateError `file_not_found` */
  async delete(id: string): Promise<void> {
    await this.#transport.call(endpoints.deleteFile, { params: { file_id: id } });
  }
}
