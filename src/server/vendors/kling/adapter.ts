import { Type } from 'typebox';
import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import type { TaskStatus } from '../../../contract/states.ts';
import { DAY_MS } from '../../../contract/time.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import type { AdapterContext } from '../../upstreams/call.ts';
import { PollFailed, type VendorError } from '../../upstreams/error.ts';
import type { Json, QueryOutcome, VendorAdapter } from '../adapter.ts';
import { billedUnits } from '../billed-facts.ts';
import { API_KEY_CREDENTIALS, KEY_PAIR_CREDENTIALS } from '../credential-schemas.ts';
import {
  ambiguousSubmit,
  type ErrorClass,
  failedTask,
  rejectedPoll,
  successWithoutArtifact,
  toVendorError,
  UNKNOWN_FAILURE,
  unreadablePoll,
} from '../error-mapping.ts';
import { withJsonBody } from '../http.ts';
import { parseSeconds, type RequestBody, rejectField } from '../request-body.ts';
import { asArray, asId, asText, asUrl, ownEntry, toRawResponse } from '../untrusted-json.ts';
import { KLING_MODELS } from './models.ts';
import { ENDPOINTS, type Endpoint, parseMetadata, toBody, toEndpoint } from './request.ts';
import { bearerToken } from './token.ts';

/** Kling, `/v1/videos/{text2video,image2video,omni-video}`. Source: the vendor's API reference, "Text to Video" and so on. */

// Status mapping

/** Never `QUEUED`: the vendor reports a waiting task as submitted. */
const STATES: Readonly<Record<string, TaskStatus>> = {
  submitted: 'SUBMITTED',
  processing: 'IN_PROGRESS',
  succeed: 'SUCCESS',
  failed: 'FAILURE',
};

function toOutcome(task: UntrustedObject, word: string, response: BufferedResponse): QueryOutcome {
  const raw = toRawResponse(response);
  const state = ownEntry(STATES, word) ?? 'UNKNOWN';
  if (state === 'FAILURE') {
    const message = asText(task.task_status_msg);
    return failedTask(raw, { ...classifyText(message ?? ''), message });
  }
  if (state !== 'SUCCESS') return { state, raw };
  const result = task.task_result ?? {};
  const videos = asObject(result)?.videos ?? [];
  const first = asArray(videos)?.[0];
  const url = asUrl(asObject(first)?.url);
  if (url !== undefined) return { state, artifact: { kind: 'url', url }, raw };
  const isEmpty = asArray(videos)?.length === 0 || asObject(first)?.url === '';
  if (!isEmpty) throw unreadablePoll(response);
  return successWithoutArtifact(raw);
}

// Error reading

/** The vendor's own codes; HTTP 429 alone is ambiguous, since it is also returned for an unpaid account. */
export const ERROR_CLASSES: Readonly<Record<number, ErrorClass>> = {
  1000: { reason: 'auth' },
  1001: { reason: 'auth' },
  1002: { reason: 'auth' },
  1003: { reason: 'auth' },
  1004: { reason: 'auth' },
  1100: { reason: 'auth' },
  1101: { reason: 'billing' },
  1102: { reason: 'billing' },
  1103: { reason: 'model' },
  1200: { reason: 'user' },
  1201: { reason: 'user' },
  1202: { reason: 'user' },
  1203: { reason: 'model' },
  1300: { reason: 'policy' },
  1301: { reason: 'policy' },
  1302: { reason: 'rate' },
  1303: { reason: 'rate' },
  1304: { reason: 'auth' },
  5000: { reason: 'capacity' },
  5001: { reason: 'capacity' },
  5002: { reason: 'capacity' },
};
const NOT_YET_VALID = 1003;
const TOKEN_EXPIRED = 1004;
const NO_SUCH_RESOURCE = 1203;

/** A failed task has a text and no code; the vendor's own words for its content check are the only ones that recur. */
const classifyText = (message: string): ErrorClass =>
  /risk control|sensitive|content (?:security|policy)|风控|敏感/i.test(message)
    ? { reason: 'policy' }
    : /image|picture|图片/i.test(message)
      ? { reason: 'user', cause: 'picture_unsuitable' }
      : UNKNOWN_FAILURE;

