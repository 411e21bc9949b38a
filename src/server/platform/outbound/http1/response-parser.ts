import { errors } from '../undici-without-fetch.ts';

/** What a response is given to as it is read. */
export interface ResponseReceiver {
  /** True while it takes no more: what has been received behind that is handed back. */
  readonly paused: boolean;
  /** The final status; `headers` have lower-case names, repeated ones joined by ", ". */
  head(status: number, headers: Record<string, string>): void;
  /** The content, without any framing. */
  data(bytes: Buffer): void;
}

/** Status line and headers together, and the trailers of a chunked body. What Node.js allows too. */
const MAX_HEAD_BYTES = 16 * 1024;
const MAX_CHUNK_LINE_BYTES = 1024;
const CR = 0x0d;
const LF = 0x0a;
const HEAD_END = Buffer.from('\r\n\r\n');
const START = 'HTTP/1.';
const NOT_HTTP = 'the head of the response is not HTTP/1.1';
const NOTHING = Buffer.alloc(0);

const VALUE = String.raw`[\t\x20-\x7e\x80-\xff]*`;
const FIELD = String.raw`[!#$%&'*+.^_\`|~0-9A-Za-z-]+:${VALUE}`;
/** RFC 9112 sections 4 and 5, without the folded lines of section 5.2, which nobody sends any more. */
const HEAD = new RegExp(String.raw`^HTTP/1\.[01] [1-9]\d\d(?: ${VALUE})?(?:\r\n${FIELD})*$`);
const TRAILERS = new RegExp(String.raw`^${FIELD}(?:\r\n${FIELD})*$`);
/** RFC 9112 section 7.1; 13 digits are what a number holds exactly. */
const CHUNK_LINE = new RegExp(`^([0-9A-Fa-f]{1,13})(?:;${VALUE})?$`);
const DIGITS = /^\d{1,15}$/;
const CLOSE = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i;
const KEEP_ALIVE = /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/i;

type State = 'head' | 'length' | 'until close' | 'chunk line' | 'chunk' | 'chunk end' | 'trailers' | 'complete';

/**
 * Reads the responses of one HTTP/1.1 connection (RFC 9112), one at a time, however their bytes are split. Strict: what is framed
 * ambiguously (two lengths, a length beside a transfer coding, bare line feeds) is refused, as another reader might see another
 * response in it. Interim responses are passed over; trailers are checked and dropped.
 */
export class ResponseParser {
  #state: State = 'complete';
  /** Bytes the body, or its present chunk, still has. */
  #left = 0;
  /** The beginning of a head, a chunk's line or trailers whose end has not come. */
  #partial: Buffer | undefined;
  /** Whether the connection may carry another request after this response. */
  keepsAlive = false;
  /** What the other side says about how long it keeps an idle connection, in ms. */
  keepAliveHintMs: number | undefined;

  /** Expects the response of the next request. */
  begin(): void {
    this.#state = 'head';
    this.#partial = undefined;
  }

  get isComplete(): boolean {
    return this.#state === 'complete';
  }

  /** Whether the end of the connection is the end of the body (RFC 9112 section 6.3, rule 8). */
  get endsWithConnection(): boolean {
    return this.#state === 'until close';
  }

  /**
   * @returns what was not read, as the receiver has paused or the response is complete
   * @throws HTTPParserError, HeadersOverflowError, and what the receiver throws; nothing may be parsed after that
   */
  parse(bytes: Buffer, receiver: ResponseReceiver): Buffer {
    let rest = this.#partial === undefined ? bytes : Buffer.concat([this.#partial, bytes]);
    this.#partial = undefined;
    while (rest.length > 0 && !receiver.paused && this.#state !== 'complete') rest = this.#step(rest, receiver);
    return rest;
  }

  #step(bytes: Buffer, receiver: ResponseReceiver): Buffer {
    switch (this.#state) {
      case 'head':
        return this.#readHead(bytes, receiver);
      case 'length':
        return this.#readData(bytes, receiver, 'complete');
      case 'chunk':
        return this.#readData(bytes, receiver, 'chunk end');
      case 'chunk end':
        return this.#readChunkEnd(bytes);
      case 'chunk line':
        return this.#readChunkLine(bytes);
      case 'trailers':
        return this.#readTrailers(bytes);
      case 'until close':
        receiver.data(bytes);
        return NOTHING;
      case 'complete':
        return bytes;
    }
  }

