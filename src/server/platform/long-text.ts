import { asObject, type UntrustedObject } from '../../contract/objects.ts';
import { containersOf } from './json.ts';

/** Texts of this length, pictures in Base64 as a rule, are not made as a whole where that can be avoided. */
export const LONG_TEXT_LENGTH = 64 * 1024;
/** Bytes made at a time. Divisible by 3, so that each of a file's pieces is Base64 without padding. */
const PIECE_BYTES = 48 * 1024;

/**
 * A long text that is made piece by piece, where it is needed: 13 MB at once hold everything else up for 10 to 60 ms
 * while the system finds memory for them.
 */
export abstract class LongText {
  /** Characters, all ASCII or, where they are not checked yet, Latin-1. */
  abstract readonly length: number;
  /** The text in bytes of its own, from the first on each time it is called. */
  abstract pieces(): Generator<Buffer>;

  /** The whole of it. */
  toString(): string {
    return Buffer.concat([...this.pieces()]).toString('utf8');
  }
}

/** Whether two texts have the same characters, whatever they are kept in. */
export const isSameText = (a: string | LongText, b: string | LongText): boolean => {
  if (a.length !== b.length) return false;
  return a instanceof TextInBytes && b instanceof TextInBytes ? a.equals(b) : String(a) === String(b);
};

/** A text in the bytes of a request's body, which must live as long. Its characters are bytes. */
export class TextInBytes extends LongText {
  readonly bytes: Buffer;
  readonly length: number;

  constructor(bytes: Buffer) {
    super();
    this.bytes = bytes;
    this.length = bytes.length;
  }

  slice(start: number, end?: number): string {
    return this.bytes.toString('latin1', start, end);
  }

  endsWith(text: string): boolean {
    return this.slice(Math.max(0, this.length - text.length)) === text;
  }

  /** The same without its first characters. */
  skip(characters: number): TextInBytes {
    return new TextInBytes(this.bytes.subarray(characters));
  }

  equals(other: TextInBytes): boolean {
    return this.bytes.equals(other.bytes);
  }

  override toString(): string {
    return this.bytes.toString('utf8');
  }

  *pieces(): Generator<Buffer> {
    // Copies: a connection may still be writing a piece when the body's memory is given back. The length of the bytes is 0 from then on: a
    // vendor that answered before it had read everything gets no more.
    for (let at = 0; at < this.bytes.length; at += PIECE_BYTES)
      yield Buffer.from(this.bytes.subarray(at, at + PIECE_BYTES));
  }
}

/** A text that exists as such, of ASCII alone. */
export class TextInString extends LongText {
  readonly #text: string;
  readonly length: number;

  constructor(text: string) {
    super();
    this.#text = text;
    this.length = text.length;
  }

  *pieces(): Generator<Buffer> {
    for (let at = 0; at < this.length; at += LONG_TEXT_LENGTH)
      yield Buffer.from(this.#text.slice(at, at + LONG_TEXT_LENGTH), 'latin1');
  }
}

/** A file as Base64. */
export class Base64OfFile extends LongText {
  readonly #bytes: Buffer;
  readonly length: number;

  constructor(bytes: Buffer) {
    super();
    this.#bytes = bytes;
    this.length = Math.ceil(bytes.length / 3) * 4;
  }

  *pieces(): Generator<Buffer> {
    const { length } = this.#bytes;
    for (let at = 0; at < length; at += PIECE_BYTES)
      yield Buffer.from(this.#bytes.toString('base64', at, at + PIECE_BYTES), 'latin1');
  }
}

/** A long text with a short one in front. */
export class PrefixedText extends LongText {
  readonly #prefix: string;
  readonly #text: LongText;
  readonly length: number;

  constructor(prefix: string, text: LongText) {
    super();
    this.#prefix = prefix;
    this.#text = text;
    this.length = prefix.length + text.length;
  }

