import { Type } from 'typebox';
import {
  FROM_TEXT,
  fromBothFrames,
  fromFirstFrame,
  type GenerationWay,
  generate,
  matchAspectRatio,
  range,
  type SortedImages,
  some,
  sortImages,
  waysOf,
} from '../../../contract/generation-ways.ts';
import { asObject, defined, type UntrustedObject } from '../../../contract/objects.ts';
import type { MediaLine, VideoPrice } from '../../../contract/pricing.ts';
import { HOUR_MS } from '../../../contract/time-units.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import {
  type AdapterContext,
  endpointUrl,
  PollFailed,
  UnsupportedRequestError,
  type VendorError,
} from '../../upstreams/upstream.ts';
import {
  API_KEY_CREDENTIALS,
  billedUnits,
  createMetadataParser,
  knownFactors,
  type ModelCapability,
  type PriceSource,
  parseSeconds,
  type QueryOutcome,
  type RequestInput,
  rejectField,
  toMediaUrl,
  usd,
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
  toRawResponse,
  toVendorError,
  UNKNOWN_FAILURE,
  unreadablePoll,
  unwrapResponse,
} from '../json-calls.ts';
import {
  asArray,
  asId,
  asText,
  asUrl,
  classifyFailureWord,
  firstUrl,
  isForeignId,
  isSuccessStatus,
  ownEntry,
  readTaskState,
} from '../untrusted-json.ts';

/** Vidu sells credits and reports how many each video used, so its own count is charged. */
const QUOTA_PER_CREDIT = usd(0.005);

/** Credits of the first second, and of each further one. */
type Credits = readonly [first: number, further: number];
type When = NonNullable<MediaLine['when']>;

const creditLine = (when: When, [first, further]: Credits): MediaLine =>
  defined({
    when: Object.keys(when).length === 0 ? undefined : when,
    per_unit: QUOTA_PER_CREDIT,
    max_units: first === further ? undefined : first - further,
    max_units_per_second: further,
  });

const byResolution = (rates: Readonly<Record<string, Credits>>, when: When = {}): readonly MediaLine[] =>
  Object.entries(rates).map(([resolution, credits]) => creditLine({ ...when, resolution: [resolution] }, credits));

const asVideoPrice = (...lines: readonly (readonly MediaLine[])[]): VideoPrice => ({
  lines: lines.flat(),
  settle_by: 'vendor',
});

const evenly = (credits: number): Credits => [credits, credits];
const fixed = (when: When, credits: number): MediaLine => ({ when, per_unit: QUOTA_PER_CREDIT, max_units: credits });
/** The mode of a video from references, which cost more. */
const REFERENCE_MODE = 'reference';
const REFERENCES = { mode: [REFERENCE_MODE] };

const Q3_PRO = asVideoPrice(byResolution({ '540p': evenly(14), '720p': evenly(30), '1080p': evenly(32) }));
const Q3_TURBO = asVideoPrice(byResolution({ '540p': evenly(8), '720p': evenly(12), '1080p': evenly(16) }));

const VIDU_PRICES: Readonly<Record<string, VideoPrice>> = {
  'viduq3-pro': Q3_PRO,
  'viduq3-turbo': Q3_TURBO,
  'viduq3-pro-fast': Q3_TURBO,
  viduq3: Q3_PRO,
  'viduq3-mix': Q3_PRO,
  viduq2: asVideoPrice(
    byResolution({ '540p': [25, 5], '720p': [25, 5], '1080p': [75, 10] }, REFERENCES),
    byResolution({ '540p': [10, 2], '720p': [15, 5], '1080p': [20, 10] }),
  ),
  'viduq2-pro': asVideoPrice(byResolution({ '540p': [15, 10], '720p': [15, 10], '1080p': [55, 15] })),
  'viduq2-pro-fast': asVideoPrice(byResolution({ '720p': [8, 2], '1080p': [16, 4] })),
  'viduq2-turbo': asVideoPrice(
    [fixed({ resolution: ['720p'], seconds: [1] }, 8)],
    // Ten credits for the first two seconds, and ten for each further second.
    [
      {
        when: { resolution: ['720p'] },
        per_unit: QUOTA_PER_CREDIT,
        max_units_per_second: 10,
      },
    ],
    byResolution({ '540p': [6, 2], '1080p': [35, 10] }),
  ),
  viduq1: asVideoPrice([fixed({ resolution: ['1080p'] }, 80)]),
  'viduq1-classic': asVideoPrice([fixed({ resolution: ['1080p'] }, 80)]),
  'vidu2.0': asVideoPrice([
    fixed(REFERENCES, 80),
    fixed({ resolution: ['360p'] }, 20),
    fixed({ resolution: ['720p'], seconds: [8] }, 100),
    fixed({ resolution: ['720p'] }, 40),
    fixed({ resolution: ['1080p'] }, 100),
  ]),
};

