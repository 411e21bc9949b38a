import {
  Base64OfFile,
  isSameText,
  LONG_TEXT_LENGTH,
  LongText,
  PrefixedText,
  paddingLength,
  type TextInBytes,
} from '../platform/long-text.ts';
import { UnsupportedRequestError } from '../upstreams/vendor-errors.ts';
import type { MediaInput } from './adapter.ts';

/** A URL, a data URL or Base64 in a request; a large picture stays in its bytes. */
export type MediaText = string | LongText;

/** Whether two of them are the same, character by character. */
export const isSameMedia = (one: MediaText, other: MediaText): boolean => isSameText(one, other);

const DATA_URL_PREFIX = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,/i;

/** The Base64 text alone, for vendors that refuse a `data:` prefix. */
export const stripDataUrlPrefix = (text: string): string =>
  text.slice(DATA_URL_PREFIX.exec(text.slice(0, 256))?.[0].length ?? 0);

/** Base64 of a picture that was given by value; undefined for a URL. */
export function toBase64(media: MediaInput): MediaText | undefined {
  if (media.kind === 'url') return undefined;
  if (media.kind === 'base64') return withoutPrefix(media.data);
  const { bytes } = media;
  return bytes.length < LONG_TEXT_LENGTH ? bytes.toString('base64') : new Base64OfFile(bytes);
}

const withoutPrefix = (data: string | TextInBytes): string | TextInBytes =>
  typeof data === 'string' ? stripDataUrlPrefix(data) : data;

/** The URL unchanged, or bare Base64. */
export const toUrlOrBase64 = (media: MediaInput): MediaText =>
  media.kind === 'url' ? media.url : (toBase64(media) ?? '');

/** The URL unchanged, or a `data:` URL. */
export function toUrlOrDataUrl(media: MediaInput): MediaText {
  if (media.kind === 'url') return media.url;
  const prefix = `data:${media.mimeType};base64,`;
  const base64 = toBase64(media) ?? '';
  return base64 instanceof LongText ? new PrefixedText(prefix, base64) : prefix + base64;
}

/** Number of bytes encoded by a Base64 text, without decoding it. */
const decodedLength = (base64: string | TextInBytes): number =>
  Math.floor((base64.length * 3) / 4) - paddingLength(base64);

/** Refuses a picture given by value that is too large for the vendor; those given by URL are checked by the vendor only. */
export function assertMaxSize(media: MediaInput, maxBytes: number, param: string): void {
  const size =
    media.kind === 'url' ? 0 : media.kind === 'file' ? media.bytes.length : decodedLength(withoutPrefix(media.data));
  if (size > maxBytes) {
    throw new UnsupportedRequestError(
      `${param} is larger than the ${(maxBytes / 1e6).toFixed(1)} MB this model takes.`,
      param,
    );
  }
}
