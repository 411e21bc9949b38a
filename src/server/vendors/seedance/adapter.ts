import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import { defined } from '../../../contract/omit-undefined.ts';
import { HOUR_MS } from '../../../contract/time-units.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, endpointUrl } from '../../upstreams/upstream.ts';
import type { VendorError } from '../../upstreams/vendor-errors.ts';
import type { Json, QueryOutcome, VendorAdapter, VideoRequest } from '../adapter-types.ts';
import { API_KEY_CREDENTIALS } from '../credential-schemas-and-forms.ts';
import {
  type ErrorClass,
  failedTask,
  readReason,
  rejectedPoll,
  toVendorError,
  UNKNOWN_FAILURE,
  unreadablePoll,
} from '../error-mapping.ts';
import {
  acceptedSubmit,
  bearerHeaders,
  classifyByTable,
  deleteJson,
  finishedTask,
  getJson,
  parseIdHandle,
  postJson,
  publicFile,
  refusedSubmit,
} from '../json-http-calls-and-outcomes.ts';
import { billedUnits } from '../parse-billed-units-and-seconds.ts';
import { knownFactors, parseSeconds } from '../parse-seconds-ratio-and-price-factors.ts';
import { classifyFailureWord, readTaskState } from '../read-task-state.ts';
import {
  addressOf,
  classifyByWords,
  isAboutTask,
  isErrorAnswer,
  isRefusedSubmit,
  taskIdIn,
  unwrapTask,
} from '../relay-answer.ts';
import { asPercent, asText, isSuccessStatus, toRawResponse } from '../untrusted-json.ts';
import { familyOf, SEEDANCE_MODELS } from './models.ts';
import { FRAMES_PER_SECOND, METADATA, toBody } from './request.ts';

/** Seedance by Volcengine Ark or BytePlus ModelArk, `/api/v3/contents/generations/tasks`: one protocol, two companies. */

// --- Price ---

/** Frames take precedence over seconds; a length the model chooses is billed as its longest. */
function billingFactors(request: VideoRequest): ReturnType<VendorAdapter['billingFactors']> {
  const { duration = 5, frames, resolution, generate_audio } = toBody(request);
  const family = familyOf(request.model);
  const longest = family?.max ?? 30;
  // Models that can make sound do so unless it is switched off.
  const audio = generate_audio ?? (family?.audio ? true : undefined);
  const seconds =
    typeof frames === 'number' ? Math.ceil(frames / FRAMES_PER_SECOND) : duration === -1 ? longest : duration;
  return {
    seconds: parseSeconds(seconds, typeof frames === 'number' ? 'metadata.frames' : 'duration'),
    factors: knownFactors({ resolution, size: request.size, audio }),
  };
}

// --- Status mapping ---

/** Where the file is, and where relays put it. */
const ADDRESS_PLACES = ['content.video_url', 'content', 'video_url'];

function parseFailure(task: UntrustedObject, response: BufferedResponse): QueryOutcome {
  const told = readReason(task.error, task, response.json);
  const { code, message = `The upstream says that the task is ${String(task.status)}.` } = told;
  const meaning = classifyError(code, message) ?? classifyFailureWord(task.status) ?? classifyByWords(told);
  return failedTask(toRawResponse(response), { ...(meaning ?? UNKNOWN_FAILURE), code, message });
}

/** What a poll's response reports. @throws PollFailed where it reports nothing about the task `id` */
export function parseTask(response: BufferedResponse, id: string): QueryOutcome {
  const task = unwrapTask(response.json);
  if (!task || !isAboutTask(task, id)) throw unreadablePoll(response);
  const state = readTaskState(task.status);
  if (state === 'FAILURE') return parseFailure(task, response);
  if (state !== 'SUCCESS') return defined({ state, progress: asPercent(task.progress), raw: toRawResponse(response) });
  return finishedTask(addressOf(task, ADDRESS_PLACES), response);
}

// --- Error reading (Volcengine Ark, "Error codes") ---

/** Whole codes, or the part of a code before its first dot. */
export const ERROR_CLASSES: Readonly<Record<string, ErrorClass>> = {
  MissingParameter: { reason: 'user' },
  InvalidParameter: { reason: 'user' },
  InvalidImageURL: { reason: 'user', cause: 'picture_unreadable' },
  'InvalidEndpoint.ClosedEndpoint': { reason: 'model' },
  SensitiveContentDetected: { reason: 'policy' },
  InputTextSensitiveContentDetected: { reason: 'policy', cause: 'prompt_refused' },
  InputImageSensitiveContentDetected: { reason: 'policy', cause: 'picture_refused' },
  InputVideoSensitiveContentDetected: { reason: 'policy' },
  InputAudioSensitiveContentDetected: { reason: 'policy' },
  OutputTextSensitiveContentDetected: { reason: 'policy', cause: 'result_refused' },
  OutputImageSensitiveContentDetected: { reason: 'policy', cause: 'result_refused' },
  OutputVideoSensitiveContentDetected: { reason: 'policy', cause: 'result_refused' },
  OutputAudioSensitiveContentDetected: { reason: 'policy', cause: 'result_refused' },
  InputTextRiskDetection: { reason: 'policy', cause: 'prompt_refused' },
  InputImageRiskDetection: { reason: 'policy', cause: 'picture_refused' },
  OutputTextRiskDetection: { reason: 'policy', cause: 'result_refused' },
  OutputImageRiskDetection: { reason: 'policy', cause: 'result_refused' },
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

const classifyCode = classifyByTable(ERROR_CLASSES);

/** One code with three meanings: the free trial is used up, too many tasks wait, the plan's window is used up. */
export function classifyError(code: string, message: string): ErrorClass | undefined {
  if (code === 'QuotaExceeded') return { reason: /free trial|免费试用/i.test(message) ? 'billing' : 'rate' };
  return classifyCode(code);
}

const RESET_TIME = /reset at (\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}) ([+-]\d{2})(\d{2})/;
const MAX_WAIT_MS = HOUR_MS;

