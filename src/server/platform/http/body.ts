import type { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError, invalidRequest } from '../app-error.ts';
import { isWithinBounds, JsonRejectedError } from '../json.ts';
import {
  type BodyImages,
  type JsonBoundsScanner,
  type ParsedBody,
  parseDecodingImages,
  requestScanner,
} from '../json-scanner.ts';
import { allocateRequestBytes, concatRequestBytes } from '../request-bytes.ts';
import { hasOnlyWellFormedText } from '../text.ts';

interface JsonBodyOptions {
  /** Bytes. */
  readonly limit: number;
  /** Members, elements and the root, all together; default 50 000. */
  readonly maxValues?: number;
  /** Members of the root whose large Base64 is decoded; default none. */
  readonly imageFields?: readonly string[];
  /** Who shares the budget of large bodies: the account. */
  readonly budgetKey: string;
  /** Closes when the request is over. */
  readonly response: EventEmitter;
}

export interface JsonBody {
  readonly bytes: Buffer;
  readonly value: unknown;
  readonly images: BodyImages;
  /** Members the root was written with; the value has fewer where a name was written twice. */
  readonly rootMembers: number;
  /** Values the body was written with, of all levels. */
  readonly values: number;
  /** Releases the memory of large bytes and images at once. Nothing may use them afterwards, such as a socket. */
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
      return new ReadBody(bytes, parse(bytes, scanner, options.imageFields), scanner);
    } catch (error) {
      source.resume();
      throw toRequestError(error);
    }
  }
}

class ReadBody implements JsonBody {
  readonly bytes: Buffer;
  readonly value: unknown;
  readonly images: BodyImages;
  readonly rootMembers: number;
  readonly values: number;

  constructor(bytes: Buffer, { value, images }: ParsedBody, { rootMembers, values }: JsonBoundsScanner) {
    this.bytes = bytes;
    this.value = value;
    this.images = images;
    this.rootMembers = rootMembers;
    this.values = values;
  }

  discard(): void {
    discard(this.bytes);
    for (const { bytes } of this.images.values()) discard(bytes);
  }
}

function parse(bytes: Buffer, scanner: JsonBoundsScanner, imageFields: readonly string[] = []): ParsedBody {
  try {
    return parseDecodingImages(bytes, scanner, imageFields);
  } catch (error) {
    discard(bytes);
    throw error;
  }
}

/** Releases a copied piece of a large body that owns its memory; the garbage collector would keep all pieces of 13 MB for a while. */
function releasePiece({ buffer, byteLength }: Buffer): void {
  if (byteLength === buffer.byteLength && buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
}

/** Releases the bytes at once. The garbage collector would do so much later: they outlived several collections while they arrived. */
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
    const fail = (error: unknown): void => {
      if (whole !== undefined) discard(whole);
      finish(() => reject(error as Error));
    };
    const onData = (chunk: Buffer): void => {
      try {
        if (size + chunk.length > limit) throw tooLarge(limit);
        scanner.push(chunk);
        // A wrong announcement is the HTTP parser's to refuse; nothing is written beyond the buffer in any case.
        const { length } = chunk;
        if (whole !== undefined && size + length <= whole.length) {
          whole.set(chunk, size);
          if (whole.length > LARGE_BODY_BYTES) releasePiece(chunk);
        } else {
          if (whole !== undefined) chunks.push(whole.subarray(0, size));
          whole = undefined;
          chunks.push(chunk);
        }
        size += length;
      } catch (error) {
        fail(error);
      }
    };
    const onEnd = (): void =>
      finish(() => resolve(whole === undefined ? concatRequestBytes(chunks) : upTo(whole, size)));
    const onError = (error: Error): void => fail(new AppError('invalid_json', { cause: error }));
    const onClose = (): void => fail(new AppError('invalid_json'));
    // Whatever comes first removes them all, so that none needs to be of `once`, which makes two objects for each.
    source.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose);
  });
}

const MB = 1024 * 1024;
/** Bodies up to this are taken at once: they cost less than the bookkeeping. */
export const LARGE_BODY_BYTES = 256 * 1024;
/** How long after its body was read a request may count against its account; most are answered or refused sooner. */
const HANDLING_MS = 500;

