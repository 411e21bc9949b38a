import { Type } from 'typebox';
import { matchAspectRatio, type SortedImages, sortImages } from '../../../contract/generation-ways.ts';
import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import { HOUR_MS } from '../../../contract/time-units.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import {
  type AdapterContext,
  endpointUrl,
  UnsupportedRequestError,
  type VendorError,
} from '../../upstreams/upstream.ts';
import {
  API_KEY_CREDENTIALS,
  billedUnits,
  type QueryOutcome,
  type RequestInput,
  type VendorAdapter,
  type VideoRequest,
} from '../adapter.ts';
import {
  acceptedSubmit,
  applyExtraFields,
  classifyByTable,
  type ErrorClass,
  failedTask,
  getJson,
  omitUndefined,
  parseIdHandle,
  postJson,
  type RequestBody,
  readReason,
  refusedSubmit,
  rejectedPoll,
  successWithoutArtifact,
  toVendorError,
  UNKNOWN_FAILURE,
  unreadablePoll,
  unwrapResponse,
} from '../json-calls.ts';
import { toMediaUrl } from '../media.ts';
import { createMetadataParser, knownFactors, parseSeconds, rejectField } from '../metadata.ts';
import {
  asArray,
  asId,
  asText,
  asUrl,
  classifyFailureWord,
  firstUrl,
  isForeignId,
  isSuccessStatus,
  readTaskState,
  toRawResponse,
} from '../untrusted-json.ts';
import { hasPath, pathOf, REFERENCE_MODE, VIDU_MODELS, VIDU_RATIOS, VIDU_WAYS, type ViduPath } from './models.ts';

/** Vidu's enterprise API `/ent/v2` (platform.vidu.com/docs): four submit paths by the number of images, one poll. */

// ── Request mapping ─────────────────────────────────────────────────────────────────────────────────────────────────

const parseMetadata = createMetadataParser(
  Type.Object({
    resolution: Type.Optional(Type.String({ minLength: 1, maxLength: 16 })),
    movement_amplitude: Type.Optional(Type.Enum(['auto', 'small', 'medium', 'large'])),
    bgm: Type.Optional(Type.Boolean()),
    seed: Type.Optional(Type.Integer()),
  }),
);

/** Maps a frame's shorter side to the vendor's nearest resolution. */
const RESOLUTION_STEPS: readonly (readonly [side: number, word: string])[] = [
  [360, '360p'],
  [540, '540p'],
  [720, '720p'],
  [1080, '1080p'],
];

/** Converts `720P`, or a frame such as `1280x720`, to the vendor's resolution and, for frames, its ratio. */
function parseSize(size: string, model: string): { readonly resolution: string; readonly ratio?: string } {
  if (/^\d{3,4}p$/i.test(size)) return { resolution: size.toLowerCase() };
  const frame = /^(\d{2,5})\s*[x*×]\s*(\d{2,5})$/i.exec(size);
  const ratio = matchAspectRatio(size, VIDU_RATIOS);
  if (!frame || ratio === undefined) {
    return rejectField(
      'size',
      `must be a resolution such as 720p, or a frame such as 1280x720 of ${VIDU_RATIOS.join(', ')}`,
    );
  }
  const side = Math.min(Number(frame[1]), Number(frame[2]));
  const offered = VIDU_MODELS.find(({ id }) => id === model)?.resolutions;
  const steps = RESOLUTION_STEPS.filter(([, word]) => offered?.includes(word) !== false);
  const nearest = steps.reduce((best, step) => (Math.abs(step[0] - side) < Math.abs(best[0] - side) ? step : best));
  return { resolution: nearest[1], ratio };
}

const DEFAULT_RESOLUTION = '1080p';

/** 1080p, except that eight-second and reference videos of vidu2.0 are limited to 720p. */
function defaultResolution(request: VideoRequest, seconds: number): string {
  const ends = request.model === 'vidu2.0' && (seconds === 8 || sortImages(request.images).references.length > 0);
  return ends ? '720p' : DEFAULT_RESOLUTION;
}

