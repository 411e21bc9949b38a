import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { asObject, defined } from '../../contract/objects.ts';
import { Base64Text } from '../platform/base64.ts';
import type { BufferedResponse, OutboundRequest } from '../platform/outbound/outbound.ts';
import { type AdapterContext, PollFailed, UnsupportedRequestError, type VendorError } from '../upstreams/upstream.ts';
import type { ContentSource, Json, QueryOutcome, RequestJson, SubmitOutcome, VideoRequest } from './adapter.ts';
import {
  ambiguousSubmit,
  type ErrorClass,
  mayHaveBegun,
  successWithoutArtifact,
  unreadablePoll,
} from './error-mapping.ts';
import { isErrorAnswer, relayedError } from './relay-answer.ts';
import { asId, asUrl, ownEntry, toRawResponse } from './untrusted-json.ts';

/**
 * Helpers for adapters of vendors with JSON over HTTP: a key in a header, a task id as the whole handle, one GET for a
 * poll, and the video at a public URL.
 */
type Headers = Readonly<Record<string, string>>;

/** Headers with the channel's API key as a bearer token. */
export const bearerHeaders = (context: AdapterContext): Headers => ({
  authorization: `Bearer ${String(context.credentials.api_key)}`,
});

/** Sends a GET request. */
export const getJson = (context: AdapterContext, url: string, headers: Headers): Promise<BufferedResponse> =>
  context.sendJson({ method: 'GET', url, headers, signal: context.signal });

/** Sends a DELETE request. */
export const deleteJson = (context: AdapterContext, url: string, headers: Headers): Promise<BufferedResponse> =>
  context.sendJson({ method: 'DELETE', url, headers, signal: context.signal });

/** Sends a POST request with a JSON body. */
export const postJson = (
  context: AdapterContext,
  url: string,
  headers: Headers,
  body: RequestBody,
): Promise<BufferedResponse> =>
  context.sendJson(withJsonBody({ method: 'POST', url, headers, signal: context.signal }, body));

/**
 * The request with `body` as JSON; unchanged without a body. Can be sent only once, because large images are encoded
 * while it is sent.
 */
export const withJsonBody = (request: OutboundRequest, body: RequestJson | undefined): OutboundRequest =>
  body === undefined
    ? request
    : withSerializedBody(
        { ...request, headers: { ...request.headers, 'content-type': 'application/json' } },
        serializeJsonBody(body),
      );

/** Like `withJsonBody`, for JSON that is already serialized and whose type is in the headers. */
export const withSerializedBody = (request: OutboundRequest, body: string | LongJsonBody): OutboundRequest =>
  typeof body === 'string'
    ? { ...request, body }
    : {
        ...request,
        headers: { ...request.headers, 'content-length': String(body.byteLength) },
        body: Readable.from(inTurns(body.pieces()), { objectMode: false }),
      };

/** Yields one piece per turn of the event loop, because the system may accept many megabytes without a wait. */
async function* inTurns(pieces: Iterable<Buffer>): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    yield piece;
    await nextTurn();
  }
}

/** The id in a handle of `acceptedSubmit`; empty for anything else, which the vendor does not know. */
export const parseIdHandle = (handle: Json): string => asId(asObject(handle)?.id) ?? '';

/**
 * An accepted submit, or one that is refused because the response contains an error instead of an id.
 * @throws OutboundError `mayHaveArrived` if there is neither: a job may exist nevertheless.
 */
export function acceptedSubmit(id: string | undefined, response: BufferedResponse, handle?: Json): SubmitOutcome {
  if (id === undefined && isErrorAnswer(response.json)) return refusedSubmit(relayedError(response), response);
  if (id === undefined) throw ambiguousSubmit(response);
  return { kind: 'accepted', handle: handle ?? { id }, upstreamId: id, raw: toRawResponse(response) };
}

/**
 * A refused submit.
 * @throws OutboundError `mayHaveArrived` if a gateway timed out: the job may have started, and a second one would be
 * charged too.
 */
export function refusedSubmit(error: VendorError, response: BufferedResponse): SubmitOutcome {
  if (mayHaveBegun(response, error)) throw ambiguousSubmit(response);
  return { kind: 'refused', error, raw: toRawResponse(response) };
}

/**
 * A finished task, from the value in the place of its video's URL. Text or nothing is the vendor's statement that there
 * is no video, which is a failure; any other type is a damaged response, and the next poll's may be intact.
 *
 * @throws PollFailed
 */
export function finishedTask(url: unknown, response: BufferedResponse, code = ''): QueryOutcome {
  const parsed = asUrl(url);
  const raw = toRawResponse(response);
  if (parsed !== undefined) return { state: 'SUCCESS', artifact: { kind: 'url', url: parsed }, raw };
  if (url !== undefined && url !== null && typeof url !== 'string') throw unreadablePoll(response);
  return successWithoutArtifact(raw, code);
}

/**
 * A file that needs no credentials, from the response stored with the task.
 * @throws PollFailed if it has no URL.
 */
export function publicFile(url: unknown): ContentSource {
  const parsed = asUrl(url);
  if (parsed === undefined) throw new PollFailed('the stored response of this task has no URL of the video');
  return { kind: 'fetch', url: parsed, headers: {}, trusted: false };
}

