import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import { defined } from '../../../contract/omit-undefined.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import type { AdapterContext } from '../../upstreams/upstream.ts';
import { PollFailed, type VendorError } from '../../upstreams/vendor-errors.ts';
import type { ContentSource, Json, QueryOutcome, SubmitOutcome } from '../adapter-types.ts';
import { failedTask, rejectedPoll, successWithoutArtifact, unreadablePoll } from '../error-mapping.ts';
import { acceptedSubmit, refusedSubmit } from '../json-http-calls-and-outcomes.ts';
import { stripDataUrlPrefix } from '../media-to-base64-or-url.ts';
import { isErrorAnswer } from '../relay-answer.ts';
import { omitUndefined } from '../request-body.ts';
import { asArray, asText, asUrl, isSuccessStatus, toRawResponse } from '../untrusted-json.ts';
import { parseGoogleError, refusalCause, toFailedOperation } from './google-errors.ts';
import type { VeoRoute } from './request.ts';

/** What is stored of a submit. `missing` counts consecutive 404s: an adapter has no storage but its handle. */
export interface VeoHandle {
  readonly route: VeoRoute;
  /** The long-running operation's own name. */
  readonly name: string;
  readonly missing?: NotFoundCount;
}

export interface NotFoundCount {
  readonly sinceMs: number;
  readonly times: number;
}

export const parseMissing = (value: unknown): NotFoundCount | undefined => {
  const { sinceMs, times } = asObject(value) ?? {};
  return typeof sinceMs === 'number' && typeof times === 'number' ? { sinceMs, times } : undefined;
};

export function parseHandle(handle: Json): VeoHandle {
  const { route, name, missing } = asObject(handle) ?? {};
  const known: VeoRoute = route === 'vertex' ? 'vertex' : 'gemini';
  return defined({ route: known, name: asText(name) ?? '', missing: parseMissing(missing) });
}

export const toHandle = ({ route, name, missing }: VeoHandle): Json =>
  omitUndefined({ route, name, missing: missing && { ...missing } });

const GONE_AFTER_TIMES = 3;
const GONE_AFTER_MS = 60_000;

/**
 * One 404 proves nothing: a new operation may not be replicated everywhere yet. Three in a row over a minute or more mean that
 * it has expired or that its model was withdrawn. Until then nothing changes but the count in the handle.
 */
export function countNotFound(
  before: NotFoundCount | undefined,
  found: {
    readonly error: VendorError;
    readonly raw: Json;
    readonly nowMs: number;
    /** The handle with the new count. */
    readonly toHandle: (missing: NotFoundCount) => Json;
  },
): QueryOutcome {
  const { error, raw, nowMs } = found;
  const missing = { sinceMs: before?.sinceMs ?? nowMs, times: (before?.times ?? 0) + 1 };
  if (missing.times >= GONE_AFTER_TIMES && nowMs - missing.sinceMs >= GONE_AFTER_MS) return failedTask(raw, error);
  return { state: 'IN_PROGRESS', raw, handle: found.toHandle(missing) };
}

/** A response may contain the video: eight seconds at 4k, and a third more for its Base64. */
export const MAX_RESPONSE_BYTES = 96 * 1024 ** 2;

/** A finished video: at an address, in the customer's bucket, or as Base64 in the response. */
export interface Film {
  readonly url?: string;
  readonly gcsUri?: string;
  readonly base64?: string;
  readonly mimeType?: string;
}

export const isStorageUri = (value: unknown): value is string =>
  typeof value === 'string' && /^gs:\/\/[a-z0-9._-]+\/.+$/.test(value);

/** `generatedSamples` on the wire of the Gemini API, `videos` on that of Vertex AI; relays and SDKs use the third for either. */
const LISTS = ['generatedSamples', 'videos', 'generatedVideos'] as const;
const BYTE_MEMBERS = ['bytesBase64Encoded', 'encodedVideo', 'videoBytes'] as const;

/** Some relays put the operation into an envelope. */
export const operationIn = (json: unknown): UntrustedObject | undefined => {
  const outer = asObject(json);
  return outer && outer.name == null && outer.done == null ? (asObject(outer.data) ?? outer) : outer;
};

/** What holds the list of videos and, where some were filtered, the reasons. */
const holderIn = (response: UntrustedObject): unknown => response.generateVideoResponse ?? response;

const listIn = (holder: UntrustedObject): unknown =>
  LISTS.map((name) => holder[name]).find((list) => list !== undefined && list !== null);

function toFilm(entry: unknown): Film | undefined {
  const video = asObject(asObject(entry)?.video) ?? asObject(entry);
  const places = [video?.uri, video?.gcsUri, video?.url];
  const film: Film = defined({
    gcsUri: places.find(isStorageUri),
    url: places.map(asUrl).find((url) => url !== undefined),
    base64: BYTE_MEMBERS.map((name) => asText(video?.[name])).find((text) => text !== undefined),
    mimeType: asText(video?.mimeType) ?? asText(video?.encoding),
  });
  return (film.gcsUri ?? film.url ?? film.base64) ? film : undefined;
}

/** The first video of a finished operation. */
export function filmIn(operation: unknown): Film | undefined {
  const response = asObject(operationIn(operation)?.response);
  const holder = response && asObject(holderIn(response));
  const entries = (holder && asArray(listIn(holder))) ?? [];
  return entries.map(toFilm).find((film) => film !== undefined);
}

