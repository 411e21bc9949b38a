import type { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError, invalidRequest } from '../app-error.ts';
import { KeyedCounter } from '../concurrency.ts';
import {
  type BodyImages,
  hasWellFormedText,
  isWithinBounds,
  JsonBoundsScanner,
  JsonRejectedError,
  type ParsedBody,
  parseDecodingImages,
} from '../json.ts';
import { allocateRequestBytes, concatRequestBytes } from '../request-bytes.ts';

interface JsonBodyOptions {
  /** Bytes. */
  readonly limit: number;
  /** Members, elements and the root, counted together; default 50 000. */
  readonly maxValues?: number;
  /** Members of the root whose large Base64 is decoded; default none. */
  readonly imageFields?: readonly string[];
  /** Identifies the budget of large bodies: the account. */
  readonly budgetKey: string;
  /** Emits `close` when the request is over. */
  readonly response: EventEmitter;
}

/** A parsed JSON body. */
export interface JsonBody {
  readonly bytes: Buffer;
  readonly value: unknown;
  readonly images: BodyImages;
  /** Number of members in the root as written; the parsed value has fewer if a name occurs twice. */
  readonly rootMembers: number;
  /** Number of values in the body as written, on all levels. */
  readonly values: number;
  /** Releases the memory of large bytes and images immediately. Nothing, such as a socket, may use them afterwards. */
  discard(): void;
}

/** The parts of a request that matter for its body. */
export type BodySource = AdmissionRequest['source'] & { readonly headers: IncomingHttpHeaders };

/**
 * Reads JSON request bodies such that rejecting one is cheap, whatever its shape: its limits are checked while it
 * arrives, it is stored only once, large bodies wait for admission, and indivisible work gets an event loop turn of its
 * own.
 */
export class JsonBodyReader {
  readonly #admission: BodyAdmission;

  constructor(admission: BodyAdmission) {
    this.#admission = admission;
  }

  /**
   * @returns undefined for an empty body
   * @throws AppError `body_too_large`, `invalid_json`, `invalid_text`; the rest of the body is then received and
   * dropped
   */
  read(source: BodySource, options: JsonBodyOptions): Promise<JsonBody | undefined> {
    const { limit, budgetKey, response } = options;
    const announced = announcedLength(source);
    if (announced !== undefined && announced > limit) return Promise.reject(tooLarge(limit));
    const request = { source, response, budgetKey, bytes: announced ?? limit };
    return this.#admission.read(request, () => this.#readNow(source, options, announced));
  }

  async #readNow(source: BodySource, options: JsonBodyOptions, announced?: number): Promise<JsonBody | undefined> {
    const scanner = new JsonBoundsScanner(options.maxValues);
    try {
      const isCollected = source instanceof CollectedRequest && source.isCollected;
      const bytes = await (isCollected ? source.collectedBody() : collect(source, scanner, options.limit, announced));
      // The other bodies were scanned while they arrived.
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

function parse(bytes: Buffer, scanner: JsonBoundsScanner, imageFields?: readonly string[]): ParsedBody {
  try {
    return parseDecodingImages(bytes, scanner, imageFields);
  } catch (error) {
    discard(bytes);
    throw error;
  }
}

/**
 * Releases a copied piece of a large body that owns its memory; the garbage collector would keep all pieces of a 13 MB
 * body for a while.
 */
function releasePiece({ buffer, byteLength }: Buffer): void {
  if (byteLength === buffer.byteLength && buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
}

/**
 * Releases the bytes immediately. The garbage collector would do so much later, because they survived several
 * collections while they arrived.
 */
function discard({ buffer, byteLength }: Buffer): void {
  if (byteLength > LARGE_BODY_BYTES && buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
}

const toRequestError = (error: unknown): unknown =>
  error instanceof JsonRejectedError
    ? new AppError(error.reason === 'text' ? 'invalid_text' : 'invalid_json', { cause: error })
    : error;

const tooLarge = (limit: number): AppError =>
  new AppError('body_too_large', { params: { limit: `${Math.floor(limit / 1024)} KiB` } });

/** Bytes according to Content-Length; undefined for a chunked body. */
export function announcedLength({ headers }: { readonly headers: IncomingHttpHeaders }): number | undefined {
  const header = headers['content-length'];
  return header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}

const upTo = (buffer: Buffer, size: number): Buffer => (size === buffer.length ? buffer : buffer.subarray(0, size));

/** Collects the entire body in one buffer and scans it chunk by chunk. */
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
        // The HTTP parser refuses a wrong length; in any case nothing is written beyond the buffer.
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
    // The first event removes all listeners. `once` would allocate two objects for each of them.
    source.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose);
  });
}

