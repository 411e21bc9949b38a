import { createHash, createHmac } from 'node:crypto';
import { Type } from 'typebox';
import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import { DAY_MS, HOUR_MS } from '../../../contract/time-units.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import {
  type AdapterContext,
  endpointUrl,
  PollFailed,
  type VendorError,
  withoutVersion,
} from '../../upstreams/upstream.ts';
import {
  API_KEY_CREDENTIALS,
  billedUnits,
  type Json,
  KEY_PAIR_CREDENTIALS,
  parseSeconds,
  type QueryOutcome,
  rejectField,
  type VendorAdapter,
} from '../adapter.ts';
import { gatewayFile, NO_SUCH_TASK, readGatewayTask, submittedTaskId, vendorResponse } from '../gateway-task.ts';
import {
  acceptedSubmit,
  classifyByWords,
  type ErrorClass,
  failedTask,
  type Headers,
  hasOwnEnvelope,
  isPolicyText,
  isSuccessCode,
  type ReportedReason,
  type RequestBody,
  readReason,
  refusedSubmit,
  rejectedPoll,
  successWithoutArtifact,
  toRawResponse,
  toVendorError,
  UNKNOWN_FAILURE,
  unreadablePoll,
  unwrapResponse,
  withJsonBody,
} from '../json-calls.ts';
import {
  asArray,
  asCode,
  asId,
  asText,
  asUnixSeconds,
  asUrl,
  classifyFailureWord,
  firstUrl,
  isForeignId,
  isSuccessStatus,
  ownEntry,
  readTaskState,
} from '../untrusted-json.ts';
import { KLING_MODELS, TEXT_OR_FRAMES } from './models.ts';
import { ENDPOINTS, type Endpoint, parseMetadata, toBody, toEndpoint } from './request.ts';
import {
  isTurbo,
  onlyTask,
  TURBO_KEYS,
  toTurboBody,
  toTurboOutcome,
  turboPath,
  turboSearchPath,
  turboTaskPath,
  turboUnits,
  turboVideo,
} from './v3-turbo-api.ts';

/**
 * Kling, `/v1/videos/{text2video,image2video,omni-video}`. Source: the vendor's API reference, "Text to Video" and the
 * following pages.
 */

// Status mapping

/** `succeed`, `submitted`: never queued, since the vendor reports a waiting task as submitted. */
function toOutcome(task: UntrustedObject, response: BufferedResponse): QueryOutcome {
  const raw = toRawResponse(response);
  const word = task.task_status;
  const state = readTaskState(word);
  if (state === 'FAILURE') {
    const reported = readReason(task.task_status_msg, task.error, task);
    return failedTask(raw, { ...classifyFailure(reported.message ?? '', word), message: reported.message });
  }
  if (state !== 'SUCCESS') return { state, raw };
  const videos = videosOf(task);
  const url = filmUrlOf(videos);
  if (url !== undefined) return { state, artifact: { kind: 'url', url }, raw };
  const isDamaged = videos !== undefined && (!asArray(videos) || asArray(videos)?.some(hasOddUrl));
  if (isDamaged) throw unreadablePoll(response);
  return successWithoutArtifact(raw);
}

/** Undefined if there are none; anything else than a list is damaged. */
function videosOf(task: UntrustedObject | undefined): unknown {
  const result = task?.task_result ?? undefined;
  return result === undefined ? undefined : asObject(result) ? (asObject(result)?.videos ?? undefined) : result;
}

/** The film without a mark, otherwise the marked one, which is all that some answers hold. */
const filmUrlOf = (videos: unknown): string | undefined => firstUrl(videos) ?? firstUrl(videos, ['watermark_url']);

/** Whether a value is neither a URL nor a statement that there is none. */
const hasOddUrl = (video: unknown): boolean => {
  const url = asObject(video)?.url;
  return !asObject(video) || (url !== undefined && url !== null && url !== '');
};

/** A failed task has a text and no code; only the vendor's words for its content check are stable. */
const classifyFailure = (message: string, word: unknown): ErrorClass =>
  isPolicyText(message)
    ? { reason: 'policy' }
    : /image|picture|图片/i.test(message)
      ? { reason: 'user', cause: 'picture_unsuitable' }
      : (classifyFailureWord(word) ?? UNKNOWN_FAILURE);

/** A gateway may add the code of the vendor's error. */
const classifyReported = ({ code, message = '' }: ReportedReason, word: unknown): ErrorClass =>
  ownEntry(ERROR_CLASSES, code) ?? classifyFailure(message, word);