const PAGE = 'https://platform.vidu.com/docs/pricing';
const COMFY = 'Quoted by docs.comfy.org/tutorials/partner-nodes/pricing; sound on references and off-peak are left out';

function viduPriceSource(id: string): PriceSource {
  if (id === 'viduq3-pro')
    return {
      source: PAGE,
      confirmedOn: '2026-08-21',
      note: `${COMFY}. 540p quoted by 302.ai/product/detail/viduq3-turbo.`,
    };
  if (id === 'vidu2.0' || id === 'viduq1-classic')
    return {
      source: PAGE,
      confirmedOn: '2026-11-22',
      note: 'Worked out from cloud.baidu.com/doc/VOD/s/dm64ry4hl at 32 credits a yuan.',
    };
  if (['viduq3', 'viduq3-mix', 'viduq3-pro-fast'].includes(id))
    return { source: PAGE, confirmedOn: null, note: 'As viduq3-pro or viduq3-turbo; no copy of the list has it.' };
  return { source: PAGE, confirmedOn: '2026-08-21', note: `${COMFY}. 540p is unconfirmed.` };
}

/** The vendor has a separate path for each kind of video. */
type ViduPath = 'text2video' | 'img2video' | 'start-end2video' | 'reference2video';

/** A first frame is animated, and a last frame needs a first one. */
export function pathOf({ first, last, references }: SortedImages<RequestInput>): ViduPath {
  if (references.length > 0) return 'reference2video';
  if (last !== undefined) return 'start-end2video';
  return first === undefined ? 'text2video' : 'img2video';
}

const MAX_REFERENCES = 7;
/** Ways of each path. A frame determines the ratio, and the vendor then accepts none. */
const VIDU_WAYS: Readonly<Record<ViduPath, GenerationWay>> = {
  text2video: FROM_TEXT,
  img2video: fromFirstFrame({}, { ratios: [] }),
  'start-end2video': fromBothFrames({}, { ratios: [] }),
  reference2video: generate([some(MAX_REFERENCES, 'image', 'reference')]),
};

const FRAMES: readonly ViduPath[] = ['img2video', 'start-end2video'];
/**
 * From the same tables. If a path does not serve a model, the vendor responds as if the account had none:
 * `ModelUnavailable`.
 */
const PATHS: Readonly<Record<string, readonly ViduPath[]>> = {
  'viduq3-pro': ['text2video', ...FRAMES],
  'viduq3-turbo': ['text2video', ...FRAMES, 'reference2video'],
  'viduq3-pro-fast': ['img2video'],
  'viduq3-mix': ['reference2video'],
  viduq3: ['reference2video'],
  viduq2: ['text2video', 'reference2video'],
  'viduq2-pro': [...FRAMES, 'reference2video'],
  'viduq2-pro-fast': FRAMES,
  'viduq2-turbo': FRAMES,
  viduq1: ['text2video', ...FRAMES, 'reference2video'],
  'viduq1-classic': FRAMES,
  'vidu2.0': [...FRAMES, 'reference2video'],
};

/** Aspect ratios of all models. */
const VIDU_RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4'];
const COMMON_RESOLUTIONS = ['540p', '720p', '1080p'];

function toCapability(
  id: string,
  seconds: ModelCapability['seconds'],
  also: {
    readonly resolutions?: readonly string[];
    readonly audio?: boolean;
    /** What a path offers, where less than the model does. */
    readonly offers?: Partial<Record<ViduPath, readonly Pick<GenerationWay, 'seconds' | 'resolutions'>[]>>;
  } = {},
): ModelCapability {
  const resolutions = also.resolutions ?? COMMON_RESOLUTIONS;
  return {
    id,
    title: id.replace(/^vidu/, 'Vidu ').replace(/-/g, ' '),
    seconds,
    sizes: resolutions,
    ratios: VIDU_RATIOS,
    resolutions,
    modes: [],
    audio: also.audio ?? false,
    negativePrompt: false,
    seed: true,
    ...waysOf(
      (PATHS[id] ?? []).flatMap((path) =>
        (also.offers?.[path] ?? [{}]).map((offer) => ({ ...VIDU_WAYS[path], ...offer })),
      ),
    ),
    price: VIDU_PRICES[id] ?? {},
    listed: viduPriceSource(id),
  };
}

/** Videos between two frames are at most eight seconds long. */
const Q2_FRAMES = { 'start-end2video': [{ seconds: range(1, 8) }] };
/** Eight seconds are only offered at 720p. */
const VIDU_2_FRAMES = [{ seconds: [4] }, { seconds: [8], resolutions: ['720p'] }];
const FIVE = { values: [5], default: 5 };
const ONE_TO_TEN = { min: 1, max: 10, default: 5 };
const ONE_TO_SIXTEEN = { min: 1, max: 16, default: 5 };

