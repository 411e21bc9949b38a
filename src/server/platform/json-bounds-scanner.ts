import { isAscii } from 'node:buffer';
import { hasControlCharacter } from './has-control-character.ts';
import { LONG_TEXT_LENGTH } from './long-text.ts';
import { JsonRejectedError } from './parse-untrusted-json.ts';

/** What a JSON document may have before it is parsed. A wider one costs more to parse and to check than to send. */
export interface JsonScanBounds {
  /** Levels of arrays and objects. */
  readonly maxDepth: number;
  /** Values in the whole document: members, elements and the root. */
  readonly maxValues: number;
}

/** Bytes of one member name; the longest names in use are paths and identifiers of some hundred characters. */
const MAX_KEY_BYTES = 1_024;
/** Bytes of one number; a double needs 25. */
const MAX_NUMBER_BYTES = 128;
/** Bytes outside of strings: punctuation, numbers, white space. Indented documents of the widest kind stay below. */
const MAX_BYTES_OUTSIDE_STRINGS = 8 * 1024 * 1024;
/** Escapes in all strings together: what a megabyte of Chinese needs where every character is escaped, several times over. */
const MAX_ESCAPES = 2_000_000;
/** Longest name that `isPollutingName` needs to see: `constructor`. */
const KEPT_KEY_BYTES = 12;

/** Bytes of a string that are read one by one before those that follow are searched many at a time. */
const SHORT_TEXT_BYTES = 64;
/** Searched at a time: so few that finding something early in it, again and again, costs little. */
const WINDOW_BYTES = 4 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const SMALL_U = 0x75;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** What the bytes between two pushes belong to. */
const OUTSIDE = 0;
const IN_STRING = 1;
const AFTER_BACKSLASH = 2;
const IN_UNICODE_ESCAPE = 3;

/**
 * Reads a JSON document byte by byte as it arrives and stops at the first violation of its bounds, so that a hostile body is
 * rejected before it was received as a whole and before anything was built from it. It does not check the grammar, which is
 * left to `JSON.parse`, but notes what later checks need to know so that they can be skipped for ordinary documents.
 *
 * One pass costs about a nanosecond a byte, a tenth of it inside long texts, and no memory.
 */
export class JsonBoundsScanner {
  /** A byte above 0x7F: the text is not ASCII, so its UTF-8 must be checked. */
  hasNonAscii = false;
  /** An escape for U+0000 or for a surrogate, which may be a lone one. */
  hasSuspectEscape = false;
  /** A member name that may pollute a prototype: `__proto__`, `constructor`, or one with an escape in it. */
  hasSuspectKey = false;
  /** A number written with a fraction or an exponent. */
  hasFraction = false;
  /** Values directly in the root: members written, those with the same name counted each. */
  rootMembers = 0;
  /** Values of the document so far: members, elements and the root. */
  values = 0;
  /**
   * Texts from 64 KiB on, by their first byte and the one after their last: pictures in Base64, as a rule. Those with escapes or with control
   * characters, which JSON forbids there, are not among them: `JSON.parse` must see them.
   */
  readonly longTexts: { readonly start: number; readonly end: number }[] = [];

  readonly #bounds: JsonScanBounds;
  /** By level. Of up to 64 bytes, which the engine keeps beside the object; more would be allocated apart. */
  readonly #isObject: Uint8Array;
  #depth = 0;
  #outside = 0;
  #state = OUTSIDE;
  #atKey = false;
  #isKey = false;
  /** Bytes of the chunks before this one. */
  #before = 0;
  #textStart = 0;
  /** Neither an escape nor a control character in it so far. */
  #isPlainText = true;
  #inScalar = false;
  #scalarBytes = 0;
  #keyBytes = 0;
  readonly #keyStart = Buffer.allocUnsafe(KEPT_KEY_BYTES);
  #escapes = 0;
  #escapeDigits = 0;
  #escapeValue = 0;

  constructor(bounds: JsonScanBounds) {
    this.#bounds = bounds;
    this.#isObject = new Uint8Array(bounds.maxDepth);
  }

  /** @throws JsonRejectedError `depth`, `keys` or `width` */
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
        this.#textStart = this.#before + at;
        this.#isPlainText = true;
        break;
      }
      if (byte <= 0x20) this.#inScalar = false;
      else if (byte === COMMA) {
        this.#inScalar = false;
        this.#atKey = this.#depth > 0 && this.#isObject[this.#depth - 1] === 1;
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

  /** A byte of a number or of a word. */
  #pushScalar(byte: number): void {
    if (!this.#inScalar) {
      this.#inScalar = true;
      this.#scalarBytes = 0;
      this.#countValue();
    }
    // A byte order mark, or what is no JSON: either must be decoded as UTF-8.
    if (byte > 0x7f) this.hasNonAscii = true;
    if (++this.#scalarBytes > MAX_NUMBER_BYTES) throw tooWide(`a number of more than ${MAX_NUMBER_BYTES} characters`);
    // `.`, `E`, `e`: the words true and false have an e too, which costs a needless check and no more.
    if (byte === 0x2e || byte === 0x45 || byte === 0x65) this.hasFraction = true;
  }

  #open(isObject: boolean): void {
    this.#inScalar = false;
    this.#countValue();
    const { maxDepth } = this.#bounds;
    if (++this.#depth > maxDepth) throw new JsonRejectedError('depth', `JSON deeper than ${maxDepth} levels`);
    this.#isObject[this.#depth - 1] = isObject ? 1 : 0;
    this.#atKey = isObject;
  }

  #countValue(): void {
    const { maxValues } = this.#bounds;
    if (this.#depth === 1) this.rootMembers++;
    if (++this.values > maxValues) throw tooWide(`JSON with more than ${maxValues} values`);
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
        // Nearly all escapes are a single letter and stand in one piece.
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
    // Of what is short `JSON.parse` sees every character.
    const mayBeLong = at >= length || this.#isLongText(at);
    if (mayBeLong && this.#isPlainText) this.#isPlainText = !hasControlCharacter(chunk.subarray(start, end));
    if (at >= length) return length;
    if (this.#state === IN_STRING) this.#endString(at);
    return at + 1;
  }

  /** Where the next quote or backslash is, or the end of the chunk. */
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
    this.#isPlainText = false;
    if (this.#isKey) this.hasSuspectKey = true;
  }

  #keepKey(chunk: Buffer, start: number, end: number): void {
    for (let at = start; at < end && this.#keyBytes + at - start < KEPT_KEY_BYTES; at++)
      this.#keyStart[this.#keyBytes + at - start] = chunk[at] as number;
    this.#keyBytes += end - start;
    if (this.#keyBytes > MAX_KEY_BYTES) throw tooWide(`a member name of more than ${MAX_KEY_BYTES} bytes`);
  }

  /** Whether the text that ends at this place of the chunk is one of those that are not parsed with the rest. */
  #isLongText(end: number): boolean {
    return this.#before + end - this.#textStart >= LONG_TEXT_LENGTH;
  }

  #endString(end: number): void {
    this.#state = OUTSIDE;
    if (this.#isPlainText && this.#isLongText(end))
      this.longTexts.push({ start: this.#textStart, end: this.#before + end });
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
    // Malformed: `JSON.parse` says so.
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

const tooWide = (message: string): JsonRejectedError => new JsonRejectedError('width', message);