/** The bytes of a video inside a response. @throws PollFailed */
export function inlineFile(base64: string | undefined, mimeType: unknown, reply: BufferedResponse): ContentSource {
  if (base64 === undefined) throw unreadablePoll(reply);
  const bytes = Buffer.from(stripDataUrlPrefix(base64), 'base64');
  if (bytes.length === 0) throw new PollFailed('the upstream answered with something else than a video');
  return { kind: 'bytes', bytes, mimeType: asText(mimeType) ?? 'video/mp4' };
}

/** Operation, response, holder, list, entry, video. */
const MAX_DEPTH = 6;

/** Base64 is replaced by a marker, since a task's row must not hold megabytes. */
function withoutBytes(value: unknown, depth = 0): unknown {
  const entries = asArray(value);
  if (entries) return depth > MAX_DEPTH ? value : entries.map((entry) => withoutBytes(entry, depth + 1));
  const holder = asObject(value);
  if (!holder || depth > MAX_DEPTH) return value;
  const isBytes = (name: string, held: unknown): held is string =>
    typeof held === 'string' && (BYTE_MEMBERS as readonly string[]).includes(name);
  return Object.fromEntries(
    Object.entries(holder).map(([name, held]) => [
      name,
      isBytes(name, held) ? `[${held.length} characters of Base64]` : withoutBytes(held, depth + 1),
    ]),
  );
}

/** A filtered result is reported as a success without a video; its reasons are the only explanation in it. */
function parseFilteredResult(holder: UntrustedObject, raw: Json): QueryOutcome | undefined {
  const { raiMediaFilteredCount: count, raiMediaFilteredReasons: told } = holder;
  const reasons = (asArray(told) ?? [told]).map(asText).filter((reason) => reason !== undefined);
  if (reasons.length === 0 && !(Number(count) > 0)) return undefined;
  const message = reasons.join(' ') || 'The video was filtered out by the provider.';
  const cause = refusalCause(message) ?? 'result_refused';
  return failedTask(raw, { reason: 'policy', cause, code: 'RAI_MEDIA_FILTERED', message });
}

function parseResponse(operation: UntrustedObject, raw: Json): QueryOutcome {
  const film = filmIn(operation);
  if (film) return { state: 'SUCCESS', artifact: { kind: (film.gcsUri ?? film.url) ? 'protected' : 'inline' }, raw };
  const { response } = operation;
  if (response === undefined || response === null) return successWithoutArtifact(raw);
  // Damaged data in place of the video does not mean that the vendor has none: the next poll's response may be intact.
  const unreadable: QueryOutcome = { state: 'UNKNOWN', raw };
  const whole = asObject(response);
  const holder = whole && asObject(holderIn(whole));
  if (!whole || !holder) return unreadable;
  const filtered = parseFilteredResult(holder, raw) ?? parseFilteredResult(whole, raw);
  if (filtered) return filtered;
  const entries = listIn(holder) === undefined ? [] : asArray(listIn(holder));
  return entries?.length === 0 ? successWithoutArtifact(raw) : unreadable;
}

/** Reads the response to one poll of an operation. @throws PollFailed */
export function parseOperation(
  reply: BufferedResponse,
  handle: VeoHandle,
  context: Pick<AdapterContext, 'now'>,
): QueryOutcome {
  const raw = reply.json === undefined ? toRawResponse(reply) : (withoutBytes(reply.json) as Json);
  if (!isSuccessStatus(reply)) {
    const error = parseGoogleError(reply, context.now(), 'missing');
    if (error.reason === 'missing' && error.code === 'NOT_FOUND')
      return countNotFound(handle.missing, {
        error,
        raw,
        nowMs: context.now(),
        toHandle: (missing) => toHandle({ ...handle, missing }),
      });
    throw rejectedPoll(error);
  }
  const operation = operationIn(reply.json);
  // A proxy may leave the name out; an empty object or another name is not a valid response.
  const name = operation?.name ?? (operation?.done == null ? undefined : handle.name);
  if (!operation || name !== handle.name) throw unreadablePoll(reply);
  const outcome = parseState(operation, raw);
  return handle.missing ? { handle: toHandle({ route: handle.route, name: handle.name }), ...outcome } : outcome;
}

/** `done` is absent while the operation runs; waiting is not distinguished from running, and there is no percentage. */
function parseState(operation: UntrustedObject, raw: Json): QueryOutcome {
  const { done, error } = operation;
  if (done === undefined || done === null || done === false) return { state: 'IN_PROGRESS', raw };
  if (done !== true) return { state: 'UNKNOWN', raw };
  if (error === undefined || error === null) return parseResponse(operation, raw);
  const told = asObject(error);
  return told ? toFailedOperation(told, raw) : { state: 'UNKNOWN', raw };
}

/** The name of a new operation; anything else is refused or ambiguous. @throws OutboundError `mayHaveArrived` */
export function parseOperationSubmit(
  reply: BufferedResponse,
  route: VeoRoute,
  pattern: RegExp,
  context: Pick<AdapterContext, 'now'>,
): SubmitOutcome {
  const operation = operationIn(reply.json);
  const name = asText(operation?.name) ?? '';
  const isRefused = !isSuccessStatus(reply) || (name === '' && isErrorAnswer(reply.json));
  if (isRefused) return refusedSubmit(parseGoogleError(reply, context.now(), 'model'), reply);
  return acceptedSubmit(pattern.test(name) ? name : undefined, reply, toHandle({ route, name }));
}
