import { paddingLength } from '../platform/is-base64.ts';
import { UnsupportedRequestError } from '../upstreams/vendor-errors.ts';
import type { MediaInput } from './adapter-types.ts';

const DATA_URL_PREFIX = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,/i;

/** The Base64 text alone, for vendors that refuse a `data:` prefix. */
export const stripDataUrlPrefix = (text: string): string =>
  text.slice(DATA_URL_PREFIX.exec(text.slice(0, 256))?.[0].length ?? 0);

/** Base64 of a picture that was given by value; undefined for a URL. */
export function toBase64(media: MediaInput): string | undefined {
  if (media.kind === 'url') return undefined;
  return media.kind === 'file' ? media.bytes.toString('base64') : stripDataUrlPrefix(media.data);
}

/** The URL unchanged, or bare Base64. */
export const toUrlOrBase64 = (media: MediaInput): string =>
  media.kind === 'url' ? media.url : (toBase64(media) ?? '');

/** The URL unchanged, or a `data:` URL. */
export function toUrlOrDataUrl(media: MediaInput): string {
  return media.kind === 'url' ? media.url : `data:${media.mimeType};base64,${toBase64(media) ?? ''}`;
}

/** Number of bytes encoded by a Base64 text, without decoding it. */
export const decodedLength = (base64: string): number => Math.floor((base64.length * 3) / 4) - paddingLength(base64);

/** Refuses a picture given by value that is too large for the vendor; those given by URL are checked by the vendor only. */
export function assertMaxSize(media: MediaInput, maxBytes: number, param: string): void {
  const size =
    media.kind === 'url'
      ? 0
      : media.kind === 'file'
        ? media.bytes.length
        : decodedLength(stripDataUrlPrefix(media.data));
  if (size > maxBytes) {
    throw new UnsupportedRequestError(
      `${param} is larger than the ${(maxBytes / 1e6).toFixed(1)} MB this model takes.`,
      param,
    );
  }
}
