import { invalid } from '../platform/errors.ts';
import type { UploadedFile } from '../platform/http/multipart.ts';
import type { Media } from './vendor.ts';

const MB = 1024 * 1024;
export const IMAGE_LIMIT = 20 * MB;
const BASE64_LIMIT = Math.ceil((IMAGE_LIMIT * 4) / 3) + 4;

/** Kinds by their first bytes (as Base64 begins, so nothing has to be decoded). SVG is none of them: it is a program. */
const MAGIC: readonly { readonly base64: RegExp; readonly mimeType: string }[] = [
  { base64: /^iVBORw0KGg/, mimeType: 'image/png' },
  { base64: /^\/9j\//, mimeType: 'image/jpeg' },
  { base64: /^UklGR.{6,8}XRUJQ|^UklGR/, mimeType: 'image/webp' },
  { base64: /^R0lGOD/, mimeType: 'image/gif' },
  { base64: /^Qk/, mimeType: 'image/bmp' },
  { base64: /^(SUkq|TU0A)/, mimeType: 'image/tiff' },
  { base64: /^AAAA.{6,8}(ZnR5c|Z0eX|mdHlw)/, mimeType: 'video/mp4' },
];

const DATA_URL = /^data:([a-z0-9.+/-]{1,60});base64,/i;

/** Reads a picture given as text: an http(s) address, a data URL, or bare Base64. The Base64 is not decoded. */
export function readMedia(text: string, param: string): Media {
  if (/^https?:/i.test(text)) return { kind: 'url', url: readAddress(text, param) };
  const named = DATA_URL.exec(text.slice(0, 100));
  if (named === null && text.startsWith('data:')) throw invalid(`${param} must be a picture in Base64.`, param);
  const data = named === null ? text : text.slice(named[0].length);
  if (data.length > BASE64_LIMIT) throw invalid(`${param} is larger than 20 MB.`, param);
  if (!isBase64(data)) throw invalid(`${param} must be an http(s) address, a data URL or Base64.`, param);
  const mimeType = sniff(data);
  if (mimeType === undefined)
    throw invalid(`${param} is no picture of a known kind (PNG, JPEG, WebP, GIF, BMP, TIFF).`, param);
  return { kind: 'base64', data, mimeType };
}

/** An uploaded file part; its kind is what its bytes say, not what its sender says. */
export function fromUpload(file: UploadedFile): Media {
  if (file.bytes.length > IMAGE_LIMIT) throw invalid(`${file.field} is larger than 20 MB.`, file.field);
  const mimeType = sniff(file.bytes.subarray(0, 24).toString('base64'));
  if (mimeType === undefined)
    throw invalid(`${file.field} is no picture of a known kind (PNG, JPEG, WebP, GIF, BMP, TIFF).`, file.field);
  return {
    kind: 'file',
    bytes: file.bytes,
    mimeType,
    filename: file.filename.replace(/[^\w.-]/g, '_').slice(0, 80) || 'upload',
  };
}

function readAddress(text: string, param: string): string {
  if (text.length > 8192 || !URL.canParse(text)) throw invalid(`${param} is no valid address.`, param);
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw invalid(`${param} must not carry a user name or password.`, param);
  return text;
}

const sniff = (base64: string): string | undefined => {
  const head = base64.slice(0, 32);
  return MAGIC.find(({ base64: pattern }) => pattern.test(head))?.mimeType;
};

function isBase64(text: string): boolean {
  return text.length >= 16 && text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
}
