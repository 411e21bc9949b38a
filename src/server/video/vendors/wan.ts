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
import { classOf, METADATA, toBody } from './wan-body.ts';
import { kindOf, lineOf, WAN_MODELS } from './wan-models.ts';

/** Wan by Alibaba Cloud Model Studio (DashScope), `/api/v1`: submitted asynchronously, looked at by task id for a day. */

// --- Price ---

function meter(request: VideoRequest): ReturnType<VideoVendor['meter']> {
  const parameters = asObject(toBody(request).parameters);
  const exact = asText(parameters?.size);
  const kind = kindOf(request.model);
  // Of the two, a line of models heeds one: the exact size, or the class.
  const byExact = kind === 'words' || kind === 'references' ? classOf(exact ?? '') : undefined;
  const resolution = byExact ?? asText(parameters?.resolution);
  const audio = parameters?.audio ?? (lineOf(request.model)?.audioSwitch ? true : undefined);
  return {
    seconds: readSeconds(parameters?.duration ?? 5, 'duration'),
    factors: {
      ...(resolution === undefined ? {} : { resolution }),
      ...(request.size === undefined ? {} : { size: request.size }),
      ...(typeof audio === 'boolean' ? { audio: String(audio) } : {}),
    },
  };
}

// --- Status mapping ---

/** `UNKNOWN` is the vendor's word for an id that is past its day or never was; it does not recover. */
export const STATES: Readonly<Record<string, QueryOutcome['state']>> = {
  PENDING: 'QUEUED',
  RUNNING: 'IN_PROGRESS',
  SUCCEEDED: 'SUCCESS',
  FAILED: 'FAILURE',
  CANCELED: 'FAILURE',
  CANCELLED: 'FAILURE',
  UNKNOWN: 'FAILURE',
};

function readFailure(word: string, output: Readonly<Record<string, unknown>>, raw: Json): QueryOutcome {
  if (word === 'UNKNOWN') return failedTask(raw, { reason: 'missing', message: 'The task is unknown or has expired.' });
  const code = asText(output.code) ?? '';
  const message = asText(output.message) ?? `The upstream says that the task is ${word}.`;
  return failedTask(raw, { reason: meaningOf(code)?.reason ?? 'other', code, message });
}

/** What a poll's answer says. Throws CouldNotAsk where it says nothing about the task `id`. */
export function readTask(answer: OutboundAnswer, id: string): QueryOutcome {
  const output = asObject(asObject(answer.json)?.output);
  if (!output || (output.task_id !== undefined && asId(output.task_id) !== id)) throw notAnAnswer(answer);
  const raw = toRaw(answer);
  const word = asText(output.task_status) ?? '';
  const state = entryOf(STATES, word) ?? 'UNKNOWN';
  if (state === 'FAILURE') return readFailure(word, output, raw);
  if (state !== 'SUCCESS') return { state, raw };
  const given = output.video_url;
  const url = asUrl(given);
  if (url !== undefined) return { state, artifact: { kind: 'url', url }, raw };
  // Garbage where the address should be is not the vendor's word that there is none.
  if (given !== undefined && given !== null && typeof given !== 'string') throw notAnAnswer(answer);
  return withoutArtifact(raw);
}

// --- Error reading (Alibaba Cloud Model Studio, "Error codes") ---

/** Whole codes, or the part of a code before its first dot. */
export const CODES: Readonly<Record<string, Meaning>> = {
  InvalidParameter: { reason: 'user' },
  InvalidURL: { reason: 'user' },
  DataInspectionFailed: { reason: 'policy' },
  Arrearage: { reason: 'billing' },
  UnsupportedOperation: { reason: 'user' },
  InvalidApiKey: { reason: 'auth' },
  AccessDenied: { reason: 'auth' },
  'AccessDenied.Unpurchased': { reason: 'model' },
  'Model.AccessDenied': { reason: 'model' },
  ModelNotFound: { reason: 'model' },
  NotFound: { reason: 'missing' },
  Throttling: { reason: 'rate' },
  'Throttling.AllocationQuota': { reason: 'billing' },
  insufficient_quota: { reason: 'billing' },
  InternalError: { reason: 'capacity' },
  SystemError: { reason: 'capacity' },
  ModelServiceFailed: { reason: 'capacity' },
  ModelUnavailable: { reason: 'capacity' },
};

