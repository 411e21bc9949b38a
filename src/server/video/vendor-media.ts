import { type Media, VendorRefusal } from './vendor.ts';

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,/i;

/** The Base64 text alone, for vendors that refuse a `data:` prefix. */
export const bareBase64 = (text: string): string => text.slice(DATA_URL.exec(text.slice(0, 256))?.[0].length ?? 0);

/** Base64 of a picture that was given by value; undefined for an address. */
export function toBase64(media: Media): string | undefined {
  if (media.kind === 'url') return undefined;
  return media.kind === 'file' ? media.bytes.toString('base64') : bareBase64(media.data);
}

/** The address as it is, or bare Base64. */
export const toUrlOrBase64 = (media: Media): string => (media.kind === 'url' ? media.url : (toBase64(media) ?? ''));

/** The address as it is, or a `data:` URL. */
export function toUrlOrDataUrl(media: Media): string {
  return media.kind === 'url' ? media.url : `data:${media.mimeType};base64,${toBase64(media) ?? ''}`;
}

/** Bytes that Base64 text stands for, without decoding it. */
export function decodedBytes(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.floor((base64.length * 3) / 4) - padding;
}

/** Refuses a picture given by value that the vendor would refuse for its size; addresses are the vendor's to judge. */
export function refuseLarge(media: Media, maxBytes: number, param: string): void {
  const size =
    media.kind === 'url' ? 0 : media.kind === 'file' ? media.bytes.length : decodedBytes(bareBase64(media.data));
  if (size > maxBytes) {
    throw new VendorRefusal(`${param} is larger than the ${(maxBytes / 1e6).toFixed(1)} MB this model takes.`, param);
  }
}