  *pieces(): Generator<Buffer> {
    yield Buffer.from(this.#prefix, 'latin1');
    yield* this.#text.pieces();
  }
}

/** What stands for a long text where it is stored or shown. */
export const cutText = (start: string, length: number): string => `${start}…[cut, ${length} characters]`;

/** Characters of a long text that its field keeps: enough to see what it is, and so few that storing it cuts no more. */
const KEPT_LENGTH = 960;

/** Long texts of a body that were left in its bytes, by their field: `image`, `images.0`, `input_reference.image_url`. */
export type KeptLongTexts = ReadonlyMap<string, TextInBytes>;

export const NO_LONG_TEXTS: KeptLongTexts = new Map();

/**
 * Puts long texts into a body that was parsed without them. Those of `fields` of the root, or directly inside one, stay bytes; the body gets
 * their first characters.
 *
 * @param textOf the text a value stands for; undefined for any other value
 */
export function keepLongTexts(
  root: unknown,
  fields: readonly string[],
  textOf: (value: unknown) => TextInBytes | undefined,
): KeptLongTexts {
  const kept = new Map<string, TextInBytes>();
  const keep = (holder: Record<string, unknown>, key: string, path: string): void => {
    const text = textOf(holder[key]);
    if (text === undefined) return;
    kept.set(path, text);
    holder[key] = cutText(text.slice(0, KEPT_LENGTH), text.length);
  };
  const object = asObject(root) as Record<string, unknown> | undefined;
  for (const field of object === undefined ? [] : fields.filter((name) => Object.hasOwn(object, name))) {
    keep(object as Record<string, unknown>, field, field);
    const inner = object?.[field];
    if (typeof inner !== 'object' || inner === null) continue;
    for (const key of Object.keys(inner)) keep(inner as Record<string, unknown>, key, `${field}.${key}`);
  }
  for (const holder of containersOf(root) as Iterable<Record<string, unknown>>)
    for (const key of Object.keys(holder)) {
      const text = textOf(holder[key]);
      if (text !== undefined) holder[key] = text.toString();
    }
  return kept;
}

/**
 * A body with the whole texts where they were cut; what holds them is copied.
 *
 * @param form of such a text; default: a string
 */
export function withLongTexts(
  body: UntrustedObject,
  kept: KeptLongTexts,
  form: (text: TextInBytes, path: string) => unknown = String,
): UntrustedObject {
  const whole: Record<string, unknown> = { ...body };
  for (const [path, text] of kept) {
    // The fields have no dots, the names inside them may have some: what follows the first dot is one name.
    const dot = path.indexOf('.');
    if (dot < 0) whole[path] = form(text, path);
    else {
      const field = path.slice(0, dot);
      const key = path.slice(dot + 1);
      const inner = whole[field] as Record<string, unknown> | unknown[];
      whole[field] = Object.assign(Array.isArray(inner) ? [...inner] : { ...inner }, { [key]: form(text, path) });
    }
  }
  return whole;
}

/** Characters looked at together; each window but the last decodes to whole bytes. */
const WINDOW_LENGTH = 64 * 1024;
const decoded = Buffer.allocUnsafeSlow((WINDOW_LENGTH / 4) * 3);

/** How many characters at the end of a Base64 text stand for no bits. */
export const paddingLength = (base64: string | TextInBytes): number =>
  base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;

/**
 * Whether a text is Base64 with its padding (RFC 4648, section 4) and nothing else. Node decodes many characters at a time but passes over
 * those that do not belong, so that fewer bytes come out: 13 MB take 4 ms, and 75 by a regular expression, during which nothing else runs.
 */
export function isBase64(text: string | TextInBytes): boolean {
  const { length } = text;
  if (length % 4 !== 0) return false;
  const padding = paddingLength(text);
  if (typeof text !== 'string') return isAlphabetOnly(text.bytes.subarray(0, length - padding));
  for (let at = 0; at < length; at += WINDOW_LENGTH) {
    const window = text.slice(at, at + WINDOW_LENGTH);
    const bytes = (window.length / 4) * 3 - (at + WINDOW_LENGTH >= length ? padding : 0);
    // Of characters above U+00FF the decoder might see the lower byte alone.
    if (Buffer.byteLength(window) !== window.length || decoded.write(window, 'base64') !== bytes) return false;
  }
  // It knows the alphabet of section 5 as well.
  return !text.includes('-') && !text.includes('_');
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** 1 for two characters of the alphabet, whichever stands first. */
let pairs: Uint8Array | undefined;

function alphabetPairs(): Uint8Array {
  const codes = Array.from(ALPHABET, (character) => character.charCodeAt(0));
  const table = new Uint8Array(0x1_00_00);
  for (const first of codes) for (const second of codes) table[(first << 8) | second] = 1;
  return table;
}

/** Two bytes at a time, without making texts of them: 13 MB take 4 ms. */
function isAlphabetOnly(bytes: Buffer): boolean {
  pairs ??= alphabetPairs();
  const table = pairs;
  const isIn = (byte: number | undefined): boolean => byte === undefined || table[(byte << 8) | 0x41] === 1;
  // Pairs lie at even places of the memory; the first and the last byte may have none.
  const start = bytes.byteOffset % 2;
  const words = new Uint16Array(bytes.buffer, bytes.byteOffset + start, Math.max(0, bytes.length - start) >> 1);
  let isAll = 1;
  for (let at = 0; at < words.length; at++) isAll &= table[words[at] as number] as number;
  return isAll === 1 && isIn(bytes[0]) && isIn(bytes.at(-1));
}
