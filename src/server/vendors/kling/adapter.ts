import { Type } from 'typebox';
import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import { DAY_MS, HOUR_MS } from '../../../contract/time-units.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import type { AdapterContext } from '../../upstreams/upstream.ts';
import { PollFailed } from '../../upstreams/vendor-errors.ts';
import type { Json, QueryOutcome, VendorAdapter } from '../adapter-types.ts';
import { API_KEY_CREDENTIALS, KEY_PAIR_CREDENTIALS } from '../credential-schemas-and-forms.ts';
import {
  type ErrorClass,
  failedTask,
  isPolicyText,
  readReason,
  rejectedPoll,
  successWithoutArtifact,
  UNKNOWN_FAILURE,
  unreadablePoll,
} from '../error-mapping.ts';
import { acceptedSubmit, refusedSubmit } from '../json-http-calls-and-outcomes.ts';
import { billedUnits } from '../parse-billed-units-and-seconds.ts';
import { parseSeconds, rejectField } from '../parse-seconds-ratio-and-price-factors.ts';
import { classifyFailureWord, readTaskState } from '../read-task-state.ts';
import {
  asArray,
  asId,
  asText,
  asUnixSeconds,
  asUrl,
  firstUrl,
  isForeignId,
  toRawResponse,
} from '../untrusted-json.ts';
import {
  errorCode,
  isSuccessEnvelope,
  NO_SUCH_RESOURCE,
  parseError,
  sendAuthorized,
} from './authorized-calls-and-errors.ts';
import { KLING_MODELS } from './models.ts';
import { ENDPOINTS, type Endpoint, parseMetadata, toBody, toEndpoint } from './request.ts';
import {
  isTurbo,
  onlyTask,
  toTurboBody,
  toTurboOutcome,
  turboPath,
  turboSearchPath,
  turboTaskPath,
  turboUnits,
  turboVideo,
} from './v3-turbo-api.ts';

/** Kling, `/v1/videos/{text2video,image2video,omni-video}`. Source: the vendor's API reference, "Text to Video" and so on. */

// Status mapping

/** `succeed`, `submitted`: never queued, since the vendor reports a waiting task as submitted. */
function toOutcome(task: UntrustedObject, response: BufferedResponse): QueryOutcome {
  const raw = toRawResponse(response);
  const word = task.task_status;
  const state = readTaskState(word);
  if (state === 'FAILURE') {
    const told = readReason(task.task_status_msg, task.error, task);
    return failedTask(raw, { ...classifyFailure(told.message ?? '', word), message: told.message });
  }
  if (state !== 'SUCCESS') return { state, raw };
  const videos = videosOf(task);
  const url = firstUrl(videos);
  if (url !== undefined) return { state, artifact: { kind: 'url', url }, raw };
  const isDamaged = videos !== undefined && (!asArray(videos) || asArray(videos)?.some(hasOddUrl));
  if (isDamaged) throw unreadablePoll(response);
  return successWithoutArtifact(raw);
}

/** Undefined where there are none; anything else than a list is damaged. */
function videosOf(task: UntrustedObject | undefined): unknown {
  const result = task?.task_result ?? undefined;
  return result === undefined ? undefined : asObject(result) ? (asObject(result)?.videos ?? undefined) : result;
}

/** Neither an address nor the statement that there is none. */
const hasOddUrl = (video: unknown): boolean => {
  const url = asObject(video)?.url;
  return !asObject(video) || (url !== undefined && url !== null && url !== '');
};

/** A failed task has a text and no code; the vendor's own words for its content check are the only ones that recur. */
const classifyFailure = (message: string, word: unknown): ErrorClass =>
  isPolicyText(message)
    ? { reason: 'policy' }
    : /image|picture|图片/i.test(message)
      ? { reason: 'user', cause: 'picture_unsuitable' }
      : (classifyFailureWord(word) ?? UNKNOWN_FAILURE);

/** The task of an envelope that reports success. */
const parseTask = (response: BufferedResponse): UntrustedObject | undefined =>
  isSuccessEnvelope(response) ? asObject(asObject(response.json)?.data) : undefined;

// The vendor

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

/** How far back packs are asked for; their units last half a year. */
const PACKS_SINCE_MS = 3 * 365 * DAY_MS;

/** The vendor says that the remaining quantity of a pack is counted with a delay of twelve hours. */
const USAGE_SKEW_MS = 12 * HOUR_MS;

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
      return asUnixSeconds(onlyTask(data)?.update_time ?? asObject(asObject(data)?.data)?.updated_at);
    },
    seconds(data) {
      const videos = asArray(videosOf(asObject(asObject(data)?.data))) ?? [];
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
    const { duration = '5', mode = 'std', sound = 'off' } = toBody(request);
    if (typeof mode !== 'string') rejectField('mode', 'must be std or pro');
    return { seconds: parseSeconds(duration, 'duration'), factors: { mode, audio: String(sound === 'on') } };
  },

  /** Deducted units, a decimal as text (app.klingai.com/global/dev/document-api, query of a task). */
  billedFacts: (raw) => turboUnits(raw) ?? billedUnits(asObject(asObject(raw)?.data)?.final_unit_deduction),

  /** All resource packs of the last years, those used up too ("Account information inquiry"). */
  accountUsage: { unit: 'units', skewMs: USAGE_SKEW_MS, read: readPacks },

  /** Jobs of the omni models and of 3.0 Turbo are behind endpoints of their own. */
  handleOf: ({ id, model, isFromText }) =>
    /omni|-o\d|3.0-turbo/.test(model) ? undefined : { family: isFromText ? 'text2video' : 'image2video', id },

  async submit(request, context) {
    const turbo = isTurbo(request.model);
    const body = turbo ? toTurboBody(request) : toBody(request);
    const family = turbo ? 'turbo' : toEndpoint(request, body);
    const response = await sendAuthorized(context, turbo ? turboPath(request) : family, body);
    if (errorCode(response) !== undefined || response.status >= 300)
      return refusedSubmit(parseError(response, context.now()), response);
    const id = asId(parseTask(response)?.[turbo ? 'id' : 'task_id']);
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
    const task = parseTask(response);
    if (!task || asText(task.task_status) === undefined || isForeignId(task.task_id, id))
      throw unreadablePoll(response);
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

  async content(_handle, raw) {
    const task = asObject(asObject(raw)?.data);
    const url = asUrl(turboVideo(raw)?.url) ?? firstUrl(videosOf(task));
    if (url === undefined) throw new PollFailed('the upstream gave no address of the video');
    return { kind: 'fetch', url, headers: {}, trusted: false };
  },

  async checkCredentials(context) {
    const response = await sendAuthorized(context, 'text2video?pageNum=1&pageSize=1');
    if (isSuccessEnvelope(response)) return { ok: true };
    return { ok: false, error: parseError(response, context.now()) };
  },
};
