import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { AppError, isAppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { SingleFlight } from '../platform/concurrency.ts';
import type { Log } from '../platform/log.ts';
import { isSingleRange, resolveRange } from '../platform/media.ts';
import { type ConditionalRequest, evaluatePreconditions } from '../platform/preconditions.ts';
import type { CopiesUnderWay } from './artifact-copier.ts';
import type { ArtifactRow, ArtifactStore } from './artifact-store.ts';
import type { ArtifactFileStorage } from './file-storage.ts';
import { findProvenance, type Provenance } from './provenance.ts';

interface ArtifactReaderDependencies {
  readonly store: ArtifactStore;
  readonly copies: CopiesUnderWay;
  readonly clock: Clock;
  readonly log: Log;
  /** Undefined if copies are disabled. */
  readonly files: ArtifactFileStorage | undefined;
}

interface OpenFile extends FileResponse {
  readonly body: Readable;
  /** Path, below the base directory, of the file that the reader sends instead of the body. */
  readonly path?: string;
}

interface OpenRequest extends FileRequest {
  /** The reader (a proxy) can send a local file itself, whole or the range the client requested. */
  readonly acceptsPath?: boolean;
}

/** An ETag only has to be unique among the versions of one file. */
const ETAG_LENGTH = 32;
/** A reader that starts further ahead of a copy in progress is served by the vendor. */
const MAX_AHEAD_BYTES = 4 * 1024 * 1024;

/** Opens stored copies for readers. */
export class ArtifactReader {
  readonly #dependencies: ArtifactReaderDependencies;
  readonly #provenance = new SingleFlight<Provenance>();
  constructor(dependencies: ArtifactReaderDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * @returns undefined if there is no copy, or none yet
   * @throws AppError `unavailable` while the place of the files is gone
   */
  async open(taskId: string, request: OpenRequest): Promise<OpenFile | undefined> {
    const { store, files } = this.#dependencies;
    if (files === undefined) return undefined;
    const growing = await this.#openGrowing(taskId, request);
    if (growing !== undefined) return growing;
    const row = await store.findByTask(taskId);
    return row?.state === 'stored' ? this.#openStored(files, row, request) : undefined;
  }

  /** Media type of the stored file of a video; undefined if there is no copy, or none yet. */
  async findMediaType(taskId: string): Promise<string | undefined> {
    const { store, files } = this.#dependencies;
    const row = files && (await store.findByTask(taskId));
    return row?.state === 'stored' ? row.mime_type : undefined;
  }

  /** Marks of generated content in the stored file of a video; undefined if there is no copy, or none yet. */
  async findProvenance(taskId: string): Promise<Provenance | undefined> {
    const { store, files } = this.#dependencies;
    const row = files && (await store.findByTask(taskId));
    if (files === undefined || row?.state !== 'stored') return undefined;
    if (row.provenance !== null) return JSON.parse(row.provenance) as Provenance;
    const read = async (start: number, end: number): Promise<Buffer> => {
      const body = await files.open(row.id, start, end);
      if (body === undefined) throw new AppError('content_not_found');
      return buffer(body);
    };
    // Checking a manifest reads the whole file, so the result is kept.
    return this.#provenance
      .run(row.id, async () => {
        const found = await findProvenance({ read, bytes: row.bytes });
        await store.keepProvenance(row, JSON.stringify(found));
        return found;
      })
      .catch((error: unknown) => {
        // The page that shows it does not need the file.
        if (isAppError(error, 'unavailable') || isAppError(error, 'content_not_found')) return undefined;
        throw error;
      });
  }

  /** Opens the stored poster of a video, if there is one. */
  async openPoster(taskId: string, request: OpenRequest): Promise<OpenFile | undefined> {
    const { store, files } = this.#dependencies;
    const row = files && (await store.findByTask(taskId, 'thumbnail'));
    return files && row?.state === 'stored' ? this.#openStored(files, row, request) : undefined;
  }

  /** Opens an uploaded file. */
  async openUpload(fileId: string, request: OpenRequest): Promise<OpenFile | undefined> {
    const { store, files } = this.#dependencies;
    const row = files && (await store.findByTask(fileId, 'upload'));
    return files && row?.state === 'stored' ? this.#openStored(files, row, request) : undefined;
  }

  async #openGrowing(taskId: string, request: FileRequest): Promise<OpenFile | undefined> {
    const copy = this.#dependencies.copies.find(taskId);
    if (copy?.announcedBytes === undefined || copy.mimeType === undefined || copy.hasFailed) return undefined;
    // The vendor's ETag and date decide, ours are not known yet.
    if (request.ifMatch !== undefined || request.ifUnmodifiedSince !== undefined) return undefined;
    // For the same reason a reader that sends the vendor's ETag receives the whole file.
    const response = toFileResponse({ bytes: copy.announcedBytes, mimeType: copy.mimeType }, request);
    if (response.part === undefined) return { ...response, body: Readable.from([]) };
    const { start, end } = response.part;
    if (start > copy.writtenBytes + MAX_AHEAD_BYTES) return undefined;
    const body = await copy.read(start, end);
    return body && { ...response, body };
  }

  async #openStored(files: ArtifactFileStorage, row: ArtifactRow, request: OpenRequest): Promise<OpenFile | undefined> {
    const { store, clock, log } = this.#dependencies;
    const facts = {
      bytes: row.bytes,
      mimeType: row.mime_type,
      // Files show their whole hash to their callers.
      etag: `"${row.variant === 'upload' ? row.sha256 : row.sha256.slice(0, ETAG_LENGTH)}"`,
      modifiedAt: row.stored_at,
    };
    const response = toFileResponse(facts, request);
    if (response.part === undefined) return { ...response, body: Readable.from([]) };
    // A range ignored here might be honoured by the proxy that reads the same request.
    if (request.acceptsPath === true && (response.status === 206 || request.range === undefined)) {
      const path = await files.locate?.(row.id);
      if (path !== undefined) return { ...response, path, body: Readable.from([]) };
    }
    const body = await files.open(row.id, response.part.start, response.part.end);
    if (body !== undefined) return { ...response, body };
    log.error({ artifactId: row.id, taskId: row.task_id }, 'a stored file is missing and is copied again');
    await store.markLost(row, clock.now());
    return undefined;
  }
}

