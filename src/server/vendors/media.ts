import type { InputRole } from '../../contract/video-inputs.ts';
import { Base64Text, LONG_TEXT_LENGTH } from '../platform/base64.ts';
import { UnsupportedRequestError } from '../upstreams/vendor-errors.ts';
import type { MediaFile, MediaInput, RequestInput } from './adapter.ts';

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

/** The URL unchanged, or bare Base64. */
export const toUrlOrBase64 = (media: MediaInput): MediaText => ('url' in media ? media.url : toBase64(media));

/** The URL unchanged, or a `data:` URL. */
export const toUrlOrDataUrl = (media: MediaInput): MediaText =>
  'url' in media ? media.url : encode(media.bytes, `data:${media.mediaType};base64,`);

/** Images by what they are for. */
export interface SortedImages<T = RequestInput> {
  readonly first?: T;
  readonly last?: T;
  readonly references: readonly T[];
}

/** Sorts images by role. Without roles one is the first frame, two are first and last, and more are references. */
export function sortImages<T extends { readonly role?: InputRole }>(images: readonly T[]): SortedImages<T> {
  if (images.every(({ role }) => role === undefined)) {
    const [first, last] = images;
    if (images.length > 2) return { references: images };
    return { ...(first && { first }), ...(last && { last }), references: [] };
  }
  const first = images.find(({ role }) => role === 'first_frame');
  const last = images.find(({ role }) => role === 'last_frame');
  return {
    ...(first && { first }),
    ...(last && { last }),
    references: images.filter(({ role }) => role === 'reference'),
  };
}

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