/** The class of a vendor's code: by the whole code, otherwise by the part before its first dot. */
export const classifyByTable =
  (classes: Readonly<Record<string, ErrorClass>>) =>
  (code: string): ErrorClass | undefined =>
    ownEntry(classes, code) ?? ownEntry(classes, code.split('.', 1)[0] ?? '');

/** A vendor's request body while it is being built. */
export type RequestBody = { [key: string]: RequestJson };

/** Names that reach into prototypes, in any part of a path. */
const PROTOTYPE_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

const ARRAY_INDEX = /^\d{1,3}$/;

const isContainer = (value: unknown): value is RequestBody | RequestJson[] =>
  typeof value === 'object' && value !== null && !(value instanceof Base64Text);

function getChild(parent: RequestBody | RequestJson[], key: string): RequestJson | undefined {
  if (Array.isArray(parent)) return ARRAY_INDEX.test(key) ? parent[Number(key)] : undefined;
  return Object.hasOwn(parent, key) ? parent[key] : undefined;
}

function setChild(parent: RequestBody | RequestJson[], key: string, value: RequestJson, path: string): void {
  if (!Array.isArray(parent)) parent[key] = value;
  else if (ARRAY_INDEX.test(key) && Number(key) <= parent.length) parent[Number(key)] = value;
  else throw new UnsupportedRequestError(`${path} does not lead into the upstream's request.`, path);
}

/**
 * Sets `value` at a dotted path (`parameters.seed`, `content.0.text`), creating missing objects; numbers index existing
 * arrays. Refuses paths through prototypes and through values that are not containers. Containers on the path are
 * copied before they are written to, so that only `body` itself changes.
 */
export function setPath(body: RequestBody, path: string, value: RequestJson): void {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  if (last === '' || keys.includes('') || PROTOTYPE_KEYS.has(last) || keys.some((key) => PROTOTYPE_KEYS.has(key))) {
    throw new UnsupportedRequestError(`${path} is no path into the upstream's request.`, path);
  }
  let parent: RequestBody | RequestJson[] = body;
  for (const key of keys) {
    const found = getChild(parent, key);
    if (found !== undefined && !isContainer(found))
      throw new UnsupportedRequestError(`${path} leads through a value.`, path);
    const next: RequestBody | RequestJson[] = Array.isArray(found) ? [...found] : { ...found };
    setChild(parent, key, next, path);
    parent = next;
  }
  setChild(parent, last, value, path);
}

/**
 * Writes the arguments of the model's media schema over the body; they take precedence because an administrator
 * declared them.
 */
export function applyExtraFields(body: RequestBody, extra: VideoRequest['extraFields']): RequestBody {
  for (const { path, value } of extra) setPath(body, path, value);
  return body;
}

/** Drops undefined values: `{a: 1, b: undefined}` → `{a: 1}`. */
export const omitUndefined = <Value extends RequestJson>(
  fields: Readonly<Record<string, Value | undefined>>,
): { [key: string]: Value } => defined(fields) as { [key: string]: Value };

/** JSON of a request with large images, which are encoded while it is sent. */
export class LongJsonBody {
  readonly #parts: readonly (string | Base64Text)[];
  /** For `Content-Length`. */
  readonly byteLength: number;

  constructor(value: RequestJson) {
    const parts: (string | Base64Text)[] = [];
    let json = '';
    for (const part of jsonParts(value)) {
      if (typeof part === 'string') json += part;
      else {
        parts.push(json, part);
        json = '';
      }
    }
    this.#parts = [...parts, json];
    this.byteLength = this.#parts.reduce<number>(
      (sum, part) => sum + (typeof part === 'string' ? Buffer.byteLength(part) : part.length),
      0,
    );
  }

  /** Yields all bytes from the start on each call. */
  *pieces(): Generator<Buffer> {
    for (const part of this.#parts) {
      if (typeof part === 'string') yield Buffer.from(part);
      else yield* part.pieces();
    }
  }
}

/** Serializes the JSON of a request, with the same result as `JSON.stringify`. */
export const serializeJsonBody = (value: RequestJson): string | LongJsonBody =>
  holdsBase64(value) ? new LongJsonBody(value) : JSON.stringify(value);

/** Small bodies, as nearly all are, are written by `JSON.stringify` alone. */
const holdsBase64 = (value: RequestJson | undefined): boolean =>
  value instanceof Base64Text ||
  (typeof value === 'object' && value !== null && Object.values(value).some(holdsBase64));

function* jsonParts(value: RequestJson): Generator<string | Base64Text> {
  if (!holdsBase64(value)) yield JSON.stringify(value);
  else if (value instanceof Base64Text) yield* ['"', value, '"'];
  else {
    const isList = Array.isArray(value);
    // A member without a value is omitted, an element without one is null.
    const entries = Object.entries(value as object).filter(([, inner]) => isList || inner !== undefined);
    yield isList ? '[' : '{';
    for (const [index, [key, inner]] of entries.entries()) {
      yield `${index === 0 ? '' : ','}${isList ? '' : `${JSON.stringify(key)}:`}`;
      yield* jsonParts(inner ?? null);
    }
    yield isList ? ']' : '}';
  }
}
