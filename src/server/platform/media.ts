import { Readable } from 'node:stream';
import type { OutboundResponse } from './outbound/outbound.ts';

/**
 * Media types by the first bytes of a file in Base64 form, so that nothing must be decoded. SVG is not included,
 * because it can contain scripts.
 */
const FILE_SIGNATURES: readonly { readonly base64: RegExp; readonly mimeType: string }[] = [
  { base64: /^iVBORw0KGg/, mimeType: 'image/png' },
  { base64: /^\/9j\//, mimeType: 'image/jpeg' },
  { base64: /^UklGR/, mimeType: 'image/webp' },
  { base64: /^R0lGOD/, mimeType: 'image/gif' },
  { base64: /^Qk/, mimeType: 'image/bmp' },
  { base64: /^(SUkq|TU0A)/, mimeType: 'image/tiff' },
  { base64: /^AAAA.{6,8}(ZnR5c|Z0eX|mdHlw)/, mimeType: 'video/mp4' },
];

/** The media type of a file given as Base64; undefined if unknown. Reads only the first 32 characters. */
export function detectMediaType(base64: string): string | undefined {
  const head = base64.slice(0, 32);
  return FILE_SIGNATURES.find(({ base64: pattern }) => pattern.test(head))?.mimeType;
}

/** Nonstandard image media types that upstreams reject, and their registered names. */
const REGISTERED_TYPE: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/jfif': 'image/jpeg',
  'image/x-png': 'image/png',
  'image/x-webp': 'image/webp',
  'image/x-ms-bmp': 'image/bmp',
  'image/x-bmp': 'image/bmp',
  'image/tif': 'image/tiff',
};

/** The registered name of a media type, in lower case and without parameters. */
export function registeredType(mediaType: string): string {
  const type = (mediaType.split(';', 1)[0] ?? '').trim().toLowerCase();
  return Object.hasOwn(REGISTERED_TYPE, type) ? (REGISTERED_TYPE[type] ?? type) : type;
}

/** The type of a file according to its bytes. */
export interface CheckedVideo {
  readonly mimeType: 'video/mp4' | 'video/quicktime' | 'video/webm';
  /** Whether the structure ends exactly where the file ends. Without that proof, a truncated file looks complete. */
  readonly isLengthProven: boolean;
}

/** The bytes are not a complete video of a known format. */
export class BadVideoError extends Error {
  /** Whether bytes are missing, so that another download may succeed. */
  readonly isCut: boolean;
  constructor(message: string, isCut = false) {
    super(message);
    this.name = 'BadVideoError';
    this.isCut = isCut;
  }
}

const BOX_HEADER_BYTES = 8;
const LARGE_BOX_HEADER_BYTES = 16;
/** The header of the first box and the brand of the file in it. */
const FIRST_BYTES = 12;
/** Fragmented files have two boxes per fragment; a file with more boxes than this is built to waste processor time. */
const MAX_BOXES = 10_000;
/** Boxes with which MP4, QuickTime and their older writers start a file. */
const FIRST_BOXES = new Set(['ftyp', 'styp', 'moov', 'mdat', 'free', 'skip', 'wide', 'pnot']);
/** The brand of QuickTime (ISO/IEC 14496-12 section 4.3). */
const QUICKTIME = /^ftypqt {2}$/;
const EBML_ID = 0x1a45dfa3;
const SEGMENT_ID = 0x18538067;
/** More than the EBML header of any writer; the Segment starts within. */
const EBML_HEAD_BYTES = 128;

/**
 * Checks a video while its bytes pass through, in constant memory. MP4 and QuickTime (ISO/IEC 14496-12 section 4.2):
 * top-level boxes without gaps, the last of which ends with the file, including `moov` and media data. Fewer bytes than
 * a box header after the last box, or zeros, are padding that players ignore. WebM (RFC 8794): an EBML header and a
 * Segment, which must end with the file if it declares its size.
 */
export class VideoCheck {
  /** Bytes seen. */
  #position = 0;
  /** Position of the next box header; infinite within a box that extends to the end of the file. */
  #nextBox = 0;
  #head: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  #form: 'unknown' | 'mp4' | 'webm' = 'unknown';
  #mimeType: CheckedVideo['mimeType'] | undefined;
  #boxes = 0;
  #hasMovie = false;
  #hasMedia = false;
  /** Whether zeros follow the last box. */
  #isPadding = false;