const secondsOf = (request: VideoRequest): number =>
  request.seconds ?? VIDU_MODELS.find(({ id }) => id === request.model)?.seconds.default ?? 5;

/** The vendor's order of images: the first frame before the last one. */
const inOrder = ({ first, last, references }: SortedImages<RequestInput>) =>
  [first, last, ...references].filter((image) => image !== undefined);

/** The body and the path of one submit; our task id is sent as `payload`, which the vendor returns unchanged. */
export function toViduRequest(request: VideoRequest): { readonly path: ViduPath; readonly body: RequestBody } {
  if (request.mode !== undefined) rejectField('mode', 'is not known to Vidu');
  if (request.images.length > 7) rejectField('images', 'may be seven at most');
  const sorted = sortImages(request.images);
  const path = pathOf(sorted);
  const metadata = parseMetadata(request.metadata);
  const size = request.size === undefined ? undefined : parseSize(request.size, request.model);
  const duration = secondsOf(request);
  const body = omitUndefined({
    model: request.model,
    prompt: request.prompt,
    images: path === 'text2video' ? undefined : inOrder(sorted).map(toMediaUrl),
    duration,
    // An image determines the frame, and the vendor then accepts no ratio.
    aspect_ratio: path === 'text2video' || path === 'reference2video' ? size?.ratio : undefined,
    resolution: metadata.resolution?.toLowerCase() ?? size?.resolution ?? defaultResolution(request, duration),
    movement_amplitude: metadata.movement_amplitude,
    bgm: metadata.bgm,
    seed: metadata.seed,
    payload: request.taskId,
  });
  return { path, body: applyExtraFields(body, request.extraFields) };
}

/** Refuses images that no path of the model takes. */
function assertPath({ model, images }: VideoRequest, path: ViduPath): void {
  if (!hasPath(model, path))
    rejectField('images', `must be other images: ${model} makes no video from ${images.length}`);
}

function billingFactors(request: VideoRequest): ReturnType<VendorAdapter['billingFactors']> {
  const { path, body } = toViduRequest(request);
  assertPath(request, path);
  const known = knownFactors({ resolution: body.resolution, size: request.size });
  const factors = path === 'reference2video' ? { ...known, mode: REFERENCE_MODE } : known;
  return { seconds: parseSeconds(body.duration ?? secondsOf(request), 'duration'), factors };
}

// ── Status mapping ──────────────────────────────────────────────────────────────────────────────────────────────────

function toSuccess(creations: unknown, response: BufferedResponse): QueryOutcome {
  const raw = toRawResponse(response);
  const list = asArray(creations ?? []);
  const url = firstUrl(list);
  if (url !== undefined) return { state: 'SUCCESS', artifact: { kind: 'url', url }, raw };
  // Damaged data in place of the video does not mean that the vendor has none: the next poll's response may be intact.
  const isDamaged = list?.some(
    (creation) => typeof (asObject(creation)?.url ?? '') !== 'string' || !asObject(creation),
  );
  if (!list || isDamaged) throw unreadablePoll(response);
  return successWithoutArtifact(raw);
}

/** Reads the response of a poll about the job `id`. */
export function parseViduTask(response: BufferedResponse, id: string): QueryOutcome {
  const task = asObject(response.json);
  const word = asText(task?.state) ?? asText(task?.status);
  if (!task || isForeignId(task.id, id) || word === undefined) throw unreadablePoll(response);
  const raw = toRawResponse(response);
  const state = readTaskState(word);
  if (state === 'SUCCESS') return toSuccess(task.creations, response);
  if (state !== 'FAILURE') return { state, raw };
  // A failed task of the vendor has a code and no message; the code serves as both.
  const told = readReason({ ...task, state: undefined });
  const code = asText(task.err_code) ?? told.code;
  const meaning = classifyError(code) ?? classifyFailureWord(word) ?? UNKNOWN_FAILURE;
  return failedTask(raw, { ...meaning, code, message: told.message ?? code });
}

