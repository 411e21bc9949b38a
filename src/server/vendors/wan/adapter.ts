import { asObject } from '../../../contract/is-object.ts';
import { defined } from '../../../contract/omit-undefined.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound-types.ts';
import type { AdapterContext } from '../../upstreams/adapter-context.ts';
import type { VendorError } from '../../upstreams/vendor-errors.ts';
import type { Json, QueryOutcome, VendorAdapter, VideoRequest } from '../adapter-types.ts';
import { API_KEY_CREDENTIALS } from '../credential-schemas-and-forms.ts';
import {
  type ErrorClass,
  failedTask,
  rejectedPoll,
  toVendorError,
  UNKNOWN_FAILURE,
  unreadablePoll,
} from '../error-mapping.ts';
import {
  acceptedSubmit,
  bearerHeaders,
  classifyByTable,
  finishedTask,
  getJson,
  parseIdHandle,
  postJson,
  publicFile,
  refusedSubmit,
} from '../json-http-calls-and-outcomes.ts';
import { billedSeconds } from '../parse-billed-units-and-seconds.ts';
import { knownFactors, parseSeconds } from '../parse-seconds-ratio-and-price-factors.ts';
import { asId, asText, ownEntry, toRawResponse } from '../untrusted-json.ts';
import { MAX_EDITED_SECONDS, modelLineOf, requestKindOf, WAN_MODELS } from './models.ts';
import { METADATA, resolutionClassOf, toBody } from './request.ts';

/** Wan by Alibaba Cloud Model Studio (DashScope), `/api/v1`: submitted asynchronously, can be polled by task id for a day. */

// --- Price ---

function billingFactors(request: VideoRequest): ReturnType<VendorAdapter['billingFactors']> {
  const parameters = asObject(toBody(request).parameters);
  const exact = asText(parameters?.size);
  const kind = requestKindOf(request.model);
  // A series of models reads only one of the two: the exact size, or the class.
  const byExact = kind === 'words' || kind === 'references' ? resolutionClassOf(exact ?? '') : undefined;
  const resolution = byExact ?? asText(parameters?.resolution);
  const audio = parameters?.audio ?? (modelLineOf(request.model)?.audioSwitch ? true : undefined);
  // Seconds of an edited video cost as those of the result do; how many it has, the vendor says when it is done.
  const seconds =
    kind === 'media-edit'
      ? MAX_EDITED_SECONDS + parseSeconds(parameters?.duration ?? MAX_EDITED_SECONDS, 'duration')
      : parseSeconds(parameters?.duration ?? 5, 'duration');
  return {
    seconds,
    factors: knownFactors({ resolution, size: request.size, audio }),
  };
}

// --- Status mapping ---

/** `UNKNOWN` is the vendor's status of an id that is older than a day or never existed; it does not change any more. */
export const STATES: Readonly<Record<string, QueryOutcome['state']>> = {
  PENDING: 'QUEUED',
  RUNNING: 'IN_PROGRESS',
  SUCCEEDED: 'SUCCESS',
  FAILED: 'FAILURE',
  CANCELED: 'FAILURE',
  CANCELLED: 'FAILURE',
  UNKNOWN: 'FAILURE',
};

function parseFailure(word: string, output: Readonly<Record<string, unknown>>, raw: Json): QueryOutcome {
  if (word === 'UNKNOWN') return failedTask(raw, { reason: 'missing', message: 'The task is unknown or has expired.' });
  const code = asText(output.code) ?? '';
  const message = asText(output.message) ?? `The upstream says that the task is ${word}.`;
  if (word.startsWith('CANCEL')) return failedTask(raw, { reason: 'other', cause: 'cancelled', code, message });
  return failedTask(raw, { ...(classifyError(code, message) ?? UNKNOWN_FAILURE), code, message });
}

/** What a poll's response reports. @throws PollFailed where it reports nothing about the task `id` */
export function parseTask(response: BufferedResponse, id: string): QueryOutcome {
  const output = asObject(asObject(response.json)?.output);
  if (!output || (output.task_id !== undefined && asId(output.task_id) !== id)) throw unreadablePoll(response);
  const raw = toRawResponse(response);
  const word = asText(output.task_status) ?? '';
  const state = ownEntry(STATES, word) ?? 'UNKNOWN';
  if (state === 'FAILURE') return parseFailure(word, output, raw);
  if (state !== 'SUCCESS') return { state, raw };
  return finishedTask(output.video_url, response);
}

// --- Error reading (Alibaba Cloud Model Studio, "Error codes") ---

