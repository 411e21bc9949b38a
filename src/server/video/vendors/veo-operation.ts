import type { OutboundAnswer } from '../../platform/outbound/outbound.ts';
import type { Artifact, Json, QueryOutcome, VendorCall } from '../vendor.ts';
import { asArray, asObject, asText, toRaw, type Untrusted } from '../vendor-answer.ts';
import { failedTask, notAnAnswer, refusedPoll, withoutArtifact } from '../vendor-errors.ts';
import { failedOperation, readGoogleError } from './google-errors.ts';
import type { VeoRoute } from './veo-request.ts';

/** What is kept of a submit. `missing` counts the 404s seen in a row: an adapter has no memory but its handle. */
export interface VeoHandle {
  readonly route: VeoRoute;
  /** The long-running operation's own name. */
  readonly name: string;
  readonly missing?: { readonly sinceMs: number; readonly times: number };
}

const readMissing = (value: unknown): VeoHandle['missing'] => {
  const { sinceMs, times } = asObject(value) ?? {};
  return typeof sinceMs === 'number' && typeof times === 'number' ? { sinceMs, times } : undefined;
};

export function readHandle(handle: Json): VeoHandle {
  const { route, name, missing } = asObject(handle) ?? {};
  const seen = readMissing(missing);
  return {
    route: route === 'vertex' ? 'vertex' : 'gemini',
    name: asText(name) ?? '',
    ...(seen === undefined ? {} : { missing: seen }),
  };
}

export const toHandle = ({ route, name, missing }: VeoHandle): Json => ({
  route,
  name,
  ...(missing === undefined ? {} : { missing: { ...missing } }),
});

const GONE_AFTER_TIMES = 3;
const GONE_AFTER_MS = 60_000;

/**
 * One 404 proves nothing: a fresh operation may not be known everywhere yet. Three in a row over a minute or more mean that
 * it has expired or that its model was withdrawn. Until then nothing changes but the count in the handle.
 */
function missed(handle: VeoHandle, error: Parameters<typeof refusedPoll>[0], raw: Json, nowMs: number): QueryOutcome {
  const missing = { sinceMs: handle.missing?.sinceMs ?? nowMs, times: (handle.missing?.times ?? 0) + 1 };
  if (missing.times >= GONE_AFTER_TIMES && nowMs - missing.sinceMs >= GONE_AFTER_MS) return failedTask(raw, error);
  return { state: 'IN_PROGRESS', raw, handle: toHandle({ ...handle, missing }) };
}

/** How a route says where its videos are: the list, the artifact of one entry, and the answer as it may be stored. */
export interface VideoReader {
  /** The object that holds the list and, where videos were filtered, `raiMediaFilteredReasons`. */
  holder(response: Untrusted): unknown;
  readonly list: string;
  /** Undefined where the entry names no video that can be read. */
  artifact(entry: Untrusted): Artifact | undefined;
  raw?(answer: OutboundAnswer): Json;
}

/** A filtered result is wrapped as a success without a video; its reasons are the only words there are. */
function filtered(holder: Untrusted, raw: Json): QueryOutcome | undefined {
  const reasons = (asArray(holder.raiMediaFilteredReasons) ?? []).map(asText).filter((reason) => reason !== undefined);
  const count = holder.raiMediaFilteredCount;
  if (reasons.length === 0 && !(typeof count === 'number' && count > 0)) return undefined;
  const message = reasons.join(' ') || 'The video was filtered out by the provider.';
  return failedTask(raw, { reason: 'policy', code: 'RAI_MEDIA_FILTERED', message });
}

function readResponse(response: unknown, reader: VideoReader, raw: Json): QueryOutcome {
  if (response === undefined) return withoutArtifact(raw);
  // Garbage in the place of the video is not the vendor's word that there is none: the next look may be whole.
  const unreadable: QueryOutcome = { state: 'UNKNOWN', raw };
  const whole = asObject(response);
  if (!whole) return unreadable;
  const inner = reader.holder(whole);
  if (inner === undefined) return withoutArtifact(raw);
  const holder = asObject(inner);
  if (!holder) return unreadable;
  const entries = holder[reader.list] === undefined ? [] : asArray(holder[reader.list]);
  if (!entries) return unreadable;
  if (entries.length === 0) return filtered(holder, raw) ?? withoutArtifact(raw);
  const first = asObject(entries[0]);
  const artifact = first && reader.artifact(first);
  return artifact ? { state: 'SUCCESS', artifact, raw } : unreadable;
}

/** Reads the answer to one look at an operation. @throws CouldNotAsk */
export function readOperation(
  answer: OutboundAnswer,
  handle: VeoHandle,
  reader: VideoReader,
  call: Pick<VendorCall, 'now'>,
): QueryOutcome {
  const raw = reader.raw?.(answer) ?? toRaw(answer);
  if (answer.status !== 200) {
    const error = readGoogleError(answer, call.now(), 'missing');
    if (error.reason === 'missing' && error.code === 'NOT_FOUND') return missed(handle, error, raw, call.now());
    throw refusedPoll(error);
  }
  const operation = asObject(answer.json);
  // A relay may leave the name out; an empty object or another name is no answer.
  const { name = operation?.done === undefined ? undefined : handle.name } = operation ?? {};
  if (!operation || name !== handle.name) throw notAnAnswer(answer);
  const outcome = readState(operation, reader, raw);
  return handle.missing ? { handle: toHandle({ route: handle.route, name: handle.name }), ...outcome } : outcome;
}

/** `done` is absent while the operation runs; there is no word for waiting and no percentage. */
function readState(operation: Untrusted, reader: VideoReader, raw: Json): QueryOutcome {
  const { done, error, response } = operation;
  if (done === undefined || done === false) return { state: 'IN_PROGRESS', raw };
  if (done !== true) return { state: 'UNKNOWN', raw };
  if (error === undefined) return readResponse(response, reader, raw);
  const told = asObject(error);
  return told ? failedOperation(told, raw) : { state: 'UNKNOWN', raw };
}