/** The task in the vendor's own form. */
function ownTask(json: unknown): UntrustedObject | undefined {
  const task = asObject(asObject(json)?.data);
  return asText(task?.task_status) === undefined ? undefined : task;
}

/** The vendor's task in a stored response, through any gateway. */
const taskIn = (raw: Json): UntrustedObject | undefined =>
  ownTask(raw) ?? asObject(asObject(vendorResponse(raw))?.data);

/** The task in an envelope that reports success. */
const parseTask = (response: BufferedResponse): UntrustedObject | undefined =>
  isSuccessEnvelope(response) ? asObject(asObject(response.json)?.data) : undefined;

// The adapter

/** `turbo` is the newer API. */
type Family = Endpoint | 'turbo';

interface Handle {
  readonly family: Family;
  readonly id: string;
}

const toFamily = (value: unknown): Family =>
  value === 'turbo' ? value : (ENDPOINTS.find((name) => name === value) ?? 'text2video');

function parseHandle(handle: Json): Handle {
  const { family, id } = asObject(handle) ?? {};
  return { family: toFamily(family), id: asText(id) ?? '' };
}

/** How far back resource packs are requested; their units are valid for half a year. */
const PACKS_SINCE_MS = 3 * 365 * DAY_MS;

/** The vendor documents a delay of twelve hours for the remaining quantity of a pack. */
const USAGE_SKEW_MS = 12 * HOUR_MS;

/** Units used from all packs (kling.ai/document-api, "Account Usage", which permits one call per second). */
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

const DEFAULT_SECONDS = 5;

