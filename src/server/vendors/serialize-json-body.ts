import { isBase64, LONG_TEXT_LENGTH, LongText, TextInString } from '../platform/long-text.ts';
import type { RequestJson } from './adapter-types.ts';
import { stripDataUrlPrefix } from './media-to-base64-or-url.ts';

/** Stands first in what takes the place of a long text; no text of a request has it, and JSON writes it in six characters. */
const PLACEHOLDER = '\u0000';

/** The JSON of a request with pictures: its bytes are made while they are sent. */
export class LongJsonBody {
  /** JSON, and the long texts in it, all ASCII. */
  readonly #parts: readonly (string | LongText)[];
  /** What `Content-Length` says. */
  readonly byteLength: number;

  constructor(parts: readonly (string | LongText)[]) {
    this.#parts = parts;
    this.byteLength = parts.reduce<number>(
      (sum, part) => sum + (typeof part === 'string' ? Buffer.byteLength(part) : part.length),
      0,
    );
  }

  /** The bytes from the first on, each time it is called. */
  *pieces(): Generator<Buffer> {
    for (const part of this.#parts) {
      if (typeof part === 'string') yield Buffer.from(part);
      else yield* part.pieces();
    }
  }
}

/**
 * A value as the JSON of a request. A picture in it is not copied: `JSON.stringify` collects a text in pieces, joins them, and the text is
 * made bytes afterwards, so that three copies would lie in memory beside the picture itself. To write 13 MB into new memory at once would
 * hold everything else up besides, most where the machine is slow to hand out pages.
 */
export function serializeJsonBody(value: RequestJson): string | LongJsonBody {
  if (!hasLongText(value)) return JSON.stringify(value);
  const longTexts: LongText[] = [];
  const json = JSON.stringify(value, (_, inner: unknown) => {
    const text = isLongBase64(inner) ? new TextInString(inner) : inner;
    return text instanceof LongText ? PLACEHOLDER + String(longTexts.push(text) - 1) : text;
  });
  if (longTexts.length === 0) return json;
  const parts: (string | LongText)[] = [];
  let at = 0;
  for (const [index, text] of longTexts.entries()) {
    const placeholder = JSON.stringify(PLACEHOLDER + String(index));
    const found = json.indexOf(placeholder, at);
    parts.push(json.slice(at, found + 1), text);
    // The closing quote of the placeholder is that of the text.
    at = found + placeholder.length - 1;
  }
  return new LongJsonBody([...parts, json.slice(at)]);
}

/** Base64, which JSON writes as it is, a byte a character, alone or in a data URL. */
const isLongBase64 = (value: unknown): value is string =>
  typeof value === 'string' && value.length >= LONG_TEXT_LENGTH && isBase64(stripDataUrlPrefix(value));

/** Small bodies, as nearly all are, go without the function for each value. */
function hasLongText(value: RequestJson): boolean {
  if (typeof value === 'string') return value.length >= LONG_TEXT_LENGTH;
  if (value instanceof LongText) return true;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasLongText);
}