const meaningOf = (code: string): Meaning | undefined =>
  entryOf(CODES, code) ?? entryOf(CODES, code.split('.', 1)[0] ?? '');

export function toError(answer: OutboundAnswer, nowMs: number): VendorError {
  const told = asObject(answer.json);
  const code = asText(told?.code) ?? '';
  return toVendorError(answer, nowMs, { code, message: asText(told?.message) ?? '', meaning: meaningOf(code) });
}

// --- The object ---

const readHandle = (handle: Json): string => asId(asObject(handle)?.id) ?? '';

/** People paste the address with the path their client wants. */
const apiOf = (call: VendorCall) => `${call.baseUrl.replace(/\/(api|compatible-mode)\/v1$/, '')}/api/v1`;
const headersOf = (call: VendorCall) => ({ authorization: `Bearer ${String(call.credentials.api_key)}` });

/** First and last frames, and what moves a figure or a face, have a path of their own. */
export const pathOf = (model: string): string =>
  kindOf(model) === 'frames' || /s2v|animate/.test(model)
    ? 'services/aigc/image2video/video-synthesis'
    : 'services/aigc/video-generation/video-synthesis';

const lookAt = (id: string, call: VendorCall): Promise<OutboundAnswer> =>
  call.json({
    method: 'GET',
    url: `${apiOf(call)}/tasks/${encodeURIComponent(id)}`,
    headers: headersOf(call),
    signal: call.signal,
  });

/** A task carries no id of the client, so one that was lost cannot be told from its neighbours: no `lookup`. */
export const wan: VideoVendor = {
  name: 'wan',
  title: 'Wan',
  defaultBaseUrl: 'https://dashscope.aliyuncs.com',
  credentials: Type.Object({ api_key: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
  models: WAN_MODELS,
  metadata: METADATA,
  meter,

  async submit(request, call) {
    const body = JSON.stringify(toBody(request));
    const answer = await call.json({
      method: 'POST',
      url: `${apiOf(call)}/${pathOf(request.model)}`,
      headers: {
        ...headersOf(call),
        'content-type': 'application/json',
        'x-dashscope-async': 'enable',
        // Files uploaded to the vendor's own store are resolved only when asked for.
        ...(body.includes('"oss://') ? { 'x-dashscope-ossresourceresolve': 'enable' } : {}),
      },
      body,
      signal: call.signal,
    });
    const raw = toRaw(answer);
    const reply = asObject(answer.json);
    const isRefused = answer.status >= 400 || (asText(reply?.code) !== undefined && !reply?.output);
    if (isRefused) return { kind: 'refused', error: toError(answer, call.now()), raw };
    const id = asId(asObject(reply?.output)?.task_id);
    if (id === undefined || answer.status !== 200) throw unreadable(answer);
    return { kind: 'accepted', handle: { id }, upstreamId: id, raw };
  },

  async query(handle, call) {
    const id = readHandle(handle);
    const answer = await lookAt(id, call);
    const reply = asObject(answer.json);
    if (answer.status !== 200 || (asText(reply?.code) !== undefined && !reply?.output)) {
      throw refusedPoll(toError(answer, call.now()));
    }
    return readTask(answer, id);
  },

  /** The link of the last look; it lives as long as the task does. */
  async content(_handle, raw) {
    const url = asUrl(asObject(asObject(raw)?.output)?.video_url);
    if (url === undefined) throw new CouldNotAsk('the stored answer of this task has no address');
    return { kind: 'fetch', url, headers: {}, trusted: false };
  },

  /** An unknown id is answered with HTTP 200, for every key that works. */
  async probe(call) {
    const answer = await lookAt('00000000-0000-0000-0000-000000000000', call);
    return answer.status === 200 && asObject(asObject(answer.json)?.output)
      ? { ok: true }
      : { ok: false, error: toError(answer, call.now()) };
  },
};
