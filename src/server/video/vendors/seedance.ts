import { Type } from 'typebox';
import type { OutboundAnswer } from '../../platform/outbound/outbound.ts';
import {
  CouldNotAsk,
  type Json,
  type QueryOutcome,
  type VendorCall,
  type VendorError,
  type VideoRequest,
  type VideoVendor,
} from '../vendor.ts';
import { asId, asObject, asText, asUrl, entryOf, toRaw } from '../vendor-answer.ts';
import { readSeconds } from '../vendor-body.ts';
import {
  failedTask,
  type Meaning,
  notAnAnswer,
  refusedPoll,
  toVendorError,
  unreadable,
  withoutArtifact,
} from '../vendor-errors.ts';
import { FRAMES_PER_SECOND, METADATA, toBody } from './seedance-body.ts';
import { familyOf, SEEDANCE_MODELS } from './seedance-models.ts';

/** Seedance by Volcengine Ark or BytePlus ModelArk, `/api/v3/contents/generations/tasks`: one protocol, two houses. */

// --- Price ---

/** Frames win over seconds; a length the model chooses is billed as its longest. */
function meter(request: VideoRequest): ReturnType<VideoVendor['meter']> {
  const { duration = 5, frames, resolution, generate_audio } = toBody(request);
  const family = familyOf(request.model);
  const longest = family?.max ?? 30;
  // Models that can make sound do so unless they are told not to.
  const audio = generate_audio ?? (family?.audio ? true : undefined);
  const seconds =
    typeof frames === 'number' ? Math.ceil(frames / FRAMES_PER_SECOND) : duration === -1 ? longest : duration;
  const word = asText(resolution);
  return {
    seconds: readSeconds(seconds, typeof frames === 'number' ? 'metadata.frames' : 'duration'),
    factors: {
      ...(word === undefined ? {} : { resolution: word }),
      ...(request.size === undefined ? {} : { size: request.size }),
      ...(typeof audio === 'boolean' ? { audio: String(audio) } : {}),
    },
  };
}

// --- Status mapping ---

export const STATES: Readonly<Record<string, QueryOutcome['state']>> = {
  queued: 'QUEUED',
  running: 'IN_PROGRESS',
  succeeded: 'SUCCESS',
  failed: 'FAILURE',
  cancelled: 'FAILURE',
  expired: 'FAILURE',
};

/** What a poll's answer says. Throws CouldNotAsk where it says nothing about the task `id`. */
export function readTask(answer: OutboundAnswer, id: string): QueryOutcome {
  const task = asObject(answer.json);
  if (!task || (task.id !== undefined && asId(task.id) !== id)) throw notAnAnswer(answer);
  const raw = toRaw(answer);
  const word = asText(task.status) ?? '';
  const state = entryOf(STATES, word) ?? 'UNKNOWN';
  if (state === 'FAILURE') {
    const told = asObject(task.error);
    const code = asText(told?.code) ?? '';
    const message = asText(told?.message) ?? `The upstream says that the task is ${word}.`;
    return failedTask(raw, { reason: meaningOf(code, message)?.reason ?? 'other', code, message });
  }
  if (state !== 'SUCCESS') return { state, raw };
  const content = task.content ?? undefined;
  const given = asObject(content)?.video_url;
  const url = asUrl(given);
  if (url !== undefined) return { state, artifact: { kind: 'url', url }, raw };
  // Garbage where the address should be is not the vendor's word that there is none.
  const isGarbage = (content !== undefined && !asObject(content)) || (given !== undefined && typeof given !== 'string');
  if (isGarbage && given !== null) throw notAnAnswer(answer);
  return withoutArtifact(raw);
}

// --- Error reading (Volcengine Ark, "Error codes") ---

/** Whole codes, or the part of a code before its first dot. */
export const CODES: Readonly<Record<string, Meaning>> = {
  MissingParameter: { reason: 'user' },
  InvalidParameter: { reason: 'user' },
  InvalidImageURL: { reason: 'user' },
  'InvalidEndpoint.ClosedEndpoint': { reason: 'model' },
  SensitiveContentDetected: { reason: 'policy' },
  InputTextSensitiveContentDetected: { reason: 'policy' },
  InputImageSensitiveContentDetected: { reason: 'policy' },
  InputVideoSensitiveContentDetected: { reason: 'policy' },
  InputAudioSensitiveContentDetected: { reason: 'policy' },
  OutputTextSensitiveContentDetected: { reason: 'policy' },
  OutputImageSensitiveContentDetected: { reason: 'policy' },
  OutputVideoSensitiveContentDetected: { reason: 'policy' },
  OutputAudioSensitiveContentDetected: { reason: 'policy' },
  InputTextRiskDetection: { reason: 'policy' },
  InputImageRiskDetection: { reason: 'policy' },
  OutputTextRiskDetection: { reason: 'policy' },
  OutputImageRiskDetection: { reason: 'policy' },
  ContentSecurityDetectionError: { reason: 'policy' },
  AuthenticationError: { reason: 'auth' },
  InvalidAccountStatus: { reason: 'auth' },
  AccessDenied: { reason: 'auth' },
  AccountOverdueError: { reason: 'billing' },
  'OperationDenied.ServiceNotOpen': { reason: 'model' },
  'OperationDenied.ServiceOverdue': { reason: 'billing' },
  'OperationDenied.PermissionDenied': { reason: 'auth' },
  'OperationDenied.InvalidState': { reason: 'user' },
  InvalidEndpointOrModel: { reason: 'model' },
  ModelNotOpen: { reason: 'model' },
  UnsupportedModel: { reason: 'model' },
  NotFound: { reason: 'missing' },
  RateLimitExceeded: { reason: 'rate' },
  ModelAccountRpmRateLimitExceeded: { reason: 'rate' },
  ModelAccountTpmRateLimitExceeded: { reason: 'rate' },
  ModelAccountIpmRateLimitExceeded: { reason: 'rate' },
  APIAccountRpmRateLimitExceeded: { reason: 'rate' },
  AccountRateLimitExceeded: { reason: 'rate' },
  RequestBurstTooFast: { reason: 'rate' },
  InflightBatchsizeExceeded: { reason: 'rate' },
  ServerOverloaded: { reason: 'capacity' },
  ModelLoadingError: { reason: 'capacity' },
  SetLimitExceeded: { reason: 'billing' },
  AccountQuotaExceeded: { reason: 'rate' },
  InternalServiceError: { reason: 'capacity' },
};