/** Adapter for Kling's videos. */
export const kling: VendorAdapter = {
  name: 'kling',
  title: 'Kling',
  defaultBaseUrl: 'https://api-singapore.klingai.com',
  credentials: Type.Union([KEY_PAIR_CREDENTIALS, API_KEY_CREDENTIALS]),
  models: KLING_MODELS,
  unlistedWays: () => TEXT_OR_FRAMES.ways,
  metadata: parseMetadata.schema,
  droppedMetadata: ({ model }) =>
    isTurbo(model) ? Object.keys(parseMetadata.schema.properties).filter((key) => !TURBO_KEYS.includes(key)) : [],
  clipsIn: ({ video_list: list }) =>
    Object.fromEntries(
      (asArray(list) ?? []).map((video, index) => [
        `metadata.video_list.${index}.video_url`,
        asObject(video)?.video_url,
      ]),
    ),
  formFields: {
    seconds: 'duration',
    mode: 'mode',
    ratio: 'metadata.aspect_ratio',
    audio: 'metadata.sound',
    negative_prompt: 'metadata.negative_prompt',
  },
  promptName: (type, number) => `<<<${type}_${number}>>>`,
  presentation: {
    hidesModel: true,
    completedAt(data) {
      return asUnixSeconds(onlyTask(data)?.update_time ?? taskIn(data)?.updated_at);
    },
    seconds(data) {
      const videos = asArray(videosOf(taskIn(data))) ?? [];
      const video = videos.find((each) => asUrl(asObject(each)?.url) !== undefined) ?? videos[0];
      const seconds = turboVideo(data)?.duration ?? asObject(video)?.duration;
      return typeof seconds === 'string' ? seconds : undefined;
    },
    url: 'known',
    error: ({ message, code }) => ({ message, code: code === '0' ? '' : code }),
  },
  example: {
    model: 'kling-v3',
    prompt: 'a fox runs over fresh snow',
    duration: 5,
    mode: 'pro',
    metadata: { negative_prompt: 'blur', aspect_ratio: '16:9' },
  },

  billingFactors(request) {
    if (isTurbo(request.model)) {
      const { duration } = asObject(toTurboBody(request).settings) ?? {};
      return { seconds: parseSeconds(duration, 'duration'), factors: { mode: request.mode ?? 'std', audio: 'true' } };
    }
    const { duration: asked = DEFAULT_SECONDS, mode = 'std', sound = 'off' } = toBody(request);
    // An edited video keeps its length; the vendor ignores another one.
    const duration = request.operation === 'edit' ? (request.inputSeconds ?? DEFAULT_SECONDS) : asked;
    if (typeof mode !== 'string') rejectField('mode', 'must be std or pro');
    return { seconds: parseSeconds(duration, 'duration'), factors: { mode, audio: String(sound === 'on') } };
  },

  /** Deducted units, a decimal as text (app.klingai.com/global/dev/document-api, query of a task). */
  billedFacts: (raw) => turboUnits(raw) ?? billedUnits(taskIn(raw)?.final_unit_deduction),

  /** All resource packs of the last three years, including used-up ones ("Account information inquiry"). */
  accountUsage: { unit: 'units', skewMs: USAGE_SKEW_MS, read: readPacks },

  /** Jobs of the omni models and of 3.0 Turbo have endpoints of their own. */
  handleOf: ({ id, model, isFromText }) =>
    /omni|-o\d|3.0-turbo/.test(model) ? undefined : { family: isFromText ? 'text2video' : 'image2video', id },

  assertSendable(request) {
    if (!isTurbo(request.model)) toEndpoint(request, toBody(request));
  },

  async submit(request, context) {
    const turbo = isTurbo(request.model);
    const body = turbo ? toTurboBody(request) : toBody(request);
    const family = turbo ? 'turbo' : toEndpoint(request, body);
    const response = await sendAuthorized(context, turbo ? turboPath(request) : family, body);
    if (errorCode(response) !== undefined || response.status >= 300)
      return refusedSubmit(parseError(response, context.now()), response);
    const { json } = response;
    const id = turbo ? asId(parseTask(response)?.id) : isSuccessEnvelope(response) ? submittedTaskId(json) : undefined;
    return acceptedSubmit(id, response, { family, id: id ?? '' });
  },

  async query(handle, context) {
    const { family, id } = parseHandle(handle);
    const path = family === 'turbo' ? turboTaskPath(id) : `${family}/${encodeURIComponent(id)}`;
    const response = await sendAuthorized(context, path);
    if (errorCode(response) === NO_SUCH_RESOURCE) {
      const { code, message, httpStatus } = parseError(response, context.now());
      return failedTask(toRawResponse(response), { reason: 'missing', code, message, httpStatus });
    }
    if (errorCode(response) !== undefined || response.status >= 300)
      throw rejectedPoll(parseError(response, context.now()));
    if (family === 'turbo') return toTurboOutcome(response, id, classifyFailure);
    const task = isSuccessEnvelope(response) ? ownTask(response.json) : undefined;
    if (!task) return readGatewayTask(response, id, classifyReported);
    if (isForeignId(task.task_id, id)) throw unreadablePoll(response);
    return toOutcome(task, response);
  },

  findTaskHint: (request) => (isTurbo(request.model) ? 'turbo' : toEndpoint(request, toBody(request))),

  async findTask({ taskId, hint }, context) {
    const family = toFamily(hint);
    const isNew = family === 'turbo';
    const path = isNew ? turboSearchPath(taskId) : `${family}/${encodeURIComponent(taskId)}`;
    const response = await sendAuthorized(context, path);
    if (errorCode(response) === NO_SUCH_RESOURCE) return undefined;
    const found = asArray(asObject(response.json)?.data);
    if (isNew && errorCode(response) === undefined && found?.length === 0) return undefined;
    const task = isNew ? onlyTask(response.json) : parseTask(response);
    if (errorCode(response) !== undefined || !task) throw rejectedPoll(parseError(response, context.now()));
    const id = asId(isNew ? task.id : task.task_id);
    const external = isNew ? task.external_id : asObject(task.task_info)?.external_task_id;
    if (id === undefined || isForeignId(external, taskId)) throw unreadablePoll(response);
    return { family, id };
  },

  async content(handle, raw, _variant, context) {
    const { family, id } = parseHandle(handle);
    const isOwn = family === 'turbo' || ownTask(raw) !== undefined;
    const file = isOwn
      ? undefined
      : await gatewayFile(raw, { id, vendor: 'kling' }, context, async () => bearer(await bearerToken(context)));
    if (file !== undefined) return file;
    const url = asUrl(turboVideo(raw)?.url) ?? filmUrlOf(videosOf(taskIn(raw)));
    if (url === undefined) throw new PollFailed('the upstream gave no address of the video');
    return { kind: 'fetch', url, headers: {}, trusted: false };
  },

  async checkCredentials(context) {
    const response = await sendAuthorized(context, 'text2video?pageNum=1&pageSize=1');
    if (isSuccessEnvelope(response)) return { ok: true };
    // Gateways have no such list: one that accepts the key does not know this task.
    const isMissing = response.status === 404 || response.status === 405;
    const error = parseError(isMissing ? await sendAuthorized(context, 'text2video/0') : response, context.now());
    // At the gateway's root the list itself is taken for a task.
    return isMissing && error.code === NO_SUCH_TASK ? { ok: true } : { ok: false, error };
  },
};

/** Authorized calls of Kling's APIs, and the errors in their envelope. */

/**
 * The vendor's own codes (kling.ai/document-api, "Error Codes"; 1300 and 1301 are its content checks, 1101 and 1102 its
 * balance). HTTP 429 alone is ambiguous, because it is also returned for an unpaid account.
 */