/** A plan's window ends when its message says so; an hour at most is waited, then the channel is tried again. */
function parseResetTime(message: string, nowMs: number): number | undefined {
  const [, day, time, hours, minutes] = RESET_TIME.exec(message) ?? [];
  const waitMs = Date.parse(`${day}T${time}${hours}:${minutes}`) - nowMs;
  return waitMs > 0 ? Math.min(waitMs, MAX_WAIT_MS) : undefined;
}

export function toError(response: BufferedResponse, nowMs: number): VendorError {
  const task = unwrapTask(response.json);
  const { code, message = '' } = readReason(task?.error, task, response.json);
  const meaning = classifyError(code, message) ?? classifyByWords({ code, message });
  const error = toVendorError(response, nowMs, { code, message, meaning });
  const retryAfterMs = error.retryAfterMs ?? parseResetTime(message, nowMs);
  return retryAfterMs === undefined ? error : { ...error, retryAfterMs };
}

// --- The object ---

const tasksUrl = (context: AdapterContext) => endpointUrl(context, '/api/v3/contents/generations/tasks');
const taskUrl = (handle: Json, context: AdapterContext) =>
  `${tasksUrl(context)}/${encodeURIComponent(parseIdHandle(handle))}`;

/** A task carries no id of the client, so a lost one cannot be distinguished from the account's other tasks: no `findTask`. */
export const seedance: VendorAdapter = {
  name: 'seedance',
  title: 'Seedance',
  defaultBaseUrl: 'https://ark.cn-beijing.volces.com',
  credentials: API_KEY_CREDENTIALS,
  models: SEEDANCE_MODELS,
  metadata: METADATA,
  formFields: {
    seconds: 'duration',
    ratio: 'metadata.ratio',
    resolution: 'metadata.resolution',
    audio: 'metadata.generate_audio',
    seed: 'metadata.seed',
  },
  presentation: { repeatsId: true, error: () => ({ message: 'task failed', code: 'failed' }) },
  example: {
    model: 'doubao-seedance-1-5-pro-251215',
    prompt: 'a tram in the rain at night',
    duration: 5,
    metadata: { resolution: '720p', ratio: '16:9', generate_audio: true, watermark: false },
  },
  billingFactors,
  /** Tokens of the output; input costs nothing (volcengine.com/docs/82379/1521309). */
  billedFacts(raw) {
    const usage = asObject(unwrapTask(raw)?.usage);
    return billedUnits(usage?.completion_tokens, usage?.output_tokens, usage?.total_tokens);
  },

  handleOf: ({ id }) => ({ id }),

  async submit(request, context) {
    const response = await postJson(context, tasksUrl(context), bearerHeaders(context), toBody(request));
    const task = unwrapTask(response.json);
    if (isRefusedSubmit(response, task)) return refusedSubmit(toError(response, context.now()), response);
    return acceptedSubmit(isSuccessStatus(response) ? taskIdIn(task) : undefined, response);
  },

  async query(handle, context) {
    const id = parseIdHandle(handle);
    const response = await getJson(context, taskUrl(handle, context), bearerHeaders(context));
    const isTask = asText(unwrapTask(response.json)?.status) !== undefined || !isErrorAnswer(response.json);
    if (isSuccessStatus(response) && isTask) return parseTask(response, id);
    const error = toError(response, context.now());
    // Only the vendor's own error code for a missing task ends it; a bare 404 may be a gateway's.
    if (response.status === 404 && error.reason === 'missing') return failedTask(toRawResponse(response), error);
    throw rejectedPoll(error);
  },

  /** The URL of the last poll; an expired one is replaced by polling again, since the task is kept longer. */
  content: async (_handle, raw) => publicFile(addressOf(unwrapTask(raw), ADDRESS_PLACES)),

  async deleteTask(handle, context) {
    await deleteJson(context, taskUrl(handle, context), bearerHeaders(context));
  },

  async checkCredentials(context) {
    const url = `${tasksUrl(context)}?page_num=1&page_size=1`;
    const response = await getJson(context, url, bearerHeaders(context));
    return isSuccessStatus(response) ? { ok: true } : { ok: false, error: toError(response, context.now()) };
  },
};
