import { isUtf8 } from 'node:buffer';
import { JsonBoundsScanner } from './json-bounds-scanner.ts';
import { type KeptLongTexts, keepLongTexts, NO_LONG_TEXTS } from './keep-long-texts.ts';
import { TextInBytes } from './long-text.ts';
import { assertNoPollutingKeys, JsonRejectedError } from './parse-untrusted-json.ts';
import { hasOnlyWellFormedText } from './well-formed-text-and-code-points.ts';

const MAX_DEPTH = 64;
/** Far above the longest conversation; a million values would cost more to parse and to check than to send. */
export const DEFAULT_MAX_VALUES = 50_000;

export const requestScanner = (maxValues = DEFAULT_MAX_VALUES): JsonBoundsScanner =>
  new JsonBoundsScanner({ maxDepth: MAX_DEPTH, maxValues });

/**
 * Parses the body of a caller's request: what `parseJson` refuses, then more values than a request needs, bytes that are no
 * UTF-8, and text with U+0000 or lone surrogates (reason `text`), which would come back changed from the database or not
 * at all.
 *
 * @throws JsonRejectedError
 */
export function parseRequestJson(bytes: Buffer): unknown {
  const scanner = requestScanner();
  scanner.push(bytes);
  return parseScannedJson(bytes, scanner);
}

/**
 * The same for a body that was scanned as it arrived. What the scanner has not seen needs no further pass.
 *
 * @throws JsonRejectedError `syntax`, `prototype` or `text`
 */
export const parseScannedJson = (bytes: Buffer, scanner: JsonBoundsScanner): unknown =>
  parseKeepingLongTexts(bytes, scanner, []).value;

/** A parsed body, and its long texts in `fields` that were left in its bytes. */
export interface ParsedBody {
  readonly value: unknown;
  readonly longTexts: KeptLongTexts;
}

/**
 * The same; long texts in the root's `fields` stay in the bytes and are cut in the value. A document with an escape for U+0000 or a surrogate
 * keeps none.
 *
 * @throws JsonRejectedError `syntax`, `prototype` or `text`
 */
export function parseKeepingLongTexts(
  bytes: Buffer,
  scanner: JsonBoundsScanner,
  fields: readonly string[],
): ParsedBody {
  if (scanner.hasNonAscii && !isUtf8(bytes)) throw new JsonRejectedError('text', 'the body is not UTF-8');
  const isWhole = scanner.hasSuspectEscape || scanner.longTexts.length === 0;
  const parsed = isWhole ? parseWhole(bytes, scanner) : parseAroundLongTexts(bytes, scanner, fields);
  const { value } = parsed;
  if (scanner.hasSuspectKey) assertNoPollutingKeys(value);
  if (scanner.hasSuspectEscape && !hasOnlyWellFormedText(value))
    throw new JsonRejectedError('text', 'text with U+0000 or a lone surrogate is not allowed');
  return parsed;
}

/** A number in a parsed document, by the object or array that holds it. */
export interface NumberPosition {
  readonly holder: object;
  readonly key: string;
}

const integersWrittenAsFractions = new WeakMap<object, readonly NumberPosition[]>();

/**
 * Where a parsed request body has a whole number written with a fraction or an exponent (`5.0`, `1e3`). `JSON.parse` loses
 * how a number was written, and where the contract asks for an integer it is digits with an optional minus.
 */
export const positionsOfWrittenFractions = (body: unknown): readonly NumberPosition[] =>
  (typeof body === 'object' && body !== null && integersWrittenAsFractions.get(body)) || [];

/** A number written with a fraction or an exponent, or with both. */
const WRITTEN_FRACTION = /[.eE]/;

/** The reviver of ECMAScript 2026, whose third argument has the text of a number. */
type Reviver = (this: unknown, key: string, value: unknown, context?: { readonly source?: string }) => unknown;

function parseWhole(bytes: Buffer, scanner: JsonBoundsScanner): ParsedBody {
  return { value: parse(bytes.toString(encodingOf(scanner)), scanner), longTexts: NO_LONG_TEXTS };
}

/** Stands first in what takes the place of a long text; a document with an escape for it is parsed as a whole. */
const PLACEHOLDER = 0;

/** Parses a small text with a placeholder for each long one, which is then taken from the bytes directly or left there. */
function parseAroundLongTexts(bytes: Buffer, scanner: JsonBoundsScanner, fields: readonly string[]): ParsedBody {
  const { longTexts } = scanner;
  const encoding = encodingOf(scanner);
  let text = '';
  let at = 0;
  for (const [index, { start, end }] of longTexts.entries()) {
    text += `${bytes.toString(encoding, at, start)}\\u0000${index}`;
    at = end;
  }
  text += bytes.toString(encoding, at);
  const textOf = (value: unknown): TextInBytes | undefined => {
    if (typeof value !== 'string' || value.charCodeAt(0) !== PLACEHOLDER) return undefined;
    const place = longTexts[Number(value.slice(1))];
    return new TextInBytes(bytes.subarray(place?.start, place?.end));
  };
  const root = parse(text, scanner);
  const kept = keepLongTexts(root, fields, textOf);
  return { value: textOf(root)?.toString() ?? root, longTexts: kept };
}

const encodingOf = ({ hasNonAscii }: JsonBoundsScanner): 'utf8' | 'latin1' => (hasNonAscii ? 'utf8' : 'latin1');

function parse(text: string, { hasFraction }: JsonBoundsScanner): unknown {
  const positions: NumberPosition[] = [];
  const reviver: Reviver = function (key, inner, { source } = {}) {
    if (typeof inner === 'number' && Number.isInteger(inner) && source !== undefined && WRITTEN_FRACTION.test(source))
      positions.push({ holder: this as object, key });
    return inner;
  };
  try {
    const document = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
    const value: unknown = hasFraction ? JSON.parse(document, reviver) : JSON.parse(document);
    if (positions.length > 0 && typeof value === 'object' && value !== null)
      integersWrittenAsFractions.set(value, positions);
    return value;
  } catch (error) {
    throw new JsonRejectedError('syntax', 'not valid JSON', error);
  }
}