const MB = 1024 * 1024;
/** Bodies up to this size are admitted immediately: they cost less than the bookkeeping. */
export const LARGE_BODY_BYTES = 256 * 1024;
/** How long a request may count against its account after its body was read; most are answered or refused sooner. */
const HANDLING_MS = 500;

/** Limits on large bodies being read and parsed, and the rate they must arrive at while others wait. */
interface AdmissionBounds {
  /** Bytes: one image of the maximum size, or several common ones. */
  readonly maxBytesPerAccount: number;
  readonly maxBytesInTotal: number;
  /** Time that every body may take. */
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
  /** Emits `close` when the response was sent or its connection is gone. */
  readonly response: EventEmitter;
  /** Identifies the budget: the account. */
  readonly budgetKey: string;
  /** Maximum bytes of the body. */
  readonly bytes: number;
}

/**
 * Limits the bytes of all bodies being read and parsed. Large bodies of one account are admitted one after another. A
 * waiting body is not received, and a slow sender loses its turn while others wait.
 */
export class BodyAdmission {
  readonly #bounds: AdmissionBounds;
  readonly #budget: KeyedByteBudget;

  constructor(bounds = BOUNDS) {
    this.#bounds = bounds;
    this.#budget = new KeyedByteBudget(bounds.maxBytesPerAccount, bounds.maxBytesInTotal);
  }

  /**
   * Runs `read` once the body is admitted.
   * @throws AppError `invalid_json` when the client disconnects while waiting, `request_timeout` when it is too slow
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
 * Limits the bytes in memory, per key (an account) and in total. Requests that exceed a limit wait in order of arrival;
 * a single item larger than a limit is admitted alone.
 */
export class KeyedByteBudget {
  readonly #maxPerKey: number;
  readonly #maxTotal: number;
  readonly #used = new KeyedCounter<string>();
  #total = 0;
  #waiting: Waiter[] = [];

  constructor(maxPerKey: number, maxTotal: number) {
    this.#maxPerKey = maxPerKey;
    this.#maxTotal = maxTotal;
  }

  /**
   * @param signal ends the wait when the client has disconnected
   * @returns a function that releases the bytes; further calls do nothing
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

  /** Whether any request waits for admission. */
  get isWaitedFor(): boolean {
    return this.#waiting.length > 0;
  }

  #hasRoom(key: string, bytes: number): boolean {
    const used = this.#used.of(key);
    return (
      (used === 0 || used + bytes <= this.#maxPerKey) && (this.#total === 0 || this.#total + bytes <= this.#maxTotal)
    );
  }

  #take(key: string, bytes: number): () => void {
    this.#used.add(key, bytes);
    this.#total += bytes;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#used.add(key, -bytes);
      this.#total -= bytes;
      this.#startWaiting();
    };
  }

  /** Each key's queue keeps its order, and a full key does not block the others. */
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
 * An `import` of the module would read every name it exports, and `WebSocket` loads an entire second HTTP client: 4 MB
 * that nothing here uses. `getBuiltinModule` returns the same module without that.
 */
