import { isSingleRange, resolveRange } from '../platform/media.ts';

/** What is known of a file before its bytes are read. */
export interface FileFacts {
  readonly bytes: number;
  readonly mimeType: string;
  /** Quoted, strong; undefined while the file is being copied. */
  readonly etag?: string | undefined;
  /** Unix milliseconds. */
  readonly modifiedAt?: number | undefined;
}

export interface FileRequest {
  readonly range?: string | undefined;
  readonly ifRange?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

export interface FileResponse {
  readonly status: 200 | 206 | 304 | 416;
  readonly headers: Readonly<Record<string, string>>;
  /** First and last byte of the body; undefined: none. */
  readonly part?: { readonly start: number; readonly end: number };
}

/** How a file is answered for (RFC 9110 sections 13 and 14). */
export function toFileResponse(file: FileFacts, { range, ifRange, ifNoneMatch }: FileRequest): FileResponse {
  const validators = {
    ...(file.etag !== undefined && { etag: file.etag }),
    ...(file.modifiedAt !== undefined && { 'last-modified': toHttpDate(file.modifiedAt) }),
  };
  if (ifNoneMatch !== undefined && file.etag !== undefined && matchesAny(ifNoneMatch, file.etag))
    return { status: 304, headers: validators };
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

/** HTTP dates have whole seconds. */
const toHttpDate = (unixMs: number): string => new Date(unixMs).toUTCString();

/** If-None-Match compares weakly (RFC 9110 section 13.1.2). */
const matchesAny = (header: string, etag: string): boolean =>
  header.trim() === '*' || header.split(',').some((each) => each.trim().replace(/^W\//, '') === etag);

/** If-Range compares strongly; a date must be the very one that was sent (RFC 9110 section 13.1.5). */
const isUnchanged = ({ etag, modifiedAt }: FileFacts, ifRange: string | undefined): boolean =>
  ifRange === undefined ||
  ifRange.trim() === etag ||
  (modifiedAt !== undefined && ifRange.trim() === toHttpDate(modifiedAt));
