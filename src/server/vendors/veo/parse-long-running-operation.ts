import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import { defined } from '../../../contract/omit-undefined.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound-types.ts';
import type { AdapterContext } from '../../upstreams/adapter-context.ts';
import type { VendorError } from '../../upstreams/vendor-errors.ts';
import type { Artifact, Json, QueryOutcome } from '../adapter-types.ts';
import { failedTask, rejectedPoll, successWithoutArtifact, unreadablePoll } from '../error-mapping.ts';
import { omitUndefined } from '../request-body.ts';
import { asArray, asText, toRawResponse } from '../untrusted-json.ts';
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

/** How a route reports where its videos are: the list, the artifact of one entry, and the response as it may be stored. */
export interface ResponseLayout {
  /** The object that holds the list and, where videos were filtered, `raiMediaFilteredReasons`. */
  container(response: UntrustedObject): unknown;
  readonly list: string;
  /** Undefined where the entry names no video that can be read. */
  artifact(entry: UntrustedObject): Artifact | undefined;
  raw?(reply: BufferedResponse): Json;
}

/** A filtered result is reported as a success without a video; its reasons are the only explanation in it. */
function parseFilteredResult(holder: UntrustedObject, raw: Json): QueryOutcome | undefined {
  const reasons = (asArray(holder.raiMediaFilteredReasons) ?? []).map(asText).filter((reason) => reason !== undefined);
  const count = holder.raiMediaFilteredCount;
  if (reasons.length === 0 && !(typeof count === 'number' && count > 0)) return undefined;
  const message = reasons.join(' ') || 'The video was filtered out by the provider.';
  const cause = refusalCause(message) ?? 'result_refused';
  return failedTask(raw, { reason: 'policy', cause, code: 'RAI_MEDIA_FILTERED', message });
}

function parseResponse(response: unknown, reader: ResponseLayout, raw: Json): QueryOutcome {
  if (response === undefined) return successWithoutArtifact(raw);
  // Damaged data in place of the video does not mean that the vendor has none: the next poll's response may be intact.
  const unreadable: QueryOutcome = { state: 'UNKNOWN', raw };
  const whole = asObject(response);
  if (!whole) return unreadable;
  const inner = reader.container(whole);
  if (inner === undefined) return successWithoutArtifact(raw);
  const holder = asObject(inner);
  if (!holder) return unreadable;
  const entries = holder[reader.list] === undefined ? [] : asArray(holder[reader.list]);
  if (!entries) return unreadable;
  if (entries.length === 0) return parseFilteredResult(holder, raw) ?? successWithoutArtifact(raw);
  const first = asObject(entries[0]);
  const artifact = first && reader.artifact(first);
  return artifact ? { state: 'SUCCESS', artifact, raw } : unreadable;
}

/** Reads the response to one poll of an operation. @throws PollFailed */
export function parseOperation(
  reply: BufferedResponse,
  handle: VeoHandle,
  reader: ResponseLayout,
  context: Pick<AdapterContext, 'now'>,
): QueryOutcome {
  const raw = reader.raw?.(reply) ?? toRawResponse(reply);
  if (reply.status !== 200) {
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
  const operation = asObject(reply.json);
  // A proxy may leave the name out; an empty object or another name is not a valid response.
  const { name = operation?.done === undefined ? undefined : handle.name } = operation ?? {};
  if (!operation || name !== handle.name) throw unreadablePoll(reply);
  const outcome = parseState(operation, reader, raw);
  return handle.missing ? { handle: toHandle({ route: handle.route, name: handle.name }), ...outcome } : outcome;
}

/** `done` is absent while the operation runs; waiting is not distinguished from running, and there is no percentage. */
function parseState(operation: UntrustedObject, reader: ResponseLayout, raw: Json): QueryOutcome {
  const { done, error, response } = operation;
  if (done === undefined || done === false) return { state: 'IN_PROGRESS', raw };
  if (done !== true) return { state: 'UNKNOWN', raw };
  if (error === undefined) return parseResponse(response, reader, raw);
  const told = asObject(error);
  return told ? toFailedOperation(told, raw) : { state: 'UNKNOWN', raw };
}