/** Whole codes, or the part of a code before its first dot. */
export const ERROR_CLASSES: Readonly<Record<string, ErrorClass>> = {
  InvalidParameter: { reason: 'user' },
  InvalidURL: { reason: 'user', cause: 'picture_unreadable' },
  'InvalidParameter.DataInspection': { reason: 'user', cause: 'picture_unreadable' },
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

const classifyCode = classifyByTable(ERROR_CLASSES);

/** One code stands for refused input and for a withheld result; only the text tells them apart. */
function classifyError(code: string, message: string): ErrorClass | undefined {
  const found = classifyCode(code);
  return found?.reason === 'policy' && /\boutput\b/i.test(message) ? { ...found, cause: 'result_refused' } : found;
}

export function toError(response: BufferedResponse, nowMs: number): VendorError {
  const told = asObject(response.json);
  const code = asText(told?.code) ?? '';
  const message = asText(told?.message) ?? '';
  return toVendorError(response, nowMs, { code, message, meaning: classifyError(code, message) });
}

// --- The object ---

/** Administrators paste the base URL with the path their client needs. */
const apiBaseOf = (context: AdapterContext) => `${context.baseUrl.replace(/\/(api|compatible-mode)\/v1$/, '')}/api/v1`;

/** Requests with first and last frames, and those that animate a figure or a face, have paths of their own. */
export const pathOf = (model: string): string =>
  requestKindOf(model) === 'frames' || /s2v|animate/.test(model)
    ? 'services/aigc/image2video/video-synthesis'
    : 'services/aigc/video-generation/video-synthesis';

const getTask = (id: string, context: AdapterContext): Promise<BufferedResponse> =>
  getJson(context, `${apiBaseOf(context)}/tasks/${encodeURIComponent(id)}`, bearerHeaders(context));

/** Some refusals come with HTTP 200: a code, and no output. */
function isErrorEnvelope(response: BufferedResponse): boolean {
  const envelope = asObject(response.json);
  return asText(envelope?.code) !== undefined && !envelope?.output;
}

/** A task carries no id of the client, so a lost one cannot be distinguished from the account's other tasks: no `findTask`. */
export const wan: VendorAdapter = {
  name: 'wan',
  title: 'Wan',
  defaultBaseUrl: 'https://dashscope.aliyuncs.com',
  credentials: API_KEY_CREDENTIALS,
  models: WAN_MODELS,
  metadata: METADATA,
  formFields: {
    seconds: 'duration',
    size: 'size',
    resolution: 'metadata.parameters.resolution',
    audio: 'metadata.parameters.audio',
    seed: 'metadata.parameters.seed',
    negative_prompt: 'metadata.input.negative_prompt',
  },
  example: {
    model: 'wan2.5-t2v-preview',
    prompt: 'rain on a pond',
    duration: 5,
    metadata: { input: { negative_prompt: 'people' }, parameters: { resolution: '720P', prompt_extend: true } },
  },
  billingFactors,
  /** Seconds of output, and of input where that costs too; older models name them otherwise (help.aliyun.com/zh/model-studio). */
  billedFacts(raw) {
    const usage = asObject(asObject(raw)?.usage);
    return billedSeconds(usage?.duration ?? usage?.video_duration);
  },

  handleOf: ({ id }) => ({ id }),

  async submit(request, context) {
    const body = toBody(request);
    // Files uploaded to the vendor's own store are resolved only with this header.
    const hasStoredFiles = JSON.stringify(body).includes('"oss://');
    const headers = defined({
      ...bearerHeaders(context),
      'x-dashscope-async': 'enable',
      'x-dashscope-ossresourceresolve': hasStoredFiles ? 'enable' : undefined,
    });
    const response = await postJson(context, `${apiBaseOf(context)}/${pathOf(request.model)}`, headers, body);
    const isRefused = response.status >= 400 || isErrorEnvelope(response);
    if (isRefused) return refusedSubmit(toError(response, context.now()), response);
    const id = response.status === 200 ? asId(asObject(asObject(response.json)?.output)?.task_id) : undefined;
    return acceptedSubmit(id, response);
  },

  async query(handle, context) {
    const id = parseIdHandle(handle);
    const response = await getTask(id, context);
    if (response.status !== 200 || isErrorEnvelope(response)) throw rejectedPoll(toError(response, context.now()));
    return parseTask(response, id);
  },

  /** The URL of the last poll; it is valid as long as the task is kept. */
  content: async (_handle, raw) => publicFile(asObject(asObject(raw)?.output)?.video_url),

  /** The vendor returns HTTP 200 for an unknown id, for every key that works. */
  async checkCredentials(context) {
    const response = await getTask('00000000-0000-0000-0000-000000000000', context);
    return response.status === 200 && asObject(asObject(response.json)?.output)
      ? { ok: true }
      : { ok: false, error: toError(response, context.now()) };
  },
};
