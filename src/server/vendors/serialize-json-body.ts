import { isBase64 } from '../platform/is-base64.ts';
import { LONG_TEXT_LENGTH, LongText } from '../platform/long-text.ts';
import type { RequestJson } from './adapter-types.ts';
import { stripDataUrlPrefix } from './media-to-base64-or-url.ts';

/** Characters of a long text that become bytes at a time, as the connection takes them. */
const PIECE_LENGTH = 64 * 1024;
/** Stands first in what takes the place of a long text; no text of a request has it, and JSON writes it in six characters. */
const PLACEHOLDER = '\u0000';

/** The JSON of a request with pictures: its bytes are made while they are sent. */
export class LongJsonBody {
  /** JSON and, at odd indexes, long texts in it, all ASCII. */
  readonly #parts: readonly (string | LongText)[];
  /** What `Content-Length` says. */
  readonly byteLength: number;

  constructor(parts: readonly (string | LongText)[]) {
    this.#parts = parts;
    this.byteLength = parts.reduce<number>(
      (sum, part, index) =>
        sum + (typeof part === 'string' && !isLongText(index) ? Buffer.byteLength(part) : part.length),
      0,
    );
  }

  /** The bytes from the first on, each time it is called. */
  *pieces(): Generator<Buffer> {
    for (const [index, part] of this.#parts.entries()) {
      if (typeof part !== 'string') yield* part.pieces();
      else if (!isLongText(index)) yield Buffer.from(part);
      else
        for (let at = 0; at < part.length; at += PIECE_LENGTH)
          yield Buffer.from(part.slice(at, at + PIECE_LENGTH), 'latin1');
    }
  }
}

const isLongText = (index: number): boolean => index % 2 === 1;

/**
 * A value as the JSON of a request. A picture in it is not copied: `JSON.stringify` collects a text in pieces, joins them, and the text is
 * made bytes afterwards, so that three copies would lie in memory beside the picture itself. To write 13 MB into new memory at once would
 * hold everything else up besides, most where the machine is slow to hand out pages.
 */
export function serializeJsonBody(value: RequestJson): string | LongJsonBody {
  if (!hasLongText(value)) return JSON.stringify(value);
  const longTexts: (string | LongText)[] = [];
  const json = JSON.stringify(value, (_, inner: unknown) =>
    inner instanceof LongText || isLongBase64(inner) ? PLACEHOLDER + String(longTexts.push(inner) - 1) : inner,
  );
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
