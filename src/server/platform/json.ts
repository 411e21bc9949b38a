import { isAscii, isUtf8 } from 'node:buffer';
import { Base64Text, decodeBase64, imageTooLarge, LONG_TEXT_LENGTH, MAX_IMAGE_LENGTH } from './base64.ts';
import { cutText, isWellFormedText } from './text.ts';

/**
 * Parses external JSON (callers' requests: `JsonBoundsScanner`) and checks the text inside. `JSON.parse` alone accepts
 * input that is dangerous later: nesting that overflows recursive code, and the keys `__proto__` and
 * `constructor.prototype`, which turn a later merge into prototype pollution.
 */

export type JsonRejectionReason = 'syntax' | 'depth' | 'width' | 'prototype' | 'text';

/** Thrown by `parseJson`; `message` may be shown to the sender of the text and never quotes it. */
export class JsonRejectedError extends SyntaxError {
  readonly reason: JsonRejectionReason;
  constructor(reason: JsonRejectionReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'JsonRejectedError';
    this.reason = reason;
  }
}

interface JsonOptions {
  /**
   * Converts whole numbers beyond 2^53 to text with all their digits; by default they are rounded, as by `JSON.parse`.
   */
  readonly longIntegersAsText?: boolean;
}

/** Levels of arrays and objects. */
const MAX_DEPTH = 64;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const SMALL_U = 0x75;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Quick check whether a polluting key may be present, plain or with escaped ASCII letters. Strings may trigger it too.
 */
const POLLUTING_HINT = /__proto__|constructor|\\u00/i;

/**
 * Parses JSON of at most 64 levels. A leading byte order mark is ignored (RFC 8259 section 8.1); the last of duplicate
 * keys wins.
 * @throws JsonRejectedError `depth`, `syntax` or `prototype`
 */
export function parseJson(source: string | Buffer, { longIntegersAsText = false }: JsonOptions = {}): unknown {
  let text = typeof source === 'string' ? source : source.toString('utf8');
  if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
  assertShallow(text);
  const value = parse(text, longIntegersAsText && LONG_INTEGER_HINT.test(text));
  if (POLLUTING_HINT.test(text)) assertNoPollutingKeys(value);
  return value;
}

/** Like `parseJson`; undefined for a document it rejects. */
export function tryParse(source: string | Buffer, options?: JsonOptions): unknown {
  try {
    return parseJson(source, options);
  } catch (error) {
    if (error instanceof JsonRejectedError) return undefined;
    throw error;
  }
}

function parse(text: string, longIntegersAsText: boolean): unknown {
  try {
    return longIntegersAsText ? JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch (error) {
    throw new JsonRejectedError('syntax', 'not valid JSON', error);
  }
}

/** Quick check whether a whole number beyond 2^53 may be present. */
const LONG_INTEGER_HINT = /[:[,\s-]\d{16,}/;

/** A reviver of `JSON.parse` (ECMAScript, source text access). */
const keepDigits = (_key: string, value: unknown, { source }: { readonly source?: string } = {}): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source)
    ? source
    : value;

/**
 * Scans the text before any value is created, because a megabyte of brackets becomes many megabytes of arrays. Malformed
 * text is left to `JSON.parse`.
 */
function assertShallow(text: string): void {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) isInString = true;
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (++depth > MAX_DEPTH) throw tooDeep();
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth--;
  }
}

/** @throws JsonRejectedError `prototype` */
export function assertNoPollutingKeys(root: unknown): void {
  for (const object of containersOf(root)) {
    if (Array.isArray(object)) continue;
    if (Object.hasOwn(object, '__proto__'))
      throw new JsonRejectedError('prototype', 'the key __proto__ is not allowed');
    if (!Object.hasOwn(object, 'constructor')) continue;
    const inner = (object as { constructor: unknown }).constructor;
    if (typeof inner === 'object' && inner !== null && Object.hasOwn(inner, 'prototype')) {
      throw new JsonRejectedError('prototype', 'the key constructor.prototype is not allowed');
    }
  }
}

/** Every object and array inside a value, including the value itself, without recursion. */
function* containersOf(root: unknown): Generator<object> {
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value !== 'object' || value === null) continue;
    yield value;
    for (const inner of Array.isArray(value) ? value : Object.values(value)) {
      if (typeof inner === 'object' && inner !== null) waiting.push(inner);
    }
  }
}