  /** @throws BadVideoError as soon as the defect is certain */
  push(chunk: Buffer): void {
    if (this.#form === 'unknown') {
      this.#head = Buffer.concat([this.#head, chunk]);
      if (this.#head.length < FIRST_BYTES) return;
      const seen = this.#head;
      this.#form = formOf(seen);
      this.#mimeType = QUICKTIME.test(seen.toString('latin1', 4, FIRST_BYTES))
        ? 'video/quicktime'
        : `video/${this.#form}`;
      this.#head = this.#form === 'webm' ? seen : Buffer.alloc(0);
      if (this.#form === 'mp4') this.#walk(seen);
      this.#position = seen.length;
      return;
    }
    if (this.#form === 'mp4') this.#walk(chunk);
    else if (this.#head.length < EBML_HEAD_BYTES) this.#head = Buffer.concat([this.#head, chunk]);
    this.#position += chunk.length;
  }

  /** Known after the first bytes. */
  get mimeType(): CheckedVideo['mimeType'] | undefined {
    return this.#mimeType;
  }

  /**
   * Whether the bytes so far belong to a video; only its end shows whether it is complete.
   * @throws BadVideoError
   */
  get isVideo(): boolean {
    if (this.#form !== 'webm') return this.#hasMovie && this.#hasMedia;
    if (this.#head.length < EBML_HEAD_BYTES) return false;
    segmentEnd(this.#head);
    return true;
  }

  /**
   * Must be called after the last byte.
   * @throws BadVideoError
   */
  end(): CheckedVideo {
    if (this.#form === 'unknown') throw new BadVideoError('it is too short for a video', true);
    return this.#form === 'mp4' ? this.#endMp4() : this.#endWebm();
  }

  #endMp4(): CheckedVideo {
    const isOpen = this.#nextBox === Number.POSITIVE_INFINITY;
    const isWhole = this.#nextBox === this.#position && this.#head.length === 0;
    const isPadded = this.isVideo && this.#head.length > 0 && this.#head.length < BOX_HEADER_BYTES;
    if (!isOpen && !isWhole && !isPadded)
      throw new BadVideoError(`it has ${this.#position} bytes and its boxes do not end there`, true);
    if (!this.isVideo) throw new BadVideoError('it has no movie or no media data');
    return { mimeType: this.#mimeType ?? 'video/mp4', isLengthProven: isWhole };
  }

  #endWebm(): CheckedVideo {
    const end = segmentEnd(this.#head);
    if (end !== undefined && end !== this.#position)
      throw new BadVideoError(`it has ${this.#position} bytes and its segment ends at ${end}`, end > this.#position);
    return { mimeType: 'video/webm', isLengthProven: end !== undefined };
  }

  #walk(chunk: Buffer): void {
    const start = this.#position;
    if (this.#isPadding) {
      assertZeros(chunk);
      return;
    }
    while (this.#nextBox < start + chunk.length) {
      const from = Math.max(0, this.#nextBox + this.#head.length - start);
      const fresh = chunk.subarray(from);
      const header = Buffer.concat([this.#head, fresh.subarray(0, LARGE_BOX_HEADER_BYTES - this.#head.length)]);
      const isComplete = header.length >= BOX_HEADER_BYTES;
      if (isComplete && this.isVideo && header.readBigUInt64BE(0) === 0n) {
        this.#isPadding = true;
        this.#head = Buffer.alloc(0);
        this.#nextBox = Number.POSITIVE_INFINITY;
        assertZeros(fresh);
        return;
      }
      const size = isComplete ? boxSize(header) : undefined;
      if (size === undefined) {
        this.#head = header;
        return;
      }
      this.#noteBox(header.toString('latin1', 4, 8));
      this.#head = Buffer.alloc(0);
      this.#nextBox += size;
    }
  }

  #noteBox(type: string): void {
    if (!/^[\x20-\x7e\xa9]{4}$/.test(type)) throw new BadVideoError('it has a box without a type');
    this.#boxes += 1;
    if (this.#boxes > MAX_BOXES) throw new BadVideoError(`it has more than ${MAX_BOXES} boxes`);
    if (type === 'moov') this.#hasMovie = true;
    if (type === 'mdat' || type === 'moof') this.#hasMedia = true;
  }
}

function assertZeros(bytes: Buffer): void {
  if (bytes.some((byte) => byte !== 0)) throw new BadVideoError('it has something else behind its last box');
}

/** Judges by the first bytes, which random data matches once in a hundred million. */
export function beginsLikeVideo(head: Buffer): boolean {
  return head.length >= BOX_HEADER_BYTES && findForm(head) !== undefined;
}

/** Whether the bytes are a text: HTML, XML or JSON. */
export const beginsLikePage = (head: Buffer): boolean => /^[\s\ufeff]*[<{[]/.test(head.toString('utf8', 0, 64));

function findForm(head: Buffer): 'mp4' | 'webm' | undefined {
  if (FIRST_BOXES.has(head.toString('latin1', 4, 8))) return 'mp4';
  return head.readUInt32BE(0) === EBML_ID ? 'webm' : undefined;
}

function formOf(head: Buffer): 'mp4' | 'webm' {
  const form = findForm(head);
  if (form === undefined) throw new BadVideoError('it does not begin like an MP4 or WebM file');
  return form;
}

/**
 * Size of a box in bytes, including its header; infinite: until the end of the file; undefined: the header is
 * incomplete.
 */
function boxSize(header: Buffer): number | undefined {
  const size = header.readUInt32BE(0);
  if (size === 0) return Number.POSITIVE_INFINITY;
  if (size === 1) {
    if (header.length < LARGE_BOX_HEADER_BYTES) return undefined;
    const large = Number(header.readBigUInt64BE(8));
    if (large < LARGE_BOX_HEADER_BYTES) throw new BadVideoError('it has a box smaller than its header');
    return large;
  }
  if (size < BOX_HEADER_BYTES) throw new BadVideoError('it has a box smaller than its header');
  return size;
}

/**
 * End position of the Segment of a WebM file; undefined if it declares no size (RFC 8794 section 6.2).
 * @throws BadVideoError
 */
function segmentEnd(head: Buffer): number | undefined {
  const ebml = readSize(head, 4);
  const at = 4 + ebml.bytes + (ebml.value ?? 0);
  if (ebml.value === undefined || head.length < at + 12 || head.readUInt32BE(at) !== SEGMENT_ID)
    throw new BadVideoError('it has no segment');
  const segment = readSize(head, at + 4);
  return segment.value === undefined ? undefined : at + 4 + segment.bytes + segment.value;
}

/** A variable-size integer (RFC 8794 section 4); value undefined: all ones, an unknown size. */
function readSize(head: Buffer, at: number): { readonly value: number | undefined; readonly bytes: number } {
  const bytes = Math.clz32(head[at] ?? 0) - 23;
  if (bytes > 8 || head.length < at + bytes) throw new BadVideoError('it has an element without a size');
  let value = BigInt((head[at] ?? 0) & (0xff >> bytes));
  for (let index = 1; index < bytes; index++) value = (value << 8n) | BigInt(head[at + index] ?? 0);
  const isUnknown = value === (1n << BigInt(7 * bytes)) - 1n;
  return { value: isUnknown ? undefined : Number(value), bytes };
}

interface VerifiedBody {
  readonly body: Readable;
  /** According to the first bytes, whatever type the host declared. */
  readonly mimeType: CheckedVideo['mimeType'];
}

/**
 * Verifies a complete file from another host while it is passed on. Bytes that do not start like a video are refused
 * before anything is sent. A truncated video fails before its last bytes are sent, so that its receiver sees a broken
 * download and not a complete file.
 * @returns undefined for bytes that are not a video; the body is destroyed then
 */
export async function verifyVideoBody(body: Readable): Promise<VerifiedBody | undefined> {
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const check = new VideoCheck();
  const first: Buffer[] = [];
  try {
    while (check.mimeType === undefined) {
      const { value, done } = await chunks.next();
      if (done === true) throw new BadVideoError('it is too short for a video', true);
      check.push(value);
      first.push(value);
    }
  } catch {
    body.destroy();
    return undefined;
  }
  const passed = Readable.from(checked(check, first, chunks), { objectMode: false });
  // A generator that waits for a chunk ends only when that chunk arrives.
  return { body: passed.once('close', () => body.destroy()), mimeType: check.mimeType };
}

/** Holds each chunk back until the next one arrives, and the last until the check has passed. */
async function* checked(check: VideoCheck, first: Buffer[], rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  let held = Buffer.concat(first);
  for await (const chunk of { [Symbol.asyncIterator]: () => rest }) {
    check.push(chunk);
    yield held;
    held = chunk as Buffer<ArrayBuffer>;
  }
  check.end();
  yield held;
}

/** Media types of posters. */
type PosterType = 'image/jpeg' | 'image/webp';

/** Chunks of a still WebP image (RFC 9649 section 2.7): no animation, no metadata. */
const WEBP_CHUNKS = new Set(['VP8 ', 'VP8L', 'VP8X', 'ALPH', 'ICCP']);
const JPEG_START_OF_SCAN = 0xda;

/** The type of a complete, still image, checked by its structure up to its last byte; undefined for all other bytes. */
export function validatePosterImage(bytes: Buffer): PosterType | undefined {
  if (isWholeWebp(bytes)) return 'image/webp';
  return isWholeJpeg(bytes) ? 'image/jpeg' : undefined;
}

function isWholeWebp(bytes: Buffer): boolean {
  if (bytes.length < 20 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP')
    return false;
  if (bytes.readUInt32LE(4) + 8 !== bytes.length) return false;
  let position = 12;
  while (position + 8 <= bytes.length) {
    if (!WEBP_CHUNKS.has(bytes.toString('latin1', position, position + 4))) return false;
    const size = bytes.readUInt32LE(position + 4);
    // Chunks are padded to even sizes.
    position += 8 + size + (size % 2);
  }
  return position === bytes.length;
}

/** ITU-T T.81 annex B: segments up to the first scan, and the end marker last. */
function isWholeJpeg(bytes: Buffer): boolean {
  const { length } = bytes;
  if (length < 20 || bytes.readUInt16BE(0) !== 0xffd8 || bytes.readUInt16BE(length - 2) !== 0xffd9) return false;
  let position = 2;
  while (position + 4 <= length && bytes[position] === 0xff) {
    if (bytes[position + 1] === JPEG_START_OF_SCAN) return true;
    position += 2 + Math.max(2, bytes.readUInt16BE(position + 2));
  }
  return false;
}

/**
 * Whether the header is one `bytes=` range of safe integers; several ranges and other units are ignored (RFC 9110
 * section 14.2 permits that).
 */
export const isSingleRange = (range: string | undefined): range is string =>
  range !== undefined && /^bytes=(\d{1,15}-\d{0,15}|-\d{1,15})$/.test(range);

/** Serves bytes received inside a JSON response like a file host would, with the requested range cut out. */
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

/** In chunks, so that a slow or aborted download does not keep the unsent bytes in the socket's buffer. */
function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) yield bytes.subarray(start, start + CHUNK_BYTES);
}

/**
 * First and last byte of a {@link isSingleRange single range} in a file of `length` bytes; undefined for an invalid
 * range (its end before its start), which is ignored (RFC 9110 section 14.1.1).
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

/**
 * Verifies a partial response from another host (RFC 9110 section 15.3.7) while it is passed on: its length must match
 * its Content-Range, or the download is aborted.
 * @returns undefined for a response without a valid Content-Range, or with another length; its body is destroyed then
 */
export function verifyPartialContent(response: OutboundResponse): OutboundResponse | undefined {
  const { headers, body } = response;
  const length = partLength(headers['content-range']);
  const announced = headers['content-length'];
  // The outbound client aborts a body that does not match its Content-Length.
  if (length !== undefined && announced === String(length)) return response;
  if (length === undefined || announced !== undefined) {
    body.destroy();
    return undefined;
  }
  const counted = Readable.from(enforceLength(body, length), { objectMode: false });
  return {
    ...response,
    headers: { ...headers, 'content-length': String(length) },
    body: counted.once('close', () => body.destroy()),
  };
}

function partLength(contentRange: string | undefined): number | undefined {
  const [, first = '', last = '', total = ''] =
    /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/.exec(contentRange ?? '') ?? [];
  if (last === '' || Number(last) < Number(first) || (total !== '*' && Number(last) >= Number(total))) return undefined;
  return Number(last) - Number(first) + 1;
}

async function* enforceLength(body: Readable, length: number): AsyncGenerator<Buffer> {
  let left = length;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    left -= chunk.length;
    if (left < 0) break;
    yield chunk;
  }
  if (left !== 0) throw new Error(`a part of ${length} bytes came with ${length - left}`);
}
