/** What the bytes of a file have shown it to be. */
export interface CheckedVideo {
  readonly mimeType: 'video/mp4' | 'video/webm';
  /** The structure ends where the file ends. Without that proof a file cut short looks whole. */
  readonly isLengthProven: boolean;
}

/** The bytes are not a video of a known form, or not a whole one. */
export class BadVideoError extends Error {
  /** Fewer bytes than the file has: another download may have them all. */
  readonly isCut: boolean;
  constructor(message: string, isCut = false) {
    super(message);
    this.name = 'BadVideoError';
    this.isCut = isCut;
  }
}

const BOX_HEADER_BYTES = 8;
const LARGE_BOX_HEADER_BYTES = 16;
/** Fragmented files have two boxes a fragment; a file with more is built to cost processor time. */
const MAX_BOXES = 10_000;
/** Boxes that MP4, QuickTime and their older writers begin a file with. */
const FIRST_BOXES = new Set(['ftyp', 'styp', 'moov', 'mdat', 'free', 'skip', 'wide', 'pnot']);
const EBML_ID = 0x1a45dfa3;
const SEGMENT_ID = 0x18538067;
/** More than the EBML header of any writer; the Segment begins within. */
const EBML_HEAD_BYTES = 128;

/**
 * Checks a video while its bytes pass, in constant memory. MP4 and QuickTime (ISO/IEC 14496-12 section 4.2): top-level boxes,
 * each where the one before ends, the last at the end of the file, with `moov` and media data among them. Behind the last box
 * fewer bytes than a box header, or zeros, are padding that players ignore. WebM (RFC 8794): an EBML header and a Segment, up
 * to the end of the file where it says its size.
 */
export class VideoCheck {
  /** Bytes seen. */
  #position = 0;
  /** Where the next box header begins; infinite within a box that lasts until the end of the file. */
  #nextBox = 0;
  #head: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  #form: 'unknown' | 'mp4' | 'webm' = 'unknown';
  #boxes = 0;
  #hasMovie = false;
  #hasMedia = false;
  /** Zeros follow the last box. */
  #isPadding = false;

  /** @throws BadVideoError as soon as it is clear */
  push(chunk: Buffer): void {
    if (this.#form === 'unknown') {
      this.#head = Buffer.concat([this.#head, chunk]);
      if (this.#head.length < BOX_HEADER_BYTES) return;
      const seen = this.#head;
      this.#form = formOf(seen);
      this.#head = this.#form === 'webm' ? seen : Buffer.alloc(0);
      if (this.#form === 'mp4') this.#walk(seen);
      this.#position = seen.length;
      return;
    }
    if (this.#form === 'mp4') this.#walk(chunk);
    else if (this.#head.length < EBML_HEAD_BYTES) this.#head = Buffer.concat([this.#head, chunk]);
    this.#position += chunk.length;
  }

  /** Known from the first bytes on. */
  get mimeType(): CheckedVideo['mimeType'] | undefined {
    return this.#form === 'unknown' ? undefined : `video/${this.#form}`;
  }

  /** The bytes so far show a video; whether it is whole shows its end. @throws BadVideoError */
  get isVideo(): boolean {
    if (this.#form !== 'webm') return this.#hasMovie && this.#hasMedia;
    if (this.#head.length < EBML_HEAD_BYTES) return false;
    segmentEnd(this.#head);
    return true;
  }

  /** Call it after the last byte. @throws BadVideoError */
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
    return { mimeType: 'video/mp4', isLengthProven: isWhole };
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

/** By the first bytes, which random ones resemble once in a hundred million. */
export function beginsLikeVideo(head: Buffer): boolean {
  return head.length >= BOX_HEADER_BYTES && findForm(head) !== undefined;
}

/** A text: HTML, XML or JSON. */
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

/** Bytes of a box with its header; infinite: until the end of the file; undefined: the header is incomplete. */
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

/** Where the Segment of a WebM file ends; undefined where it says no size (RFC 8794 section 6.2). @throws BadVideoError */
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