/** Whether every string inside a value, including keys, is well-formed text. */
export function hasWellFormedText(root: unknown): boolean {
  if (typeof root === 'string') return isWellFormedText(root);
  for (const container of containersOf(root)) {
    if (!Array.isArray(container) && !Object.keys(container).every(isWellFormedText)) return false;
    for (const value of Array.isArray(container) ? container : Object.values(container)) {
      if (typeof value === 'string' && !isWellFormedText(value)) return false;
    }
  }
  return true;
}

/** Values of a parsed document of limited depth: members, elements and the root. */
export function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) count += countValues(inner);
  return count;
}

/** Whether a value parsed elsewhere is within the depth and number of values permitted for a request body. */
export function isWithinBounds(root: unknown): boolean {
  const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;
  let level = [root].filter(isContainer);
  let values = 1;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === MAX_DEPTH) return false;
    const next: object[] = [];
    for (const container of level) {
      const inner = Object.values(container);
      values += inner.length;
      if (values > DEFAULT_MAX_VALUES) return false;
      for (const value of inner) if (isContainer(value)) next.push(value);
    }
    level = next;
  }
  return true;
}

/**
 * Values in a request body: members, elements and the root. Far more than the longest conversation has; a million
 * values would cost more to parse and validate than to send.
 */
const DEFAULT_MAX_VALUES = 50_000;

/** Bytes of one member name; the longest names in use are paths and identifiers of a few hundred characters. */
const MAX_KEY_BYTES = 1_024;
/** Bytes of one number; a double needs 25. */
const MAX_NUMBER_BYTES = 128;
/** Bytes outside of strings: punctuation, numbers, white space. Even the widest indented documents stay below. */
const MAX_BYTES_OUTSIDE_STRINGS = 8 * 1024 * 1024;
/** Escapes in all strings together: several times those of a megabyte of fully escaped Chinese text. */
const MAX_ESCAPES = 2_000_000;
/** Longest name that `isPollutingName` must see: `constructor`. */
const KEPT_KEY_BYTES = 12;

/** Bytes of a string that are read one by one before the scanner switches to searching many at a time. */
const SHORT_TEXT_BYTES = 64;
/** Bytes searched at a time; small, so that repeated early matches cost little. */
const WINDOW_BYTES = 4 * 1024;

/** The state between two pushes. */
const OUTSIDE = 0;
const IN_STRING = 1;
const AFTER_BACKSLASH = 2;
const IN_UNICODE_ESCAPE = 3;

/** A long string of a document. */
interface LongString {
  /** Offset of its first byte and of its closing quote. */
  readonly start: number;
  readonly end: number;
  /** Its path, level by level: the index in an array, the first byte of the name in an object. */
  readonly places: readonly number[];
}

/**
 * Scans a JSON document byte by byte as it arrives and stops at the first exceeded limit, so that a hostile body is
 * rejected before it was fully received and before any value was created. The scanner leaves the grammar to
 * `JSON.parse`, but records facts by which later checks can be skipped for ordinary documents. One pass costs about a
 * nanosecond per byte, a tenth of it inside long strings, and no memory.
 */
export class JsonBoundsScanner {
  /** Contains a byte above 0x7F, so the text is not ASCII and its UTF-8 must be checked. */
  hasNonAscii = false;
  /** Contains an escape for U+0000 or for a surrogate, which may be a lone one. */
  hasSuspectEscape = false;
  /** Contains a member name that may pollute a prototype: `__proto__`, `constructor`, or one with an escape. */
  hasSuspectKey = false;
  /** Contains a number written with a fraction or an exponent. */
  hasFraction = false;
  /** Values directly in the root: members as written, including duplicate names. */
  rootMembers = 0;
  /** Values of the document so far: members, elements and the root. */
  values = 0;
  /** Strings of 64 KiB and more without escapes, usually Base64 images. */
  readonly longStrings: LongString[] = [];

  readonly #maxValues: number;
  /** By level: whether it is an object. */
  readonly #isObject: boolean[] = [];
  #depth = 0;
  #outside = 0;
  #state = OUTSIDE;
  #atKey = false;
  #isKey = false;
  /** Total bytes of the previous chunks. */
  #before = 0;
  #stringStart = 0;
  #hasEscape = false;
  /** By level: the index of the current element, or the first byte of the current name. */
  readonly #places: number[] = [];
  #inScalar = false;
  #scalarBytes = 0;
  #keyBytes = 0;
  readonly #keyStart = Buffer.allocUnsafe(KEPT_KEY_BYTES);
  #escapes = 0;
  #escapeDigits = 0;
  #escapeValue = 0;

  constructor(maxValues = DEFAULT_MAX_VALUES) {
    this.#maxValues = maxValues;
  }