/** Bounds of large bodies that are being read and parsed at a time, and how fast they must come while others wait. */
interface AdmissionBounds {
  /** Bytes: one picture of the largest kind, or several common ones. */
  readonly maxBytesPerAccount: number;
  readonly maxBytesInTotal: number;
  /** Every body may take this long. */
  readonly graceMs: number;
  readonly minBytesPerMs: number;
}

const BOUNDS: AdmissionBounds = {
  maxBytesPerAccount: 32 * MB,
  maxBytesInTotal: 128 * MB,
  graceMs: 10_000,
  minBytesPerMs: 128,
};

/** A request whose body waits to be read. */
interface AdmissionRequest {
  readonly source: Readable & { readonly socket: { readonly bytesRead: number } };
  /** Closes when the response was sent or its connection is gone. */
  readonly response: EventEmitter;
  /** Who shares a budget: the account. */
  readonly budgetKey: string;
  /** Bytes the body may have at most. */
  readonly bytes: number;
}

/**
 * Bounds the bytes of all bodies that are being read and parsed. Large bodies of one account are admitted one after another. A waiting
 * body is not received, and a slow sender loses its turn while others wait.
 */
export class BodyAdmission {
  readonly #bounds: AdmissionBounds;
  readonly #budget: KeyedByteBudget;

  constructor(bounds = BOUNDS) {
    this.#bounds = bounds;
    this.#budget = new KeyedByteBudget(bounds.maxBytesPerAccount, bounds.maxBytesInTotal);
  }

  /**
   * Runs `read` when there is room for the body.
   *
   * @throws AppError `invalid_json` when the client disconnects while it waits, `request_timeout` when it is too slow
   */
  async read<T>(request: AdmissionRequest, read: () => Promise<T>): Promise<T> {
    const { source, response, budgetKey, bytes } = request;
    if (bytes <= LARGE_BODY_BYTES) return read();
    const gone = new AbortController();
    const leave = (): void => gone.abort(new AppError('invalid_json'));
    source.once('close', leave);
    const releaseBudget = await this.#budget.acquire(budgetKey, bytes, gone.signal).finally(() => {
      source.off('close', leave);
    });
    let timer: NodeJS.Timeout | undefined;
    const release = (): void => {
      response.off('close', release);
      clearTimeout(timer);
      releaseBudget();
    };
    response.once('close', release);
    try {
      const result = await this.#whileFastEnough(request, read);
      timer = setTimeout(release, HANDLING_MS).unref();
      return result;
    } catch (error) {
      release();
      throw error;
    }
  }

  async #whileFastEnough<T>({ source, response }: AdmissionRequest, read: () => Promise<T>): Promise<T> {
    const { graceMs, minBytesPerMs } = this.#bounds;
    const startedAt = performance.now();
    const bytesBefore = source.socket.bytesRead;
    const tooSlow = Promise.withResolvers<never>();
    const timer = setInterval(() => {
      const expected = (performance.now() - startedAt - graceMs) * minBytesPerMs;
      if (!this.#budget.isWaitedFor || source.socket.bytesRead - bytesBefore >= expected) return;
      response.once('finish', () => source.destroy());
      tooSlow.reject(new AppError('request_timeout', { headers: { connection: 'close' } }));
    }, graceMs / 4).unref();
    try {
      return await Promise.race([read(), tooSlow.promise]);
    } finally {
      clearInterval(timer);
    }
  }
}

interface Waiter {
  readonly key: string;
  readonly bytes: number;
  readonly start: () => void;
}

/**
 * Bounds how many bytes may be in memory at once, for each key (an account) and in total. Whoever finds no room waits in
 * order of arrival; a single item larger than a bound goes alone.
 */
export class KeyedByteBudget {
  readonly #maxPerKey: number;
  readonly #maxTotal: number;
  readonly #used = new Map<string, number>();
  #total = 0;
  #waiting: Waiter[] = [];

  constructor(maxPerKey: number, maxTotal: number) {
    this.#maxPerKey = maxPerKey;
    this.#maxTotal = maxTotal;
  }

