import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import { defined } from '../../../contract/omit-undefined.ts';
import type { TaskStatus } from '../../../contract/task-states.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, endpointUrl } from '../../upstreams/upstream.ts';
import type { VendorError } from '../../upstreams/vendor-errors.ts';
import type { QueryOutcome, VendorAdapter, VideoRequest } from '../adapter-types.ts';
import { API_KEY_CREDENTIALS } from '../credential-schemas-and-forms.ts';
import {
  type ErrorClass,
  failedTask,
  readReason,
  rejectedPoll,
  type ToldReason,
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
import { classifyFailureWord, readTaskState } from '../read-task-state.ts';
import {
  addressOf,
  classifyByWords,
  isAboutTask,
  isErrorAnswer,
  isRefusedSubmit,
  type TaskMembers,
  taskIdIn,
} from '../relay-answer.ts';
import { asText, isSuccessStatus, toRawResponse } from '../untrusted-json.ts';
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

/** The vendor's status of an id that is older than a day or never existed; it does not change any more. */
const EXPIRED = 'UNKNOWN';

const stateOf = (task: UntrustedObject | undefined): TaskStatus =>
  task?.task_status === EXPIRED ? 'FAILURE' : readTaskState(task?.task_status);

function parseFailure(output: UntrustedObject, response: BufferedResponse): QueryOutcome {
  const raw = toRawResponse(response);
  const { task_status: word } = output;
  if (word === EXPIRED) return failedTask(raw, { reason: 'missing', message: 'The task is unknown or has expired.' });
  const told = readReason(output, response.json);
  const { code, message = `The upstream says that the task is ${String(word)}.` } = told;
  const meaning = classifyFailureWord(word) ?? classifyError(told) ?? UNKNOWN_FAILURE;
  return failedTask(raw, { ...meaning, code, message });
}

const MEMBERS: TaskMembers = { ids: ['task_id', 'id'], state: 'task_status' };

/** `{request_id, output, usage}`, by some relays inside `{code, data}`. */
const unwrap = (json: unknown): UntrustedObject | undefined => {
  const outer = asObject(json);
  return outer?.output == null ? (asObject(outer?.data) ?? outer) : outer;
};

/** The task: under `output`, or without that where a relay leaves it out. */
const taskOf = (json: unknown): UntrustedObject | undefined => {
  const whole = unwrap(json);
  return asObject(whole?.output) ?? (asText(whole?.task_status) === undefined ? undefined : whole);
};

/** Where the series of models put the file: most, then s2v, animate and emo. */
const ADDRESS_PLACES = ['video_url', 'results'];

/** What a poll's response reports. @throws PollFailed where it reports nothing about the task `id` */
export function parseTask(response: BufferedResponse, id: string): QueryOutcome {
  const output = taskOf(response.json);
  if (!output || !isAboutTask(output, id, MEMBERS)) throw unreadablePoll(response);
  const state = stateOf(output);
  if (state === 'FAILURE') return parseFailure(output, response);
  if (state !== 'SUCCESS') return { state, raw: toRawResponse(response) };
  return finishedTask(addressOf(output, ADDRESS_PLACES), response);
}

// --- Error reading (Alibaba Cloud Model Studio, "Error codes") ---

/** Whole codes, or the part of a code before its first dot. */
export const ERROR_CLASSES: Readonly<Record<string, ErrorClass>> = {
  InvalidParameter: { reason: 'user' },
  InvalidURL: { reason: 'user', cause: 'picture_unreadable' },
  'InvalidParameter.DataInspection': { reason: 'user', cause: 'picture_unreadable' },
  InvalidImage: { reason: 'user', cause: 'picture_unsuitable' },
  InvalidFile: { reason: 'user', cause: 'picture_unsuitable' },
  DataInspectionFailed: { reason: 'policy' },
  data_inspection_failed: { reason: 'policy' },
  IPInfringementSuspect: { reason: 'policy' },
  Arrearage: { reason: 'billing' },
  PrepaidBillOverdue: { reason: 'billing' },
  PostpaidBillOverdue: { reason: 'billing' },
  CommodityNotPurchased: { reason: 'billing' },
  BudgetLimitExceeded: { reason: 'billing' },
  'AllocationQuota.FreeTierOnly': { reason: 'billing' },
  UnsupportedOperation: { reason: 'user' },
  InvalidApiKey: { reason: 'auth' },
  AccessDenied: { reason: 'auth' },
  'AccessDenied.Unpurchased': { reason: 'model' },
  'Workspace.AccessDenied': { reason: 'model' },
  'Endpoint.AccessDenied': { reason: 'model' },
  'Model.AccessDenied': { reason: 'model' },
  ModelNotFound: { reason: 'model' },
  NotFound: { reason: 'missing' },
  Throttling: { reason: 'rate' },
  insufficient_quota: { reason: 'billing' },
  InternalError: { reason: 'capacity' },
  SystemError: { reason: 'capacity' },
  ModelServiceFailed: { reason: 'capacity' },
  ModelUnavailable: { reason: 'capacity' },
};

const classifyCode = classifyByTable(ERROR_CLASSES);

/** Some codes stand for two things; only the text tells them apart. */
function classifyError(told: ToldReason): ErrorClass | undefined {
  const { code, message = '' } = told;
  // A trial that is used up, or tokens a minute.
  if (code === 'Throttling.AllocationQuota') return { reason: /\bfree\b|免费/i.test(message) ? 'billing' : 'rate' };
  const found = classifyCode(code) ?? classifyByWords(told);
  // Refused input or a withheld result.
  return found?.reason === 'policy' && /\boutput\b/i.test(message) ? { ...found, cause: 'result_refused' } : found;
}

export function toError(response: BufferedResponse, nowMs: number): VendorError {
  const told = readReason(response.json, taskOf(response.json), asObject(response.json)?.data);
  return toVendorError(response, nowMs, defined({ ...told, meaning: classifyError(told) }));
}

// --- The object ---

/** The vendor's chat models have a base URL of their own on the same host, which is pasted too. */
const apiBaseOf = ({ baseUrl }: AdapterContext) =>
  endpointUrl({ baseUrl: baseUrl.replace(/\/compatible-mode\/v1$/, '') }, '/api/v1');

/** Requests with first and last frames, and those that animate a figure or a face, have paths of their own. */
export const pathOf = (model: string): string =>
  requestKindOf(model) === 'frames' || /s2v|animate/.test(model)
    ? 'services/aigc/image2video/video-synthesis'
    : 'services/aigc/video-generation/video-synthesis';

const getTask = (id: string, context: AdapterContext): Promise<BufferedResponse> =>
  getJson(context, `${apiBaseOf(context)}/tasks/${encodeURIComponent(id)}`, bearerHeaders(context));

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
    const usage = asObject(unwrap(raw)?.usage) ?? asObject(taskOf(raw)?.usage);
    return billedSeconds(usage?.duration, usage?.video_duration, usage?.output_video_duration);
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
    const task = taskOf(response.json);
    if (isRefusedSubmit(response, task, MEMBERS)) return refusedSubmit(toError(response, context.now()), response);
    return acceptedSubmit(isSuccessStatus(response) ? taskIdIn(task, MEMBERS) : undefined, response);
  },

  async query(handle, context) {
    const id = parseIdHandle(handle);
    const response = await getTask(id, context);
    const isError = !isSuccessStatus(response) || (!taskOf(response.json) && isErrorAnswer(response.json));
    if (isError) throw rejectedPoll(toError(response, context.now()));
    return parseTask(response, id);
  },

  /** The URL of the last poll; it is valid as long as the task is kept. */
  content: async (_handle, raw) => publicFile(addressOf(taskOf(raw), ADDRESS_PLACES)),

  /** The vendor returns HTTP 200 for an unknown id, for every key that works. */
  async checkCredentials(context) {
    const response = await getTask('00000000-0000-0000-0000-000000000000', context);
    return isSuccessStatus(response) && taskOf(response.json)
      ? { ok: true }
      : { ok: false, error: toError(response, context.now()) };
  },
};