  /** @throws JsonRejectedError `depth` or `width` */
  push(chunk: Buffer): void {
    const { length } = chunk;
    let at = 0;
    while (at < length) {
      if (this.#state === OUTSIDE) at = this.#pushOutside(chunk, at);
      else if (this.#state === IN_STRING) at = this.#pushString(chunk, at);
      else at = this.#pushEscape(chunk[at] ?? 0, at);
    }
    this.#before += length;
  }

  #pushOutside(chunk: Buffer, start: number): number {
    const { length } = chunk;
    let at = start;
    for (; at < length; at++) {
      const byte = chunk[at] as number;
      if (byte === QUOTE) {
        this.#inScalar = false;
        this.#isKey = this.#atKey;
        this.#keyBytes = 0;
        if (!this.#isKey) this.#countValue();
        this.#state = IN_STRING;
        at++;
        this.#stringStart = this.#before + at;
        this.#hasEscape = false;
        break;
      }
      if (byte <= 0x20) this.#inScalar = false;
      else if (byte === COMMA) {
        this.#inScalar = false;
        this.#atKey = this.#depth > 0 && this.#isObject[this.#depth - 1] === true;
        if (!this.#atKey && this.#depth > 0) this.#places[this.#depth - 1] = (this.#places[this.#depth - 1] ?? 0) + 1;
      } else if (byte === COLON) {
        this.#inScalar = false;
        this.#atKey = false;
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#open(byte === OPEN_OBJECT);
      else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        this.#inScalar = false;
        if (this.#depth > 0) this.#depth--;
        this.#atKey = false;
      } else this.#pushScalar(byte);
    }
    this.#outside += at - start;
    if (this.#outside > MAX_BYTES_OUTSIDE_STRINGS) throw tooWide('too many bytes outside of strings');
    return at;
  }

  /** Handles a byte of a number or keyword. */
  #pushScalar(byte: number): void {
    if (!this.#inScalar) {
      this.#inScalar = true;
      this.#scalarBytes = 0;
      this.#countValue();
    }
    // A byte order mark, or invalid JSON: either must be decoded as UTF-8.
    if (byte > 0x7f) this.hasNonAscii = true;
    if (++this.#scalarBytes > MAX_NUMBER_BYTES) throw tooWide(`a number of more than ${MAX_NUMBER_BYTES} characters`);
    // `.`, `E`, `e`: true and false also contain an e, which only costs a needless check.
    if (byte === 0x2e || byte === 0x45 || byte === 0x65) this.hasFraction = true;
  }

  #open(isObject: boolean): void {
    this.#inScalar = false;
    this.#countValue();
    if (++this.#depth > MAX_DEPTH) throw tooDeep();
    this.#isObject[this.#depth - 1] = isObject;
    this.#places[this.#depth - 1] = 0;
    this.#atKey = isObject;
  }

  #countValue(): void {
    if (this.#depth === 1) this.rootMembers++;
    if (++this.values > this.#maxValues) throw tooWide(`JSON with more than ${this.#maxValues} values`);
  }

  #pushString(chunk: Buffer, start: number): number {
    const { length } = chunk;
    let at = start;
    let nonAscii = 0;
    for (let shortEnd = start + SHORT_TEXT_BYTES; at < length; at++) {
      if (at >= shortEnd) {
        at = this.#skipPlainText(chunk, at);
        shortEnd = at + SHORT_TEXT_BYTES;
        if (at >= length) break;
      }
      const byte = chunk[at] as number;
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        this.#countEscape();
        // Nearly all escapes are a single letter within the same chunk.
        if (at + 1 < length && chunk[at + 1] !== SMALL_U) at++;
        else {
          this.#state = AFTER_BACKSLASH;
          break;
        }
      } else nonAscii |= byte;
    }
    if (nonAscii > 0x7f) this.hasNonAscii = true;
    const end = Math.min(at, length);
    if (this.#isKey) this.#keepKey(chunk, start, end);
    if (at >= length) return length;
    if (this.#state === IN_STRING) this.#endString(at);
    return at + 1;
  }

  /** Position of the next quote or backslash, or the end of the chunk. */
  #skipPlainText(chunk: Buffer, start: number): number {
    const { length } = chunk;
    for (let at = start; at < length; at += WINDOW_BYTES) {
      let text = chunk.subarray(at, at + WINDOW_BYTES);
      const { length: window } = text;
      for (const end of [QUOTE, BACKSLASH]) {
        const found = text.indexOf(end);
        if (found >= 0) text = text.subarray(0, found);
      }
      if (!this.hasNonAscii && !isAscii(text)) this.hasNonAscii = true;
      if (text.length < window) return at + text.length;
    }
    return length;
  }

  #countEscape(): void {
    if (++this.#escapes > MAX_ESCAPES) throw tooWide(`JSON with more than ${MAX_ESCAPES} escapes`);
    this.#hasEscape = true;
    if (this.#isKey) this.hasSuspectKey = true;
  }

  #keepKey(chunk: Buffer, start: number, end: number): void {
    for (let at = start; at < end && this.#keyBytes + at - start < KEPT_KEY_BYTES; at++)
      this.#keyStart[this.#keyBytes + at - start] = chunk[at] as number;
    this.#keyBytes += end - start;
    if (this.#keyBytes > MAX_KEY_BYTES) throw tooWide(`a member name of more than ${MAX_KEY_BYTES} bytes`);
  }

  #endString(at: number): void {
    this.#state = OUTSIDE;
    const [start, end] = [this.#stringStart, this.#before + at];
    if (!this.#isKey && !this.#hasEscape && end - start >= LONG_TEXT_LENGTH)
      this.longStrings.push({ start, end, places: this.#places.slice(0, this.#depth) });
    if (this.#isKey && this.#depth > 0) this.#places[this.#depth - 1] = start;
    if (this.#isKey && (this.#keyBytes === 9 || this.#keyBytes === 11)) {
      const name = this.#keyStart.toString('latin1', 0, this.#keyBytes);
      if (name === '__proto__' || name === 'constructor') this.hasSuspectKey = true;
    }
  }

  #pushEscape(byte: number, at: number): number {
    if (this.#state === AFTER_BACKSLASH) {
      this.#state = byte === SMALL_U ? IN_UNICODE_ESCAPE : IN_STRING;
      this.#escapeDigits = 0;
      this.#escapeValue = 0;
      if (this.#isKey) this.#keyBytes++;
      return at + 1;
    }
    const digit = hexDigit(byte);
    // Malformed: `JSON.parse` reports it.
    if (digit < 0) {
      this.#state = IN_STRING;
      return at;
    }
    this.#escapeValue = this.#escapeValue * 16 + digit;
    if (++this.#escapeDigits === 4) {
      this.#state = IN_STRING;
      if (this.#escapeValue === 0 || (this.#escapeValue & 0xf800) === 0xd800) this.hasSuspectEscape = true;
    }
    return at + 1;
  }
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

const tooDeep = (): JsonRejectedError => new JsonRejectedError('depth', `JSON deeper than ${MAX_DEPTH} levels`);
const tooWide = (message: string): JsonRejectedError => new JsonRejectedError('width', message);

/**
 * Parses the body of a caller's request. In addition to `parseJson`, it refuses more values than a request needs,
 * invalid UTF-8, and text with U+0000 or lone surrogates (reason `text`), which the database would change or lose.
 * @throws JsonRejectedError
 */
export function parseRequestJson(bytes: Buffer): unknown {
  const scanner = new JsonBoundsScanner();
  scanner.push(bytes);
  return parseDecodingImages(bytes, scanner).value;
}

/** Large images of a body that were sent as Base64, by path: `image`, `images.0`, `input_reference.image_url`. */
export type BodyImages = ReadonlyMap<string, Base64Text>;

/** The images of a body without large ones. */
export const NO_IMAGES: BodyImages = new Map();

/** A parsed body and its large images; in the value, a short text describes each image. */
export interface ParsedBody {
  readonly value: unknown;
  readonly images: BodyImages;
}

/**
 * Like `parseRequestJson`, for a body that was scanned as it arrived; checks for which the scanner saw no cause are
 * skipped. Decodes Base64 of 64 KiB and more in the root's `imageFields`.
 * @throws JsonRejectedError `syntax`, `prototype` or `text`
 */
export function parseDecodingImages(
  bytes: Buffer,
  scanner: JsonBoundsScanner,
  imageFields: readonly string[] = [],
): ParsedBody {
  if (scanner.hasNonAscii && !isUtf8(bytes)) throw new JsonRejectedError('text', 'the body is not UTF-8');
  const parsed = parseAroundLongStrings(bytes, scanner, imageFields) ?? {
    value: parseText(bytes.toString(encodingOf(scanner)), scanner),
    images: NO_IMAGES,
  };
  const { value } = parsed;
  if (scanner.hasSuspectKey) assertNoPollutingKeys(value);
  if (scanner.hasSuspectEscape && !hasWellFormedText(value))
    throw new JsonRejectedError('text', 'text with U+0000 or a lone surrogate is not allowed');
  return parsed;
}

/** The position of a number in a parsed document, by its containing object or array. */
interface NumberPosition {
  readonly holder: object;
  readonly key: string;
}

const integersWrittenAsFractions = new WeakMap<object, readonly NumberPosition[]>();

/**
 * Positions of whole numbers in a parsed request body that were written with a fraction or an exponent (`5.0`, `1e3`).
 * `JSON.parse` loses the notation of a number, and an integer of the contract must be digits with an optional minus.
 */
export const findWrittenFractions = (body: unknown): readonly NumberPosition[] =>
  (typeof body === 'object' && body !== null && integersWrittenAsFractions.get(body)) || [];

/** A number written with a fraction or an exponent, or with both. */
const WRITTEN_FRACTION = /[.eE]/;

/** The reviver of ECMAScript 2026, whose third argument contains the text of a number. */
type Reviver = (this: unknown, key: string, value: unknown, context?: { readonly source?: string }) => unknown;

/**
 * Parses the document without its long strings and reinserts them afterwards, so that no string of many megabytes is
 * copied.
 * @returns undefined when `JSON.parse` must see the entire text: a name may be written with escapes or occur twice
 */
function parseAroundLongStrings(
  bytes: Buffer,
  scanner: JsonBoundsScanner,
  imageFields: readonly string[],
): ParsedBody | undefined {
  const { longStrings, hasSuspectKey, values } = scanner;
  if (longStrings.length === 0 || hasSuspectKey) return undefined;
  const encoding = encodingOf(scanner);
  let json = '';
  let at = 0;
  for (const { start, end } of longStrings) {
    json += bytes.toString(encoding, at, start);
    at = end;
  }
  const root = { value: parseText(json + bytes.toString(encoding, at), scanner) };
  if (countValues(root.value) !== values) return undefined;
  const images = new Map<string, Base64Text>();
  for (const { start, end, places } of longStrings) {
    let holder: object = root;
    let key: string | number = 'value';
    const path: (string | number)[] = [];
    for (const place of places) {
      holder = Reflect.get(holder, key) as object;
      key = Array.isArray(holder) ? place : bytes.toString('utf8', place, bytes.indexOf(QUOTE, place));
      path.push(key);
    }
    const text = bytes.subarray(start, end);
    const isImage = isImagePath(path, imageFields);
    // Refused undecoded: decoding would hold three quarters of the body's memory once more.
    if (isImage && text.length > MAX_IMAGE_LENGTH) throw imageTooLarge(nameOf(path));
    const image = isImage ? toImage(text) : undefined;
    if (image !== undefined) {
      images.set(path.join('.'), image);
      Reflect.set(holder, key, cutText(text.toString('latin1', 0, KEPT_LENGTH), text.length));
    } else Reflect.set(holder, key, assertNoControlCharacter(text.toString(encoding)));
  }
  return { value: root.value, images };
}

/** `JSON.parse` does not see a long string, in which JSON forbids control characters like in any other. */
function assertNoControlCharacter(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the characters are the subject of this check
  if (/[\u0000-\u001f]/.test(text)) throw new JsonRejectedError('syntax', 'a control character in a string');
  return text;
}

/** `images[1]`, as errors name a member. */
const nameOf = (path: readonly (string | number)[]): string =>
  path.reduce<string>(
    (name, part) => (typeof part === 'number' ? `${name}[${part}]` : name === '' ? part : `${name}.${part}`),
    '',
  );

/** A name with a dot could be mistaken for two names. */
const isImagePath = (path: readonly (string | number)[], fields: readonly string[]): boolean =>
  fields.includes(String(path[0])) && path.every((name) => !String(name).includes('.'));

const DATA_URL_PREFIX = /^data:[a-z0-9.+/-]{0,80}(?:;[a-z0-9=._+ -]{0,60}){0,4};base64,/i;

function toImage(text: Buffer): Base64Text | undefined {
  const prefix = DATA_URL_PREFIX.exec(text.toString('latin1', 0, 400))?.[0] ?? '';
  const decoded = decodeBase64(text.subarray(prefix.length));
  return decoded && new Base64Text(decoded, prefix);
}

/**
 * Characters of a decoded image that are kept to show its type: fewer than the length at which task records cut texts.
 */
const KEPT_LENGTH = 960;

const encodingOf = ({ hasNonAscii }: JsonBoundsScanner): 'utf8' | 'latin1' => (hasNonAscii ? 'utf8' : 'latin1');

function parseText(text: string, { hasFraction }: JsonBoundsScanner): unknown {
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