export const { createServer, IncomingMessage, ServerResponse } = process.getBuiltinModule('node:http');

/** The amount of an unread body that Node buffers before it stops reading from the socket. */
export const MAX_COLLECTED_BYTES = 64 * 1024;

/**
 * A request that can collect a small body directly from the parser. Most bodies consist of one piece, and a stream
 * takes four ticks of the event loop to deliver it: 5 % of the cost of a model call.
 */
export class CollectedRequest extends IncomingMessage {
  /** Length of a collected body in bytes. */
  #length: number | undefined;
  /** Allocated with the first piece, so a client that sends none costs no memory. */
  #bytes: Buffer | undefined;
  #size = 0;
  #settle: { readonly resolve: (bytes: Buffer) => void; readonly reject: (error: AppError) => void } | undefined;

  /** Whether the body is collected; no part of it then arrives through the stream. */
  get isCollected(): boolean {
    return this.#length !== undefined;
  }

  /**
   * Collects the body, unless it is too large or part of it is already in the stream. Must be called in the event loop
   * turn in which the request arrived.
   * @param length the announced length in bytes
   */
  collectBody(length: number): void {
    const isUntouched = this.readableFlowing === null && this.readableLength === 0 && !this.complete && !this.destroyed;
    if (isUntouched && length <= MAX_COLLECTED_BYTES) this.#length = length;
  }

  /**
   * The collected body, synchronously if it has fully arrived.
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
      // The parser ends the body at its announced length, so this never exceeds the buffer.
      this.#bytes.set(chunk, this.#size);
      this.#size += chunk.length;
      return true;
    }
    this.#settle?.resolve(this.#collected);
    // Node also destroys complete requests, for which no error needs to be created.
    this.#settle = undefined;
    // The stream itself is empty; reading it to its end lets Node finish the request.
    super.push(null);
    this.resume();
    return false;
  }

  /** Only the received bytes: after an early response Node drops the rest, and the memory was not cleared. */
  get #collected(): Buffer {
    return this.#bytes?.subarray(0, this.#size) ?? Buffer.alloc(0);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#settle?.reject(new AppError('invalid_json', { cause: error ?? undefined }));
    super._destroy(error, callback);
  }
}

/** A file part of a multipart body. */
export interface UploadedFile {
  readonly field: string;
  readonly filename: string;
  readonly mimeType: string;
  readonly bytes: Buffer;
}

const LIMITS = {
  fields: 200,
  fieldSize: 1024 * 1024,
  files: 32,
  fileSize: 64 * 1024 * 1024,
  parts: 240,
  headerPairs: 50,
};

/** Registers the multipart parser. */
export async function registerMultipart(fastify: FastifyInstance): Promise<void> {
  await fastify.register(multipart, { limits: LIMITS });
}

interface MultipartBody {
  /** Text parts; `name[part]` creates objects one level deep and `name[]` a list, as OpenAI's clients send them. */
  readonly fields: { readonly [name: string]: unknown };
  readonly files: readonly UploadedFile[];
}

/**
 * Reads an entire multipart body within its limits. Repeated text parts are ambiguous and therefore an error, as in
 * JSON.
 */
export async function readMultipart(request: FastifyRequest): Promise<MultipartBody> {
  try {
    return await readParts(request);
  } catch (error) {
    throw isParserError(error) ? invalidRequest('The multipart body is malformed or ends too early.') : error;
  }
}

/** The parser throws plain errors; ours have a class, and the plugin's have a status. */
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
    // The plugin parses a part declared as JSON without the limits of a JSON body.
    if (!isWithinBounds(part.value)) throw new AppError('invalid_json');
    assertText(part.value);
    setField(fields, part.fieldname, part.value);
  }
  return { fields: { ...fields }, files };
}

/**
 * Refuses text parts that cannot be stored, or that were not UTF-8, as from a terminal with another code page: the parser
 * replaces bytes it cannot decode, and a garbled prompt would be charged. JSON bodies are checked before decoding.
 */