/** Facts about a file that are known before its bytes are read. */
interface FileFacts {
  readonly bytes: number;
  readonly mimeType: string;
  /** Quoted, strong; undefined while the file is being copied. */
  readonly etag?: string;
  /** Unix milliseconds. */
  readonly modifiedAt?: number;
}

/** The request headers that select a part or a version of a file. */
export interface FileRequest extends ConditionalRequest {
  readonly range?: string;
  readonly ifRange?: string;
}

interface FileResponse {
  readonly status: 200 | 206 | 304 | 416;
  readonly headers: Readonly<Record<string, string>>;
  /** First and last byte of the body; undefined: no body. */
  readonly part?: { readonly start: number; readonly end: number };
}

/**
 * Evaluates the conditions and the range of a request for a file (RFC 9110 sections 13 and 14).
 * @throws AppError `precondition_failed`
 */
export function toFileResponse(file: FileFacts, request: FileRequest): FileResponse {
  const { range, ifRange } = request;
  const validators = {
    ...(file.etag !== undefined && { etag: file.etag }),
    ...(file.modifiedAt !== undefined && { 'last-modified': toHttpDate(file.modifiedAt) }),
  };
  if (evaluatePreconditions(file, request) === 'unchanged') return { status: 304, headers: validators };
  const headers = { ...validators, 'content-type': file.mimeType, 'accept-ranges': 'bytes' };
  const part = isSingleRange(range) && isUnchanged(file, ifRange) ? resolveRange(range, file.bytes) : undefined;
  if (part === 'unsatisfiable')
    return { status: 416, headers: { ...headers, 'content-range': `bytes */${file.bytes}`, 'content-length': '0' } };
  if (part === undefined)
    return {
      status: 200,
      headers: { ...headers, 'content-length': String(file.bytes) },
      part: { start: 0, end: file.bytes - 1 },
    };
  return {
    status: 206,
    headers: {
      ...headers,
      'content-length': String(part.end - part.start + 1),
      'content-range': `bytes ${part.start}-${part.end}/${file.bytes}`,
    },
    part,
  };
}

/** HTTP dates have a resolution of one second. */
const toHttpDate = (unixMs: number): string => new Date(unixMs).toUTCString();

/** If-Range compares strongly; a date must equal the one that was sent (RFC 9110 section 13.1.5). */
const isUnchanged = ({ etag, modifiedAt }: FileFacts, ifRange: string | undefined): boolean =>
  ifRange === undefined ||
  ifRange.trim() === etag ||
  (modifiedAt !== undefined && ifRange.trim() === toHttpDate(modifiedAt));
