import type { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { allocateRequestBytes, concatRequestBytes } from '../allocate-request-bytes.ts';
import { AppError } from '../app-error.ts';
import type { JsonBoundsScanner } from '../json-bounds-scanner.ts';
import type { KeptLongTexts } from '../keep-long-texts.ts';
import { type ParsedBody, parseKeepingLongTexts, requestScanner } from '../parse-request-json.ts';
import { JsonRejectedError } from '../parse-untrusted-json.ts';
import { type AdmissionRequest, type BodyAdmission, LARGE_BODY_BYTES } from './body-admission.ts';
import { RequestWithCollectedBody } from './request-with-collected-body.ts';

export interface JsonBodyOptions {
  /** Bytes. */
  readonly limit: number;
  /** Members, elements and the root, all together; default 50 000. */
  readonly maxValues?: number | undefined;
  /** Members of the root whose long texts stay in the bytes; default none. */
  readonly longTextFields?: readonly string[] | undefined;
  /** Who shares the budget of large bodies: the account. */
  readonly budgetKey: string;
  /** Closes when the request is over. */
  readonly response: EventEmitter;
}

export interface JsonBody {
  readonly bytes: Buffer;
  readonly value: unknown;
  /** Those that stayed in the bytes. */
  readonly longTexts: KeptLongTexts;
  /** Members the root was written with; the value has fewer where a name was written twice. */
  readonly rootMembers: number;
  /** Values the body was written with, of all levels. */
  readonly values: number;
  /** Gives the memory of the bytes back at once, where they are many. Nothing may use them any more, such as a socket. */
  discard(): void;
}

/** A request, as far as its body is concerned. */
export type BodySource = AdmissionRequest['source'] & { readonly headers: IncomingHttpHeaders };

/**
 * Reads JSON request bodies so that one of any shape is cheap to reject: its bounds are checked while it arrives, it is
 * kept once, large ones wait for admission, and what must be done in one piece is done in a turn of the event loop of its
 * own.
 */
export class JsonBodyReader {
  readonly #admission: BodyAdmission;

  constructor(admission: BodyAdmission) {
    this.#admission = admission;
  }

  /**
   * @returns undefined for an empty body
   * @throws AppError `body_too_large`, `invalid_json`, `invalid_text`; the rest of the body is then received and dropped
   */
  read(source: BodySource, options: JsonBodyOptions): Promise<JsonBody | undefined> {
    const { limit, budgetKey, response } = options;
    const announced = announcedLength(source);
    if (announced !== undefined && announced > limit) return Promise.reject(tooLarge(limit));
    const request = { source, response, budgetKey, bytes: announced ?? limit };
    return this.#admission.read(request, () => this.#readNow(source, options, announced));
  }

  async #readNow(source: BodySource, options: JsonBodyOptions, announced?: number): Promise<JsonBody | undefined> {
    const scanner = requestScanner(options.maxValues);
    try {
      const isCollected = source instanceof RequestWithCollectedBody && source.isCollected;
      const bytes = await (isCollected ? source.collectedBody() : collect(source, scanner, options.limit, announced));
      // The others were scanned piece by piece.
      if (isCollected) scanner.push(bytes);
      if (bytes.length === 0) return undefined;
      if (bytes.length > LARGE_BODY_BYTES) await nextTurn();
      return new ReadBody(bytes, parse(bytes, scanner, options.longTextFields), scanner);
    } catch (error) {
      source.resume();
      throw toRequestError(error);
    }
  }
}

class ReadBody implements JsonBody {
  readonly bytes: Buffer;
  readonly value: unknown;
  readonly longTexts: KeptLongTexts;
  readonly rootMembers: number;
  readonly values: number;

  constructor(bytes: Buffer, { value, longTexts }: ParsedBody, { rootMembers, values }: JsonBoundsScanner) {
    this.bytes = bytes;
    this.value = value;
    this.longTexts = longTexts;
    this.rootMembers = rootMembers;
    this.values = values;
  }

  discard(): void {
    discard(this.bytes);
  }
}

function parse(bytes: Buffer, scanner: JsonBoundsScanner, longTextFields: readonly string[] = []): ParsedBody {
  try {
    return parseKeepingLongTexts(bytes, scanner, longTextFields);
  } catch (error) {
    discard(bytes);
    throw error;
  }
}

/** A piece of a large body that has been copied, where nothing else lies in its memory: pieces of 13 MB would wait for the garbage collector. */
function giveBack({ buffer, byteLength }: Buffer): void {
  if (byteLength === buffer.byteLength && buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
}

/** The garbage collector would free it much later: it has outlived several collections while it was received. */
function discard({ buffer, byteLength }: Buffer): void {
  if (byteLength > LARGE_BODY_BYTES && buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
}

const toRequestError = (error: unknown): unknown =>
  error instanceof JsonRejectedError
    ? new AppError(error.reason === 'text' ? 'invalid_text' : 'invalid_json', { cause: error })
    : error;

const tooLarge = (limit: number): AppError =>
  new AppError('body_too_large', { params: { limit: `${Math.floor(limit / 1024)} KiB` } });

/** Bytes by Content-Length; undefined for a body in chunks. */
export function announcedLength({ headers }: { readonly headers: IncomingHttpHeaders }): number | undefined {
  const header = headers['content-length'];
  return header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}

const upTo = (buffer: Buffer, size: number): Buffer => (size === buffer.length ? buffer : buffer.subarray(0, size));

/** The whole body in one buffer, scanned chunk by chunk. */
function collect(source: Readable, scanner: JsonBoundsScanner, limit: number, announced?: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let whole = announced === undefined || announced > limit ? undefined : allocateRequestBytes(announced);
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (settle: () => void): void => {
      source.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
      settle();
    };
    const onData = (chunk: Buffer): void => {
      try {
        if (size + chunk.length > limit) throw tooLarge(limit);
        scanner.push(chunk);
        // A wrong announcement is the HTTP parser's to refuse; nothing is written beyond the buffer in any case.
        const { length } = chunk;
        if (whole !== undefined && size + length <= whole.length) {
          whole.set(chunk, size);
          if (whole.length > LARGE_BODY_BYTES) giveBack(chunk);
        } else {
          if (whole !== undefined) chunks.push(whole.subarray(0, size));
          whole = undefined;
          chunks.push(chunk);
        }
        size += length;
      } catch (error) {
        finish(() => reject(error as Error));
      }
    };
    const onEnd = (): void =>
      finish(() => resolve(whole === undefined ? concatRequestBytes(chunks) : upTo(whole, size)));
    const onError = (error: Error): void => finish(() => reject(new AppError('invalid_json', { cause: error })));
    const onClose = (): void => finish(() => reject(new AppError('invalid_json')));
    // Whatever comes first removes them all, so that none needs to be of `once`, which makes two objects for each.
    source.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose);
  });
}
