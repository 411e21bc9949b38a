import { type AppError, invalidRequest } from './app-error.ts';

/** Base64 of at least this length, usually an image, is decoded while a body is read and encoded while one is sent. */
export const LONG_TEXT_LENGTH = 64 * 1024;
/** Maximum size of one image. */
export const MAX_IMAGE_BYTES = 20 * 1024 * 1024;
/** Characters of the longest image in Base64, with the longest prefix of a data URL. */
export const MAX_IMAGE_LENGTH = Math.ceil(MAX_IMAGE_BYTES / 3) * 4 + 400;
/** Bytes encoded at a time. Divisible by 3, so that the Base64 of every piece but the last has no padding. */
const PIECE_BYTES = 48 * 1024;
/** Characters decoded at a time. Divisible by 4, so that each window decodes to whole bytes. */
const WINDOW_LENGTH = 64 * 1024;

/**
 * Bytes that JSON contains as Base64, alone or in a data URL. They are encoded piece by piece while the JSON is
 * written: a single string of 13 MB would stall the event loop for 10 to 60 ms while the system provides its memory.
 */
export class Base64Text {
  readonly bytes: Buffer;
  /** `data:image/png;base64,` of a data URL, in ASCII. */
  readonly prefix: string;

  constructor(bytes: Buffer, prefix = '') {
    this.bytes = bytes;
    this.prefix = prefix;
  }

  /** Length in characters, which are all ASCII. */
  get length(): number {
    return this.prefix.length + Math.ceil(this.bytes.length / 3) * 4;
  }

  /** The text in separately allocated chunks, from the start on each call. */
  *pieces(): Generator<Buffer> {
    if (this.prefix !== '') yield Buffer.from(this.prefix, 'latin1');
    for (let at = 0; at < this.bytes.length; at += PIECE_BYTES)
      yield Buffer.from(this.bytes.toString('base64', at, at + PIECE_BYTES), 'latin1');
  }

  equals(other: Base64Text): boolean {
    return this.prefix === other.prefix && this.bytes.equals(other.bytes);
  }

  toString(): string {
    return this.prefix + this.bytes.toString('base64');
  }

  toJSON(): string {
    return this.toString();
  }
}

/** An image beyond `MAX_IMAGE_BYTES`, in the named member of a request. */
export const imageTooLarge = (param: string): AppError => invalidRequest(`${param} is larger than 20 MB.`, param);

/** Senders write parameters that no registration has, such as a file name in any script. */
const DATA_URL = /^data:([\w.+/-]{0,120})(?:;[^;,]{0,60}){0,4};base64,/i;

/**
 * Splits a data URL with Base64 (RFC 2397); parameters of its media type are dropped, its Base64 is not checked.
 * @returns undefined for any other text
 */
export function parseDataUrl(text: string): { readonly mediaType: string; readonly base64: string } | undefined {
  const found = DATA_URL.exec(text.slice(0, 400));
  return found === null ? undefined : { mediaType: found[1] ?? '', base64: text.slice(found[0].length) };
}

/** The Base64 of a data URL; any other text is returned unchanged. */
export const stripDataUrlPrefix = (text: string): string => parseDataUrl(text)?.base64 ?? text;

const EQUALS_SIGN = 0x3d;

/**
 * Decodes Base64 with its padding (RFC 4648, section 4).
 * @param text a string, or its ASCII bytes
 * @returns undefined for text with any other content
 */
export function decodeBase64(text: string | Buffer): Buffer | undefined {
  const { length } = text;
  if (length % 4 !== 0) return undefined;
  const codeAt = (at: number): number | undefined => (typeof text === 'string' ? text.charCodeAt(at) : text[at]);
  const padding = codeAt(length - 1) !== EQUALS_SIGN ? 0 : codeAt(length - 2) !== EQUALS_SIGN ? 1 : 2;
  // Allocated outside of the pool, so that the bytes of a large image can be released immediately.
  const bytes = Buffer.allocUnsafeSlow((length / 4) * 3 - padding);
  let size = 0;
  try {
    for (let at = 0; at < length; at += WINDOW_LENGTH) {
      const end = Math.min(at + WINDOW_LENGTH, length);
      const window = typeof text === 'string' ? text.slice(at, end) : text.toString('latin1', at, end);
      size += bytes.subarray(size).setFromBase64(window).written;
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
  // White space is skipped, and padding in the middle ends a window early: both yield fewer bytes.
  return size === bytes.length ? bytes : undefined;
}