/** The envelope's code where it is an error; undefined for 0 and for everything that is no code. */
function errorCode(response: BufferedResponse): number | undefined {
  const code = asObject(response.json)?.code;
  return typeof code === 'number' && Number.isInteger(code) && code !== 0 ? code : undefined;
}

function parseError(response: BufferedResponse, nowMs: number): VendorError {
  const code = errorCode(response);
  return toVendorError(response, nowMs, {
    code: code === undefined ? '' : String(code),
    message: asText(asObject(response.json)?.message) ?? '',
    meaning: code === undefined ? undefined : ERROR_CLASSES[code],
  });
}

/** The task of an envelope that reports success. */
function parseTask(response: BufferedResponse): UntrustedObject | undefined {
  const envelope = asObject(response.json);
  return response.status < 300 && envelope?.code === 0 ? asObject(envelope.data) : undefined;
}

// The vendor

interface Handle {
  readonly family: Endpoint;
  readonly id: string;
}

const toFamily = (value: unknown): Endpoint => ENDPOINTS.find((name) => name === value) ?? 'text2video';

function parseHandle(handle: Json): Handle {
  const { family, id } = asObject(handle) ?? {};
  return { family: toFamily(family), id: asText(id) ?? '' };
}

/** How far back packs are asked for; their units last half a year. */
const PACKS_SINCE_MS = 3 * 365 * DAY_MS;

/** @param path below `/v1/videos/`, or with a leading slash below the base URL */
async function sendAuthorized(context: AdapterContext, path: string, body?: RequestBody): Promise<BufferedResponse> {
  const send = (token: string) =>
    context.sendJson(
      withJsonBody(
        {
          method: body ? 'POST' : 'GET',
          url: path.startsWith('/') ? context.baseUrl + path : `${context.baseUrl}/v1/videos/${path}`,
          headers: { authorization: `Bearer ${token}` },
          signal: context.signal,
        },
        body,
      ),
    );
  const token = await bearerToken(context);
  const response = await send(token);
  const code = errorCode(response);
  if (response.status !== 401 || (code !== TOKEN_EXPIRED && code !== NOT_YET_VALID)) return response;
  // A request whose token was refused as expired has begun no job; a new token is tried once, as the vendor advises.
  const renewed = await bearerToken(context, token);
  return renewed === token ? response : send(renewed);
}

/** The vendor says that the remaining quantity of a pack is counted with a delay of twelve hours. */
const BOOKS_SKEW_MS = 12 * 3_600_000;

/** Units taken from all packs (kling.ai/document-api, "Account Usage", which asks for one call a second at most). */
async function readPacks(context: AdapterContext): Promise<number> {
  const now = context.now();
  const path = `/account/costs?start_time=${now - PACKS_SINCE_MS}&end_time=${now}`;
  const response = await sendAuthorized(context, path);
  const packs = asArray(asObject(asObject(asObject(response.json)?.data))?.resource_pack_subscribe_infos);
  if (errorCode(response) !== undefined || response.status >= 300 || packs === undefined)
    throw rejectedPoll(parseError(response, now));
  let counter = 0;
  for (const pack of packs.map(asObject)) {
    const [total, remaining] = [pack?.total_quantity, pack?.remaining_quantity];
    if (typeof total !== 'number' || typeof remaining !== 'number') throw unreadablePoll(response);
    counter += total - remaining;
  }
  return counter;
}

