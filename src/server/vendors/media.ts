import { Base64Text, LONG_TEXT_LENGTH } from '../platform/base64.ts';
import { UnsupportedRequestError } from '../upstreams/upstream.ts';
import type { MediaFile, MediaInput } from './adapter.ts';

/** A URL, a data URL or Base64 in a request; a large image is encoded while it is sent. */
export type MediaText = string | Base64Text;

/** Whether two media texts are equal, character by character. */
export const isSameMedia = (one: MediaText, other: MediaText): boolean =>
  one.length === other.length &&
  (one instanceof Base64Text && other instanceof Base64Text ? one.equals(other) : String(one) === String(other));

const DATA_URL_PREFIX = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,/i;

/** The Base64 text without a `data:` prefix, which some vendors refuse. */
export const stripDataUrlPrefix = (text: string): string =>
  text.slice(DATA_URL_PREFIX.exec(text.slice(0, 256))?.[0].length ?? 0);

const encode = (bytes: Buffer, prefix = ''): MediaText =>
  bytes.length < LONG_TEXT_LENGTH ? prefix + bytes.toString('base64') : new Base64Text(bytes, prefix);

/** The bytes as Base64. */
export const toBase64 = ({ bytes }: Pick<MediaFile, 'bytes'>): MediaText => encode(bytes);

/** The file of an input that the vendor takes only by value; those by URL were downloaded before the submit. */
export function fileOf(media: MediaInput): MediaFile {
  if ('bytes' in media) return media;
  throw new UnsupportedRequestError('This vendor takes files by value only.');
}

/** The URL unchanged, or bare Base64. */
export const toUrlOrBase64 = (media: MediaInput): MediaText => ('url' in media ? media.url : toBase64(media));

/** The URL unchanged, or a `data:` URL. */
export const toMediaUrl = (media: MediaInput): MediaText =>
  'url' in media ? media.url : encode(media.bytes, `data:${media.mediaType};base64,`);

/**
 * Refuses an image given by value that is too large for the vendor; images given by URL are only checked by the vendor.
 */
export function assertMaxSize(media: MediaInput, maxBytes: number, param: string): void {
  if ('bytes' in media && media.bytes.length > maxBytes) {
    throw new UnsupportedRequestError(
      `${param} is larger than the ${(maxBytes / 1e6).toFixed(1)} MB this model takes.`,
      param,
    );
  }
}
