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