  /**
   * @param signal ends the wait when the client has disconnected
   * @returns gives the bytes back; calling it again does nothing
   */
  acquire(key: string, bytes: number, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const start = (): void => {
        signal.removeEventListener('abort', leave);
        resolve(this.#take(key, bytes));
      };
      const leave = (): void => {
        this.#waiting = this.#waiting.filter((waiter) => waiter.start !== start);
        reject(signal.reason as Error);
      };
      if (signal.aborted) reject(signal.reason as Error);
      else if (this.#hasRoom(key, bytes) && !this.#waiting.some((waiter) => waiter.key === key)) start();
      else {
        signal.addEventListener('abort', leave, { once: true });
        this.#waiting.push({ key, bytes, start });
      }
    });
  }

  /** Somebody waits for room. */
  get isWaitedFor(): boolean {
    return this.#waiting.length > 0;
  }

  #hasRoom(key: string, bytes: number): boolean {
    const used = this.#used.get(key) ?? 0;
    return (
      (used === 0 || used + bytes <= this.#maxPerKey) && (this.#total === 0 || this.#total + bytes <= this.#maxTotal)
    );
  }

  #take(key: string, bytes: number): () => void {
    this.#used.set(key, (this.#used.get(key) ?? 0) + bytes);
    this.#total += bytes;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = (this.#used.get(key) ?? 0) - bytes;
      if (left > 0) this.#used.set(key, left);
      else this.#used.delete(key);
      this.#total -= bytes;
      this.#startWaiting();
    };
  }

  /** One key's queue keeps its order; a full key does not hold up the others. */
  #startWaiting(): void {
    const blocked = new Set<string>();
    for (const waiter of [...this.#waiting]) {
      if (blocked.has(waiter.key) || !this.#hasRoom(waiter.key, waiter.bytes)) {
        blocked.add(waiter.key);
        continue;
      }
      this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
      waiter.start();
    }
  }
}

/**
 * An `import` of the module reads every name it exports, and with `WebSocket` loads a whole second HTTP client: 4 MB that
 * nothing here calls. Asked for in this way it is what it was.
 */
export const { createServer, IncomingMessage, ServerResponse } = process.getBuiltinModule('node:http');

/** As much as Node keeps of a body nobody reads yet before it stops reading from the socket. */
export const MAX_COLLECTED_BYTES = 64 * 1024;

/** Not documented by Node, which uses it for requests without a body: marks the stream as read to its end. */
const closeUnread: unknown = Reflect.get(IncomingMessage.prototype, '_dumpAndCloseReadable');

/**
 * A request that can collect a small body as the parser finds it. To hand over the one piece that most bodies consist of, a stream takes
 * four ticks of the event loop: 5 % of what a model call costs.
 */
export class RequestWithCollectedBody extends IncomingMessage {
  /** Of the body, in bytes, where it is collected. */
  #length: number | undefined;
  /** Taken when the first piece comes: who sends none takes none. */
  #bytes: Buffer | undefined;
  #size = 0;
  #settle: { readonly resolve: (bytes: Buffer) => void; readonly reject: (error: AppError) => void } | undefined;

  /** Whether the body is collected: nothing of it comes through the stream. */
  get isCollected(): boolean {
    return this.#length !== undefined;
  }

  /**
   * Collects the body unless it is too large, or the stream has a part of it by now. To be called before the turn of the event loop ends in
   * which the request came.
   *
   * @param length as announced, in bytes
   */
  collectBody(length: number): void {
    const isUntouched = this.readableFlowing === null && this.readableLength === 0 && !this.complete && !this.destroyed;
    if (isUntouched && length <= MAX_COLLECTED_BYTES && typeof closeUnread === 'function') this.#length = length;
  }