export const ERROR_CLASSES: Readonly<Record<string, ErrorClass>> = {
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
const NOT_YET_VALID = '1003';
const TOKEN_EXPIRED = '1004';
const NO_SUCH_RESOURCE = '1203';

/** The envelope's code if it is an error, which relays also write as text; undefined for success or without a code. */
function errorCode(response: BufferedResponse): string | undefined {
  const code = asCode(asObject(response.json)?.code);
  return code === undefined || isSuccessCode(code) ? undefined : code;
}

/** Whether an envelope reports success: an absent code does, one of another type is damaged. */
function isSuccessEnvelope(response: BufferedResponse): boolean {
  const envelope = asObject(response.json);
  const isReadable =
    envelope !== undefined && ['undefined', 'string', 'number'].includes(typeof (envelope.code ?? undefined));
  return isSuccessStatus(response) && isReadable && errorCode(response) === undefined;
}

function parseError(response: BufferedResponse, nowMs: number): VendorError {
  const own = errorCode(response);
  const { code, message = '' } = readReason(response.json);
  return toVendorError(response, nowMs, {
    code: own ?? code,
    message,
    meaning: ownEntry(ERROR_CLASSES, own ?? '') ?? classifyByWords({ code: own ?? code, message }),
    isPage: own === undefined,
  });
}

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

/** @param path below `/v1/videos/`, or with a leading slash below the base URL */
async function sendAuthorized(context: AdapterContext, path: string, body?: RequestBody): Promise<BufferedResponse> {
  const send = async (token: string) =>
    unwrapResponse(
      await context.sendJson(
        withJsonBody(
          {
            method: body ? 'POST' : 'GET',
            url: path.startsWith('/')
              ? withoutVersion(context.baseUrl) + path
              : endpointUrl(context, `/v1/videos/${path}`),
            headers: bearer(token),
            signal: context.signal,
          },
          body,
        ),
      ),
      hasOwnEnvelope,
    );
  const token = await bearerToken(context);
  const response = await send(token);
  const code = errorCode(response);
  if (response.status !== 401 || (code !== TOKEN_EXPIRED && code !== NOT_YET_VALID)) return response;
  // A request whose token was refused has started no job; one retry uses a token signed by the vendor's own clock.
  const renewed = await bearerToken(context, { token, nowMs: Date.parse(response.headers.date ?? '') });
  return renewed === token ? response : send(renewed);
}

const LIFETIME_SECONDS = 1_800;
const RENEW_AFTER_SECONDS = 1_500;
const CLOCK_SKEW_SECONDS = 5;

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The vendor's token: a JWS in compact form (RFC 7515) by HS256 over the secret's own bytes. Times are Unix seconds. */
export function signToken(accessKey: string, secretKey: string, exp: number, nbf: number): string {
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ iss: accessKey, exp, nbf })}`;
  return `${signed}.${createHmac('sha256', secretKey).update(signed).digest('base64url')}`;
}

/** A larger difference to the vendor's `Date` is not a clock error. */
const MAX_CLOCK_DIFFERENCE_MS = DAY_MS;

/**
 * The value of the bearer header: the opaque key unchanged, or a signed token cached for 25 of its 30 minutes.
 *
 * @param rejected the token that the vendor has just refused as not yet or no longer valid, and the time by the
 * vendor's clock (Unix milliseconds, NaN if it sent none), which the new token is signed with
 */
async function bearerToken(
  context: AdapterContext,
  rejected?: { readonly token: string; readonly nowMs: number },
): Promise<string> {
  const { api_key: apiKey, access_key: accessKey, secret_key: secretKey } = context.credentials;
  if (typeof apiKey === 'string') return apiKey;
  const [access, secret] = [String(accessKey), String(secretKey)];
  const fingerprint = createHash('sha256').update(`${access}\n${secret}`).digest('base64url');
  const make = async () => {
    const nowMs = context.now();
    const vendorMs = rejected?.nowMs ?? Number.NaN;
    const isClock = Math.abs(vendorMs - nowMs) < MAX_CLOCK_DIFFERENCE_MS;
    const nowSeconds = Math.floor((isClock ? vendorMs : nowMs) / 1_000);
    const value = signToken(access, secret, nowSeconds + LIFETIME_SECONDS, nowSeconds - CLOCK_SKEW_SECONDS);
    return { value, expiresAtMs: nowMs + RENEW_AFTER_SECONDS * 1_000 };
  };
  return context.cachedSecret(`kling-token:${fingerprint}`, make, rejected?.token);
}
