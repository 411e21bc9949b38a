import { Readable } from 'node:stream';
import type { OutboundResponse } from '../outbound/outbound-types.ts';

/** One `bytes=` range of safe integers; several at once and other units are ignored (RFC 9110 section 14.2 permits that). */
export const isSingleRange = (range: string | undefined): range is string =>
  range !== undefined && /^bytes=(\d{1,15}-\d{0,15}|-\d{1,15})$/.test(range);

/** Bytes received inside a JSON response, served as a file host would, with one range cut out where requested. */
export function toRangeResponse(bytes: Buffer, mimeType: string, range: string | undefined): OutboundResponse {
  const base = { 'content-type': mimeType, 'accept-ranges': 'bytes' };
  const cut = isSingleRange(range) ? resolveRange(range, bytes.length) : undefined;
  if (cut === undefined)
    return {
      status: 200,
      headers: { ...base, 'content-length': String(bytes.length) },
      body: Readable.from(chunksOf(bytes)),
    };
  if (cut === 'unsatisfiable')
    return {
      status: 416,
      headers: { 'content-range': `bytes */${bytes.length}`, 'content-length': '0' },
      body: Readable.from([]),
    };
  const part = bytes.subarray(cut.start, cut.end + 1);
  return {
    status: 206,
    headers: {
      ...base,
      'content-length': String(part.length),
      'content-range': `bytes ${cut.start}-${cut.end}/${bytes.length}`,
    },
    body: Readable.from(chunksOf(part)),
  };
}

const CHUNK_BYTES = 64 * 1024;

/** In chunks, so that a slow or ended download does not keep the unsent bytes in the socket's buffer. */
function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) yield bytes.subarray(start, start + CHUNK_BYTES);
}

/**
 * First and last byte of a {@link isSingleRange single range} in a file of `length` bytes; undefined for a range that means
 * nothing (its end before its start) and is ignored (RFC 9110 section 14.1.1).
 */
export function resolveRange(
  range: string,
  length: number,
): { readonly start: number; readonly end: number } | 'unsatisfiable' | undefined {
  const [first = '', last = ''] = range.slice('bytes='.length).split('-');
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  const start = first === '' ? Math.max(0, length - Number(last)) : Number(first);
  const end = first === '' || last === '' ? length - 1 : Math.min(Number(last), length - 1);
  return start >= length || end < start ? 'unsatisfiable' : { start, end };
}
