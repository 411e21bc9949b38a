import { invalidRequest } from '../../platform/app-error.ts';
import type { UploadedFile } from '../../platform/http/body.ts';
import { isBase64, type TextInBytes } from '../../platform/long-text.ts';
import { detectMediaType } from '../../platform/media.ts';
import type { MediaInput } from '../../vendors/adapter.ts';

const MB = 1024 * 1024;
export const MAX_IMAGE_BYTES = 20 * MB;
/** Shorter ones have no room for the first bytes that tell kinds apart. */
const MIN_BASE64_LENGTH = 16;
const MAX_BASE64_LENGTH = Math.ceil((MAX_IMAGE_BYTES * 4) / 3) + 4;

/** Its media type is not believed, and parameters beside it mean nothing (RFC 2397). */
const DATA_URL = /^data:[a-z0-9.+/-]{0,80}(?:;[^;,]{0,60}){0,4};base64,/i;

/** Parses an image given as text: an http(s) URL, a data URL, or bare Base64. The Base64 is not decoded. */
export function parseMedia(text: string | TextInBytes, param: string): MediaInput {
  const start = text.slice(0, 400);
  if (/^https?:/i.test(start)) return { kind: 'url', url: parseUrl(String(text), param) };
  const named = DATA_URL.exec(start);
  if (named === null && /^data:/i.test(start)) throw invalidRequest(`${param} must be a picture in Base64.`, param);
  const data = named === null ? text : withoutStart(text, named[0].length);
  if (data.length > MAX_BASE64_LENGTH) throw invalidRequest(`${param} is larger than 20 MB.`, param);
  if (data.length < MIN_BASE64_LENGTH || !isBase64(data))
    throw invalidRequest(`${param} must be an http(s) address, a data URL or Base64.`, param);
  const mimeType = detectMediaType(data.slice(0, 32));
  if (mimeType === undefined)
    throw invalidRequest(`${param} is no picture of a known kind (PNG, JPEG, WebP, GIF, BMP, TIFF).`, param);
  return { kind: 'base64', data, mimeType };
}

/** Base64 alone, for vendors that take no data URL; any other text stays as it is. */
export function withoutDataUrlPrefix<T extends string | TextInBytes>(text: T): string | TextInBytes {
  const prefix = DATA_URL.exec(text.slice(0, 400));
  return prefix === null ? text : withoutStart(text, prefix[0].length);
}

const withoutStart = (text: string | TextInBytes, characters: number): string | TextInBytes =>
  typeof text === 'string' ? text.slice(characters) : text.skip(characters);

/** An uploaded file part. Its type is detected from its bytes; the declared one is not trusted. */
export function fromUpload(file: UploadedFile): MediaInput {
  if (file.bytes.length > MAX_IMAGE_BYTES) throw invalidRequest(`${file.field} is larger than 20 MB.`, file.field);
  const mimeType = detectMediaType(file.bytes.subarray(0, 24).toString('base64'));
  if (mimeType === undefined)
    throw invalidRequest(`${file.field} is no picture of a known kind (PNG, JPEG, WebP, GIF, BMP, TIFF).`, file.field);
  return {
    kind: 'file',
    bytes: file.bytes,
    mimeType,
    filename: file.filename.replace(/[^\w.-]/g, '_').slice(0, 80) || 'upload',
  };
}

function parseUrl(text: string, param: string): string {
  if (text.length > 8192 || !URL.canParse(text)) throw invalidRequest(`${param} is no valid address.`, param);
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw invalidRequest(`${param} must not carry a user name or password.`, param);
  return text;
}

/** Names of picture types that vendors do not know, and the registered ones. */
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
const ANY_DATA_URL = /^data:([a-z0-9.+-]{1,40}\/[a-z0-9.+-]{1,80})(?:;[^;,]{0,60}){0,4};base64,/i;

/** A data URL as vendors take it: the registered media type, without parameters. Any other text stays as it is. */
export function normalizeDataUrl(text: string): string {
  const [prefix, type = ''] = ANY_DATA_URL.exec(text.slice(0, 400)) ?? [];
  if (prefix === undefined) return text;
  const name = type.toLowerCase();
  const registered = Object.hasOwn(REGISTERED_TYPE, name) ? REGISTERED_TYPE[name] : name;
  return `data:${registered};base64,${text.slice(prefix.length)}`;
}

/** The same for every text in a value; what needs no change is not copied. */
export function normalizeDataUrls<T>(value: T): T {
  if (typeof value === 'string') return (/^data:/i.test(value) ? normalizeDataUrl(value) : value) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const changed = entries.flatMap(([key, inner]) => {
    const normal: unknown = normalizeDataUrls(inner);
    return normal === inner ? [] : [[key, normal] as const];
  });
  if (changed.length === 0) return value;
  const copy = Array.isArray(value) ? [...value] : { ...value };
  return Object.assign(copy, Object.fromEntries(changed)) as T;
}