/** One code with three meanings: the free trial is used up, too many tasks wait, the plan's window is used up. */
export function meaningOf(code: string, message: string): Meaning | undefined {
  if (code === 'QuotaExceeded') return { reason: /free trial|免费试用/i.test(message) ? 'billing' : 'rate' };
  return entryOf(CODES, code) ?? entryOf(CODES, code.split('.', 1)[0] ?? '');
}

const RESET = /reset at (\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}) ([+-]\d{2})(\d{2})/;
const MAX_WAIT_MS = 3_600_000;

/** A plan's window ends when its message says so; an hour at most is waited, then the channel is tried again. */
function readReset(message: string, nowMs: number): number | undefined {
  const [, day, time, hours, minutes] = RESET.exec(message) ?? [];
  const waitMs = Date.parse(`${day}T${time}${hours}:${minutes}`) - nowMs;
  return waitMs > 0 ? Math.min(waitMs, MAX_WAIT_MS) : undefined;
}

export function toError(answer: OutboundAnswer, nowMs: number): VendorError {
  const told = asObject(asObject(answer.json)?.error);
  const code = asText(told?.code) ?? '';
  const message = asText(told?.message) ?? '';
  const error = toVendorError(answer, nowMs, { code, message, meaning: meaningOf(code, message) });
  const retryAfterMs = error.retryAfterMs ?? readReset(message, nowMs);
  return retryAfterMs === undefined ? error : { ...error, retryAfterMs };
}

// --- The object ---

const readHandle = (handle: Json): string => asId(asObject(handle)?.id) ?? '';

/** People paste the address with the version their client wants. */
const tasksUrl = (call: VendorCall) => `${call.baseUrl.replace(/\/api\/v3$/, '')}/api/v3/contents/generations/tasks`;
const headersOf = (call: VendorCall) => ({ authorization: `Bearer ${String(call.credentials.api_key)}` });

const ask = (call: VendorCall, method: 'GET' | 'DELETE', tail: string): Promise<OutboundAnswer> =>
  call.json({ method, url: `${tasksUrl(call)}${tail}`, headers: headersOf(call), signal: call.signal });

/** There is no client's id in a task, so one that was lost cannot be told from its neighbours: no `lookup`. */
export const seedance: VideoVendor = {
  name: 'seedance',
  title: 'Seedance',
  defaultBaseUrl: 'https://ark.cn-beijing.volces.com',
  credentials: Type.Object({ api_key: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
  models: SEEDANCE_MODELS,
  metadata: METADATA,
  meter,

  async submit(request, call) {
    const answer = await call.json({
      method: 'POST',
      url: tasksUrl(call),
      headers: { ...headersOf(call), 'content-type': 'application/json' },
      body: JSON.stringify(toBody(request)),
      signal: call.signal,
    });
    const raw = toRaw(answer);
    if (answer.status >= 400) return { kind: 'refused', error: toError(answer, call.now()), raw };
    const id = asId(asObject(answer.json)?.id);
    if (id === undefined || answer.status !== 200) throw unreadable(answer);
    return { kind: 'accepted', handle: { id }, upstreamId: id, raw };
  },

  async query(handle, call) {
    const id = readHandle(handle);
    const answer = await ask(call, 'GET', `/${encodeURIComponent(id)}`);
    if (answer.status === 200) return readTask(answer, id);
    const error = toError(answer, call.now());
    // Only the vendor's own word that there is no such task ends it; a bare 404 may be a gateway's.
    if (answer.status === 404 && error.reason === 'missing') return failedTask(toRaw(answer), error);
    throw refusedPoll(error);
  },

  /** The link of the last look; one that has expired is replaced by looking again, as the task lives longer. */
  async content(_handle, raw) {
    const url = asUrl(asObject(asObject(raw)?.content)?.video_url);
    if (url === undefined) throw new CouldNotAsk('the stored answer of this task has no address');
    return { kind: 'fetch', url, headers: {}, trusted: false };
  },

  async remove(handle, call) {
    await ask(call, 'DELETE', `/${encodeURIComponent(readHandle(handle))}`);
  },

  async probe(call) {
    const answer = await ask(call, 'GET', '?page_num=1&page_size=1');
    return answer.status === 200 ? { ok: true } : { ok: false, error: toError(answer, call.now()) };
  },
};