  #readHead(bytes: Buffer, receiver: ResponseReceiver): Buffer {
    const end = findHeadEnd(bytes);
    if (end === -1 && !START.startsWith(bytes.toString('latin1', 0, START.length))) throw malformed(NOT_HTTP);
    if (end === -1) return this.#wait(bytes);
    const text = bytes.toString('latin1', 0, end);
    if (!HEAD.test(text)) throw malformed(NOT_HTTP);
    const status = Number(text.slice(9, 12));
    if (status === 101) throw malformed('the protocol was switched, which nobody asked for');
    const rest = bytes.subarray(end + HEAD_END.length);
    if (status < 200) return rest;
    const headers = readFields(text);
    this.#frame(status, headers, text[7] === '1');
    receiver.head(status, headers);
    return rest;
  }

  /** RFC 9112 section 6.3; requests are never HEAD or CONNECT. */
  #frame(status: number, headers: Readonly<Record<string, string>>, isHttp11: boolean): void {
    const { connection, 'content-length': length, 'transfer-encoding': coding, 'keep-alive': hint } = headers;
    this.keepsAlive =
      connection === undefined ? isHttp11 : !CLOSE.test(connection) && (isHttp11 || KEEP_ALIVE.test(connection));
    const seconds = hint === undefined ? null : /timeout=(\d{1,9})/.exec(hint);
    this.keepAliveHintMs = seconds === null ? undefined : Number(seconds[1]) * 1_000;
    if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || length !== undefined))
      throw malformed('the response has a transfer coding that is not known, or a length beside it');
    if (length !== undefined && !DIGITS.test(length)) throw malformed('the length of the response is not a number');
    this.#left = length === undefined ? 0 : Number(length);
    if (status === 204 || status === 304 || (length !== undefined && this.#left === 0)) this.#state = 'complete';
    else if (length !== undefined) this.#state = 'length';
    else this.#state = coding === undefined ? 'until close' : 'chunk line';
    if (this.#state === 'until close' || (coding !== undefined && !isHttp11)) this.keepsAlive = false;
  }

  #readData(bytes: Buffer, receiver: ResponseReceiver, next: State): Buffer {
    const length = Math.min(bytes.length, this.#left);
    this.#left -= length;
    if (this.#left === 0) this.#state = next;
    receiver.data(length === bytes.length ? bytes : bytes.subarray(0, length));
    return length === bytes.length ? NOTHING : bytes.subarray(length);
  }

  #readChunkLine(bytes: Buffer): Buffer {
    const end = bytes.indexOf(LF);
    if ((end === -1 ? bytes.length : end) > MAX_CHUNK_LINE_BYTES) throw malformed('the line of a chunk is too long');
    if (end === -1) return this.#wait(bytes);
    const line = bytes[end - 1] === CR ? CHUNK_LINE.exec(bytes.toString('latin1', 0, end - 1)) : null;
    if (line?.[1] === undefined) throw malformed('the line of a chunk is not its size');
    this.#left = Number.parseInt(line[1], 16);
    this.#state = this.#left === 0 ? 'trailers' : 'chunk';
    return bytes.subarray(end + 1);
  }

  #readChunkEnd(bytes: Buffer): Buffer {
    if (bytes[0] !== CR || (bytes.length > 1 && bytes[1] !== LF)) throw malformed('a chunk is longer than its size');
    if (bytes.length === 1) return this.#wait(bytes);
    this.#state = 'chunk line';
    return bytes.subarray(2);
  }

  #readTrailers(bytes: Buffer): Buffer {
    if (bytes[0] === CR && bytes[1] === LF) {
      this.#state = 'complete';
      return bytes.subarray(2);
    }
    const end = findHeadEnd(bytes);
    if (end === -1) return this.#wait(bytes);
    if (!TRAILERS.test(bytes.toString('latin1', 0, end)))
      throw malformed('the trailers of the response are not header fields');
    this.#state = 'complete';
    return bytes.subarray(end + HEAD_END.length);
  }

  #wait(bytes: Buffer): Buffer {
    this.#partial = bytes;
    return NOTHING;
  }
}

/** Where the lines of a head or trailers end; -1 where the end has not come. @throws HeadersOverflowError */
function findHeadEnd(bytes: Buffer): number {
  const end = bytes.indexOf(HEAD_END);
  // Of an end that is cut off three bytes may be there.
  if ((end === -1 ? bytes.length - 3 : end) > MAX_HEAD_BYTES) throw new errors.HeadersOverflowError();
  return end;
}

/** The header fields behind the first line of a head that has been checked. */
function readFields(text: string): Record<string, string> {
  const headers: Record<string, string> = {};
  let start = text.indexOf('\r\n') + 2;
  while (start > 1) {
    const next = text.indexOf('\r\n', start);
    const colon = text.indexOf(':', start);
    const name = text.slice(start, colon).toLowerCase();
    const value = trimBlanks(text, colon + 1, next === -1 ? text.length : next);
    headers[name] = Object.hasOwn(headers, name) ? `${headers[name]}, ${value}` : value;
    start = next === -1 ? 0 : next + 2;
  }
  return headers;
}

/** Blanks and tabs alone: other white space of Unicode is part of a value. */
function trimBlanks(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;

const malformed = (message: string): Error => new errors.HTTPParserError(message);
