import { isBase64 } from '../platform/is-base64.ts';
import type { Json } from './adapter-types.ts';
import { stripDataUrlPrefix } from './media-to-base64-or-url.ts';

/** Texts of this length, pictures in Base64 as a rule, are written into the bytes of a body directly. */
const LONG_TEXT_LENGTH = 64 * 1024;
/** Stands first in what takes the place of a long text; no text of a request has it, and JSON writes it in six characters. */
const PLACEHOLDER = '\u0000';

/**
 * A value as the JSON of a request. A picture is copied once: `JSON.stringify` collects a text in pieces, joins them, and the text is
 * made bytes afterwards, so that three copies would lie in memory beside the picture itself.
 */
export function serializeJsonBody(value: Json): string | Buffer {
  if (!hasLongText(value)) return JSON.stringify(value);
  const longTexts: string[] = [];
  const json = JSON.stringify(value, (_, inner: unknown) =>
    isLongBase64(inner) ? PLACEHOLDER + String(longTexts.push(inner) - 1) : inner,
  );
  const parts: string[] = [];
  let at = 0;
  for (const [index, text] of longTexts.entries()) {
    const placeholder = JSON.stringify(PLACEHOLDER + String(index));
    const found = json.indexOf(placeholder, at);
    parts.push(json.slice(at, found + 1), text);
    // The closing quote of the placeholder is that of the text.
    at = found + placeholder.length - 1;
  }
  parts.push(json.slice(at));
  return toBytes(parts);
}

/** The texts one after another, in one buffer. */
function toBytes(parts: readonly string[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0));
  let end = 0;
  for (const part of parts) end += bytes.write(part, end);
  return bytes;
}

/** Base64, which JSON writes as it is, a byte a character, alone or in a data URL. */
const isLongBase64 = (value: unknown): value is string =>
  typeof value === 'string' && value.length >= LONG_TEXT_LENGTH && isBase64(stripDataUrlPrefix(value));

/** Small bodies, as nearly all are, go without the function for each value. */
function hasLongText(value: Json): boolean {
  if (typeof value === 'string') return value.length >= LONG_TEXT_LENGTH;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasLongText);
}
