import { invalidRequest } from '../../platform/app-error.ts';
import { detectMediaType } from '../../platform/detect-media-type.ts';
import type { UploadedFile } from '../../platform/http/multipart.ts';
import { isBase64 } from '../../platform/is-base64.ts';
import type { TextInBytes } from '../../platform/long-text.ts';
import type { MediaInput } from '../../vendors/adapter-types.ts';

const MB = 1024 * 1024;
export const MAX_IMAGE_BYTES = 20 * MB;
/** Shorter ones have no room for the first bytes that tell kinds apart. */
const MIN_BASE64_LENGTH = 16;
const MAX_BASE64_LENGTH = Math.ceil((MAX_IMAGE_BYTES * 4) / 3) + 4;

const DATA_URL = /^data:([a-z0-9.+/-]{1,60});base64,/i;

/** Parses an image given as text: an http(s) URL, a data URL, or bare Base64. The Base64 is not decoded. */
export function parseMedia(text: string | TextInBytes, param: string): MediaInput {
  const start = text.slice(0, 100);
  if (/^https?:/i.test(start)) return { kind: 'url', url: parseUrl(String(text), param) };
  const named = DATA_URL.exec(start);
  if (named === null && start.startsWith('data:')) throw invalidRequest(`${param} must be a picture in Base64.`, param);
  const data = named === null ? text : withoutStart(text, named[0].length);
  if (data.length > MAX_BASE64_LENGTH) throw invalidRequest(`${param} is larger than 20 MB.`, param);
  if (data.length < MIN_BASE64_LENGTH || !isBase64(data))
    throw invalidRequest(`${param} must be an http(s) address, a data URL or Base64.`, param);
  const mimeType = detectMediaType(data.slice(0, 32));
  if (mimeType === undefined)
    throw invalidRequest(`${param} is no picture of a known kind (PNG, JPEG, WebP, GIF, BMP, TIFF).`, param);
  return { kind: 'base64', data, mimeType };
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