export const kling: VendorAdapter = {
  name: 'kling',
  title: 'Kling',
  defaultBaseUrl: 'https://api-singapore.klingai.com',
  credentials: Type.Union([KEY_PAIR_CREDENTIALS, API_KEY_CREDENTIALS]),
  models: KLING_MODELS,
  metadata: parseMetadata.schema,
  formFields: {
    seconds: 'duration',
    mode: 'mode',
    ratio: 'metadata.aspect_ratio',
    audio: 'metadata.sound',
    negative_prompt: 'metadata.negative_prompt',
  },
  presentation: {
    hidesModel: true,
    completedAt(data) {
      const updatedAt = asObject(asObject(data)?.data)?.updated_at;
      return typeof updatedAt === 'number' && Number.isFinite(updatedAt) ? Math.floor(updatedAt / 1_000) : undefined;
    },
    seconds(data) {
      const [video] = asArray(asObject(asObject(asObject(data)?.data)?.task_result)?.videos) ?? [];
      const seconds = asObject(video)?.duration;
      return typeof seconds === 'string' ? seconds : undefined;
    },
    url: 'known',
    error: ({ message, code }) => ({ message, code: code === '0' ? '' : code }),
  },
  example: {
    model: 'kling-v1-6',
    prompt: 'a fox runs over fresh snow',
    duration: 5,
    mode: 'pro',
    metadata: { negative_prompt: 'blur', cfg_scale: 0.5, aspect_ratio: '16:9' },
  },

  billingFactors(request) {
    const { duration = '5', mode = 'std', sound = 'off' } = toBody(request);
    if (typeof mode !== 'string') rejectField('mode', 'must be std or pro');
    return { seconds: parseSeconds(duration, 'duration'), factors: { mode, audio: String(sound === 'on') } };
  },

  /** Deducted units, a decimal as text (app.klingai.com/global/dev/document-api, query of a task). */
  billedFacts: (raw) => billedUnits(asObject(asObject(raw)?.data)?.final_unit_deduction),

  /** All resource packs of the last years, those used up too ("Account information inquiry"). */
  accountBooks: { unit: 'units', skewMs: BOOKS_SKEW_MS, read: readPacks },

  /** Jobs of the omni models are behind an endpoint of their own. */
  handleOf: ({ id, model, isFromText }) =>
    /omni|-o\d/.test(model) ? undefined : { family: isFromText ? 'text2video' : 'image2video', id },

  async submit(request, context) {
    const body = toBody(request);
    const family = toEndpoint(request, body);
    const response = await sendAuthorized(context, family, body);
    const raw = toRawResponse(response);
    if (errorCode(response) !== undefined || response.status >= 300) {
      return { kind: 'refused', error: parseError(response, context.now()), raw };
    }
    const id = asId(parseTask(response)?.task_id);
    if (id === undefined) throw ambiguousSubmit(response);
    return { kind: 'accepted', handle: { family, id }, upstreamId: id, raw };
  },

  async query(handle, context) {
    const { family, id } = parseHandle(handle);
    const response = await sendAuthorized(context, `${family}/${encodeURIComponent(id)}`);
    if (errorCode(response) === NO_SUCH_RESOURCE) {
      const { code, message, httpStatus } = parseError(response, context.now());
      return failedTask(toRawResponse(response), { reason: 'missing', code, message, httpStatus });
    }
    if (errorCode(response) !== undefined || response.status >= 300)
      throw rejectedPoll(parseError(response, context.now()));
    const task = parseTask(response);
    const word = asText(task?.task_status);
    if (!task || word === undefined || asId(task.task_id) !== id) throw unreadablePoll(response);
    return toOutcome(task, word, response);
  },

  findTaskHint: (request) => toEndpoint(request, toBody(request)),

  async findTask({ taskId, hint }, context) {
    const family = toFamily(hint);
    const response = await sendAuthorized(context, `${family}/${encodeURIComponent(taskId)}`);
    if (errorCode(response) === NO_SUCH_RESOURCE) return undefined;
    const task = parseTask(response);
    if (errorCode(response) !== undefined || !task) throw rejectedPoll(parseError(response, context.now()));
    const id = asId(task.task_id);
    const external = asObject(task.task_info)?.external_task_id;
    if (id === undefined || (external !== undefined && external !== taskId)) throw unreadablePoll(response);
    return { family, id };
  },

  async content(_handle, raw) {
    const task = asObject(asObject(raw)?.data);
    const [first] = asArray(asObject(task?.task_result)?.videos) ?? [];
    const url = asUrl(asObject(first)?.url);
    if (url === undefined) throw new PollFailed('the upstream gave no address of the video');
    return { kind: 'fetch', url, headers: {}, trusted: false };
  },

  async checkCredentials(context) {
    const response = await sendAuthorized(context, 'text2video?pageNum=1&pageSize=1');
    if (response.status < 300 && errorCode(response) === undefined) return { ok: true };
    return { ok: false, error: parseError(response, context.now()) };
  },
};