function assertText(value: unknown): void {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  if (!hasWellFormedText(value) || text.includes('\ufffd')) throw new AppError('invalid_text');
}

/** The file part of an upload while it arrives. */
export interface IncomingFile {
  readonly filename: string;
  readonly body: Readable;
  /** The most it can have; undefined: unknown. */
  readonly announcedBytes: number | undefined;
}

/** Text parts of an upload are few and short. */
const UPLOAD_LIMITS = { fields: 10, fieldSize: 1_024, files: 1, fileSize: Number.POSITIVE_INFINITY, parts: 12 };

/**
 * Reads a form with one file of any size, part by part. Bytes that `receive` leaves unread are received and dropped.
 *
 * @param receive consumes the part `file`; it may come before the text parts
 * @returns the text parts, and the result of `receive`
 * @throws AppError `invalid_request` for a malformed form, a form without a file or with another, and `receive`'s errors
 */
export async function readUpload<T>(
  request: FastifyRequest,
  receive: (file: IncomingFile) => Promise<T>,
): Promise<{ readonly fields: { readonly [name: string]: unknown }; readonly received: T }> {
  const fields: Record<string, unknown> = Object.create(null);
  const announcedBytes = announcedLength(request);
  let result: { readonly received: T } | undefined;
  try {
    for await (const part of request.parts({ limits: UPLOAD_LIMITS })) {
      if (part.type === 'field') {
        if (part.valueTruncated) throw new AppError('body_too_large', { params: { limit: '1 KiB per field' } });
        assertText(part.value);
        setField(fields, part.fieldname, part.value);
        continue;
      }
      try {
        if (part.fieldname !== 'file') throw invalidRequest('The file must be in the part named file.', 'file');
        result = { received: await receive({ filename: part.filename ?? '', body: part.file, announcedBytes }) };
      } finally {
        part.file.resume();
      }
    }
  } catch (error) {
    throw isParserError(error) ? invalidRequest('The multipart body is malformed or ends too early.') : error;
  }
  if (result === undefined) throw invalidRequest('file is required.', 'file');
  return { fields, received: result.received };
}

const NAME =
  /^([A-Za-z0-9_.-]{1,64})(?:\[([A-Za-z0-9_.-]{0,64})\](?:\.([A-Za-z0-9_]{1,32})|\[([A-Za-z0-9_]{1,32})\])?)?$/;
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype']);

/** `inputs[0].role` is a member of an object in an object. */
function setMember(
  fields: Record<string, unknown>,
  [name, inner, member]: readonly [string, string, string],
  value: unknown,
) {
  const path = `${name}[${inner}].${member}`;
  const holder = inner === '' ? undefined : objectIn(objectIn(fields, name), inner);
  if (holder === undefined || Object.hasOwn(holder, member)) throw invalidRequest(`${path} is given twice.`, path);
  holder[member] = value;
}

/** The object that is a member, created if it is absent; undefined for a member of another kind. */
function objectIn(holder: Record<string, unknown> | undefined, key: string): Record<string, unknown> | undefined {
  if (holder === undefined) return undefined;
  if (!Object.hasOwn(holder, key)) holder[key] = Object.create(null);
  const found = holder[key];
  return typeof found === 'object' && found !== null && !Array.isArray(found)
    ? (found as Record<string, unknown>)
    : undefined;
}

function setField(fields: Record<string, unknown>, fieldName: string, value: unknown): void {
  const [, name, inner, dotted, bracketed] = NAME.exec(fieldName) ?? [];
  const member = dotted ?? bracketed;
  if (name === undefined || [name, inner ?? '', member ?? ''].some((part) => FORBIDDEN.has(part)))
    throw invalidRequest('The part name is not accepted.');
  if (member !== undefined) {
    setMember(fields, [name, inner ?? '', member], value);
    return;
  }
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
