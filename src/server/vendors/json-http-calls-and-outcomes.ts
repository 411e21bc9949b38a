import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { asObject } from '../../contract/is-object.ts';
import type { BufferedResponse, OutboundRequest } from '../platform/outbound/outbound.ts';
import type { AdapterContext } from '../upstreams/upstream.ts';
import { PollFailed, type VendorError } from '../upstreams/vendor-errors.ts';
import type { ContentSource, Json, QueryOutcome, RequestJson, SubmitOutcome } from './adapter-types.ts';
import {
  ambiguousSubmit,
  type ErrorClass,
  mayHaveBegun,
  successWithoutArtifact,
  unreadablePoll,
} from './error-mapping.ts';
import type { RequestBody } from './request-body.ts';
import { type LongJsonBody, serializeJsonBody } from './serialize-json-body.ts';
import { asId, asUrl, isSuccessStatus, ownEntry, toRawResponse } from './untrusted-json.ts';

/**
 * What adapters of vendors with JSON over HTTP have in common: a key in a header, a task id as the whole handle, one GET
 * for a poll, and the video as a public URL.
 */
type Headers = Readonly<Record<string, string>>;

export const bearerHeaders = (context: AdapterContext): Headers => ({
  authorization: `Bearer ${String(context.credentials.api_key)}`,
});

export const getJson = (context: AdapterContext, url: string, headers: Headers): Promise<BufferedResponse> =>
  context.sendJson({ method: 'GET', url, headers, signal: context.signal });

export const deleteJson = (context: AdapterContext, url: string, headers: Headers): Promise<BufferedResponse> =>
  context.sendJson({ method: 'DELETE', url, headers, signal: context.signal });

export const postJson = (
  context: AdapterContext,
  url: string,
  headers: Headers,
  body: RequestBody,
): Promise<BufferedResponse> =>
  context.sendJson(withJsonBody({ method: 'POST', url, headers, signal: context.signal }, body));

/** The request with `body` as JSON; as it is where there is none. To be sent once: the bytes of pictures are made on the way. */
export const withJsonBody = (request: OutboundRequest, body: RequestJson | undefined): OutboundRequest =>
  body === undefined
    ? request
    : withSerializedBody(
        { ...request, headers: { ...request.headers, 'content-type': 'application/json' } },
        serializeJsonBody(body),
      );

/** The same for JSON that has been serialized already; its type is in the headers. */
export const withSerializedBody = (request: OutboundRequest, body: string | LongJsonBody): OutboundRequest =>
  typeof body === 'string'
    ? { ...request, body }
    : {
        ...request,
        headers: { ...request.headers, 'content-length': String(body.byteLength) },
        body: Readable.from(inTurns(body.pieces()), { objectMode: false }),
      };

/** One piece for each turn of the event loop: the system may take many megabytes without a wait. */
async function* inTurns(pieces: Iterable<Buffer>): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    yield piece;
    await nextTurn();
  }
}

/** The id in a handle of `acceptedSubmit`; empty for anything else, which the vendor does not know. */
export const parseIdHandle = (handle: Json): string => asId(asObject(handle)?.id) ?? '';

/** @throws OutboundError `mayHaveArrived` where there is no id: a job may exist nevertheless. */
export function acceptedSubmit(id: string | undefined, response: BufferedResponse, handle?: Json): SubmitOutcome {
  if (id === undefined) throw ambiguousSubmit(response);
  return { kind: 'accepted', handle: handle ?? { id }, upstreamId: id, raw: toRawResponse(response) };
}

/** @throws OutboundError `mayHaveArrived` where a gateway gave up waiting: the job may have begun, and a second one would be paid too. */
export function refusedSubmit(error: VendorError, response: BufferedResponse): SubmitOutcome {
  if (mayHaveBegun(response, error)) throw ambiguousSubmit(response);
  return { kind: 'refused', error, raw: toRawResponse(response) };
}

/**
 * The outcome of a submit whose response is `{id}` with a 2xx, and a refusal from 400 on.
 *
 * @throws OutboundError `mayHaveArrived` for anything else
 */
export function parseIdSubmit(response: BufferedResponse, toError: () => VendorError): SubmitOutcome {
  if (response.status >= 400) return refusedSubmit(toError(), response);
  return acceptedSubmit(isSuccessStatus(response) ? asId(asObject(response.json)?.id) : undefined, response);
}

/**
 * A finished task, by the value in place of its video's URL. Text or nothing is the vendor's statement that there is
 * none, a failure; any other type is a damaged response, and the next poll's may be intact.
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

/** A file that needs no credentials, from the response stored with the task. @throws PollFailed where it has no URL. */
export function publicFile(url: unknown): ContentSource {
  const parsed = asUrl(url);
  if (parsed === undefined) throw new PollFailed('the stored response of this task has no URL of the video');
  return { kind: 'fetch', url: parsed, headers: {}, trusted: false };
}

/** The class of a vendor's code: by the whole code, else by the part before its first dot. */
export const classifyByTable =
  (classes: Readonly<Record<string, ErrorClass>>) =>
  (code: string): ErrorClass | undefined =>
    ownEntry(classes, code) ?? ownEntry(classes, code.split('.', 1)[0] ?? '');