// ── Errors ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * `reason` of an HTTP error and `err_code` of a failed task share one set of names (platform.vidu.com/docs/error-code):
 * three for its content check, and `CreditInsufficient`, a plain 400, for the balance.
 */
export const VIDU_ERROR_CLASSES: Readonly<Record<string, ErrorClass>> = {
  BadRequest: { reason: 'user' },
  FieldLacking: { reason: 'user' },
  FieldUnwanted: { reason: 'user' },
  FieldInvalid: { reason: 'user' },
  FieldItemCountOutOfRange: { reason: 'user' },
  PageSizeOutOfRange: { reason: 'user' },
  CODEC: { reason: 'user' },
  ImageDownloadFailure: { reason: 'user', cause: 'picture_unreadable' },
  ImageFormatInvalid: { reason: 'user', cause: 'picture_unreadable' },
  ImageCheckBodyJointsFailed: { reason: 'user', cause: 'picture_unsuitable' },
  ImageCheckFaceFailed: { reason: 'user', cause: 'picture_unsuitable' },
  ImageObjectsUndetected: { reason: 'user', cause: 'picture_unsuitable' },
  TaskPromptPolicyViolation: { reason: 'policy', cause: 'prompt_refused' },
  AuditSubmitIllegal: { reason: 'policy' },
  CreationPolicyViolation: { reason: 'policy', cause: 'result_refused' },
  CreditInsufficient: { reason: 'billing' },
  ModelUnavailable: { reason: 'model' },
  OperationInProcess: { reason: 'rate' },
  UserCancelled: { reason: 'other', cause: 'cancelled' },
  Unauthorized: { reason: 'auth' },
  Forbidden: { reason: 'auth' },
  TaskNotFound: { reason: 'missing' },
  CreationNotFound: { reason: 'missing' },
  NotFound: { reason: 'missing' },
  Conflict: { reason: 'other' },
  QuotaExceeded: { reason: 'rate' },
  TooManyRequests: { reason: 'rate' },
  SystemThrottling: { reason: 'rate' },
  Canceled: { reason: 'other', cause: 'cancelled' },
  InternalServiceFailure: { reason: 'capacity' },
};

const classifyError = classifyByTable(VIDU_ERROR_CLASSES);

/** `{code: <HTTP status>, reason, message, metadata}`; the name in `reason` is the relevant code. */
export function parseViduError(response: BufferedResponse, nowMs: number): VendorError {
  const body = asObject(response.json);
  const code = asText(body?.reason) ?? asText(body?.err_code) ?? '';
  const message = readReason(body).message ?? code;
  return toVendorError(response, nowMs, { code, message, meaning: classifyError(code), isPage: code === '' });
}

// ── The adapter ─────────────────────────────────────────────────────────────────────────────────────────────────────

const tokenHeaders = (context: AdapterContext) => ({ authorization: `Token ${String(context.credentials.api_key)}` });

const isOwnForm = (json: UntrustedObject): boolean => ['state', 'status', 'task_id'].some((name) => name in json);

const get = async (path: string, context: AdapterContext): Promise<BufferedResponse> =>
  unwrapResponse(await getJson(context, endpointUrl(context, `/ent/v2/${path}`), tokenHeaders(context)), isOwnForm);

/** Credits are deducted when a job starts. */
const USAGE_SKEW_MS = HOUR_MS;

/**
 * Credits used, as the negative of the remaining credits in all packages (platform.vidu.com, "Get Credits": `remains`).
 */
async function readCredits(context: AdapterContext): Promise<number> {
  const response = await get('credits', context);
  if (!isSuccessStatus(response)) throw rejectedPoll(parseViduError(response, context.now()));
  const left = asArray(asObject(response.json)?.remains)?.map((entry) => asObject(entry)?.credit_remain);
  if (!left?.every((credits) => typeof credits === 'number')) throw unreadablePoll(response);
  return -left.reduce((sum, credits) => sum + credits, 0);
}