/** Capabilities of each model (platform.vidu.com/docs, tables of models). */
const VIDU_MODELS: readonly ModelCapability[] = [
  toCapability('viduq3-pro', ONE_TO_SIXTEEN, { audio: true }),
  toCapability('viduq3-turbo', ONE_TO_SIXTEEN, {
    audio: true,
    offers: { reference2video: [{ seconds: range(3, 16) }] },
  }),
  toCapability('viduq3-pro-fast', ONE_TO_SIXTEEN, { resolutions: ['720p', '1080p'], audio: true }),
  toCapability('viduq3-mix', { min: 3, max: 16, default: 5 }, { resolutions: ['720p', '1080p'], audio: true }),
  toCapability('viduq3', { min: 3, max: 16, default: 5 }, { audio: true }),
  toCapability('viduq2', ONE_TO_TEN),
  toCapability('viduq2-pro', ONE_TO_TEN, { offers: Q2_FRAMES }),
  toCapability('viduq2-pro-fast', ONE_TO_TEN, { resolutions: ['720p', '1080p'], offers: Q2_FRAMES }),
  toCapability('viduq2-turbo', ONE_TO_TEN, { offers: Q2_FRAMES }),
  toCapability('viduq1', FIVE, { resolutions: ['1080p'] }),
  toCapability('viduq1-classic', FIVE, { resolutions: ['1080p'] }),
  toCapability(
    'vidu2.0',
    { values: [4, 8], default: 4 },
    {
      resolutions: ['360p', '720p', '1080p'],
      offers: {
        img2video: VIDU_2_FRAMES,
        'start-end2video': VIDU_2_FRAMES,
        reference2video: [{ seconds: [4], resolutions: ['360p', '720p'] }],
      },
    },
  ),
];

/** Whether a path serves a model; models this list does not know are tried on every path. */
const hasPath = (model: string, path: ViduPath): boolean => ownEntry(PATHS, model)?.includes(path) ?? true;

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
  const reported = readReason({ ...task, state: undefined });
  const code = asText(task.err_code) ?? reported.code;
  const meaning = classifyError(code) ?? classifyFailureWord(word) ?? UNKNOWN_FAILURE;
  return failedTask(raw, { ...meaning, code, message: reported.message ?? code });
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

/** The vendor's maximum. */
const TASKS_PER_PAGE = 100;
const MAX_SEARCHED_PAGES = 50;
/** A clock may be wrong, and a job that was not found may be submitted again. */
const SEARCHED_MS = HOUR_MS;

/** One page of the tasks created around a time. @throws PollFailed */
async function listTasks(aroundMs: number, page: number, context: AdapterContext): Promise<readonly UntrustedObject[]> {
  const query = new URLSearchParams({
    'created_at.from': new Date(aroundMs - SEARCHED_MS).toISOString(),
    'created_at.to': new Date(aroundMs + SEARCHED_MS).toISOString(),
    'pager.page': String(page),
    'pager.pagesz': String(TASKS_PER_PAGE),
  });
  const response = await get(`tasks?${query}`, context);
  if (!isSuccessStatus(response)) throw rejectedPoll(parseViduError(response, context.now()));
  const list = asObject(response.json);
  const tasks = list && asArray(list.tasks ?? []);
  if (tasks === undefined) throw unreadablePoll(response);
  return tasks.map((task) => asObject(task) ?? {});
}

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

  /**
   * Searches the account's tasks from the hours around the submit for the one whose `payload` is our task id
   * (platform.vidu.com/docs/tasks-list). Only a complete search proves that there is none, and only an empty page is the
   * end: a gateway may have pages of another size.
   */
  async findTask({ taskId, sentAtMs }, context) {
    for (let page = 0; page < MAX_SEARCHED_PAGES; page += 1) {
      const tasks = await listTasks(sentAtMs, page, context);
      const id = asId(tasks.find(({ payload }) => payload === taskId)?.id);
      if (id !== undefined) return { id };
      if (tasks.length === 0) return undefined;
    }
    throw new PollFailed('the account has too many tasks to be searched');
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

  /** Cancels a job that has not started; the vendor refuses it for any other (platform.vidu.com/docs/cancel-generation). */
  async deleteTask(handle, context) {
    const id = parseIdHandle(handle);
    const url = endpointUrl(context, `/ent/v2/tasks/${encodeURIComponent(id)}/cancel`);
    await postJson(context, url, tokenHeaders(context), { id });
  },

  /** No task has the number 1, so the response is 404 if the key is valid. */
  async checkCredentials(context) {
    const response = await get('tasks/1/creations', context);
    const error = parseViduError(response, context.now());
    return isSuccessStatus(response) || error.reason === 'missing' ? { ok: true } : { ok: false, error };
  },
};