  /**
   * The collected body, at once where all of it has arrived.
   *
   * @throws AppError `invalid_json` when the client disconnects first
   */
  collectedBody(): Buffer | Promise<Buffer> {
    if (this.#length === undefined) throw new Error('the body is not collected');
    if (this.complete) return this.#collected;
    if (this.destroyed) throw new AppError('invalid_json');
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
  }

  /** Called by the parser for each piece, and with null at the end. */
  override push(chunk: Buffer | null): boolean {
    if (this.#length === undefined) return super.push(chunk);
    if (chunk !== null) {
      this.#bytes ??= allocateRequestBytes(this.#length);
      // Never more than announced: there the parser ends the body.
      this.#bytes.set(chunk, this.#size);
      this.#size += chunk.length;
      return true;
    }
    if (typeof closeUnread === 'function') closeUnread.call(this);
    this.#settle?.resolve(this.#collected);
    return false;
  }

  /** What has come and no more: after an early response Node drops what follows, and the memory was not cleared. */
  get #collected(): Buffer {
    return this.#bytes?.subarray(0, this.#size) ?? Buffer.alloc(0);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#settle?.reject(new AppError('invalid_json', { cause: error ?? undefined }));
    super._destroy(error, callback);
  }
}

export interface UploadedFile {
  readonly field: string;
  readonly filename: string;
  readonly mimeType: string;
  readonly bytes: Buffer;
}

const LIMITS = {
  fields: 50,
  fieldSize: 1024 * 1024,
  files: 4,
  fileSize: 64 * 1024 * 1024,
  parts: 60,
  headerPairs: 50,
};

/** Of a part that is JSON itself, as of a JSON body. */
const MAX_DEPTH = 64;
const MAX_VALUES = 50_000;

export async function registerMultipart(fastify: FastifyInstance): Promise<void> {
  await fastify.register(multipart, { limits: LIMITS });
}

interface MultipartBody {
  /** Text parts; `name[part]` makes nested objects one level deep and `name[]` a list, as OpenAI's clients send them. */
  readonly fields: { readonly [name: string]: unknown };
  readonly files: readonly UploadedFile[];
}

/** Reads a whole multipart body within its limits; repeated text parts are ambiguous, so they are an error, as in JSON. */
export async function readMultipart(request: FastifyRequest): Promise<MultipartBody> {
  try {
    return await readParts(request);
  } catch (error) {
    throw isParserError(error) ? invalidRequest('The multipart body is malformed or ends too early.') : error;
  }
}

/** The parser's own errors are bare; ours say by their class and the plugin's by a status what they are. */
const isParserError = (error: unknown): boolean =>
  error instanceof Error && !(error instanceof AppError) && !('statusCode' in error);

async function readParts(request: FastifyRequest): Promise<MultipartBody> {
  const fields: Record<string, unknown> = Object.create(null);
  const files: UploadedFile[] = [];
  for await (const part of request.parts()) {
    if (part.type === 'file') {
      const bytes = await part.toBuffer();
      files.push({ field: part.fieldname, filename: part.filename ?? '', mimeType: part.mimetype, bytes });
      continue;
    }
    if (part.valueTruncated) throw new AppError('body_too_large', { params: { limit: '1 MiB per field' } });
    // A part that calls itself JSON comes parsed, without the bounds of a body.
    if (!isWithinBounds(part.value, MAX_DEPTH, MAX_VALUES)) throw new AppError('invalid_json');
    if (!hasOnlyWellFormedText(part.value)) throw new AppError('invalid_text');
    setField(fields, part.fieldname, part.value);
  }
  return { fields: { ...fields }, files };
}

const NAME = /^([A-Za-z0-9_.-]{1,64})(?:\[([A-Za-z0-9_.-]{0,64})\])?$/;
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype']);

function setField(fields: Record<string, unknown>, fieldName: string, value: unknown): void {
  const [, name, inner] = NAME.exec(fieldName) ?? [];
  if (name === undefined || FORBIDDEN.has(name) || (inner !== undefined && FORBIDDEN.has(inner)))
    throw invalidRequest('The part name is not accepted.');
  if (inner === undefined) {
    if (Object.hasOwn(fields, name)) throw invalidRequest(`${name} is given twice.`, name);
    fields[name] = value;
    return;
  }
  const holder = fields[name] ?? (inner === '' ? [] : Object.create(null));
  fields[name] = holder;
  if (Array.isArray(holder) !== (inner === '')) throw invalidRequest(`${name} is given twice.`, name);
  if (Array.isArray(holder)) {
    holder.push(value);
    return;
  }
  if (typeof holder !== 'object' || holder === null || Object.hasOwn(holder, inner))
    throw invalidRequest(`${name} is given twice.`, name);
  (holder as Record<string, unknown>)[inner] = value;
}