/** Adapter for Vidu. */
export const vidu: VendorAdapter = {
  name: 'vidu',
  hasCover: true,
  title: 'Vidu',
  defaultBaseUrl: 'https://api.vidu.cn',
  credentials: API_KEY_CREDENTIALS,
  models: VIDU_MODELS,
  unlistedWays: () => Object.values(VIDU_WAYS),
  metadata: parseMetadata.schema,
  formFields: { seconds: 'duration', resolution: 'metadata.resolution', seed: 'metadata.seed' },
  presentation: {
    hidesModel: true,
    url: 'known',
    error: ({ message, code }) => ({ message: code || message, code: code || message }),
  },
  example: {
    model: 'viduq1',
    prompt: 'a boat drifts into fog',
    duration: 5,
    metadata: { resolution: '1080p', movement_amplitude: 'small', bgm: false },
  },
  billingFactors,
  /** Credits (platform.vidu.com/docs/get-generation). */
  billedFacts: (raw) => billedUnits(asObject(raw)?.credits),

  /**
   * The remaining credits of all packages (platform.vidu.com/docs, "Query credits"); the counter rises as they fall.
   */
  accountUsage: { unit: 'credits', skewMs: USAGE_SKEW_MS, read: readCredits },

  handleOf: ({ id }) => ({ id }),

  async submit(request, context) {
    const { path, body } = toViduRequest(request);
    assertPath(request, path);
    const sent = await postJson(context, endpointUrl(context, `/ent/v2/${path}`), tokenHeaders(context), body);
    const response = unwrapResponse(sent, isOwnForm);
    const reply = asObject(response.json);
    if (!isSuccessStatus(response) || readTaskState(reply?.state) === 'FAILURE') {
      return refusedSubmit(parseViduError(response, context.now()), response);
    }
    const id = asId(reply?.task_id) ?? asId(reply?.id);
    return acceptedSubmit(id !== undefined && /^\d+$/.test(id) ? id : undefined, response);
  },

  async query(handle, context) {
    const id = parseIdHandle(handle);
    const response = await get(`tasks/${encodeURIComponent(id)}/creations`, context);
    if (isSuccessStatus(response)) return parseViduTask(response, id);
    const error = parseViduError(response, context.now());
    // Only the vendor's own error code for a missing task ends it; a bare 404 may be a gateway's.
    if (error.reason === 'missing') return failedTask(toRawResponse(response), error);
    throw rejectedPoll(error);
  },

  /** Searches the newest hundred tasks of the account for the one whose `payload` is our task id. */
  async findTask({ taskId }, context) {
    const response = await get('tasks?pager.pagesz=100', context);
    if (!isSuccessStatus(response)) throw rejectedPoll(parseViduError(response, context.now()));
    const tasks = asArray(asObject(response.json)?.tasks) ?? [];
    const found = tasks.map(asObject).find((task) => task?.payload === taskId);
    const id = asId(found?.id);
    return id === undefined ? undefined : { id };
  },

  /** The video by default; the cover for `thumbnail`. Both are pre-signed and need no key. */
  async content(_handle, raw, variant) {
    const creations = (asArray(asObject(raw)?.creations) ?? []).map(asObject);
    const creation = creations.find((each) => asUrl(each?.url) !== undefined) ?? creations[0];
    const wanted = { video: creation?.url, thumbnail: creation?.cover_url }[variant ?? 'video'];
    const url = asUrl(wanted);
    if (url === undefined)
      throw new UnsupportedRequestError(`Vidu gave no ${variant ?? 'video'} for this task.`, 'variant');
    return { kind: 'fetch', url, headers: {}, trusted: false };
  },

  /** No task has the number 1, so the response is 404 if the key is valid. */
  async checkCredentials(context) {
    const response = await get('tasks/1/creations', context);
    const error = parseViduError(response, context.now());
    return isSuccessStatus(response) || error.reason === 'missing' ? { ok: true } : { ok: false, error };
  },
};
