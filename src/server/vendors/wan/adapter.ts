import { Type } from 'typebox';
import { matchAspectRatio, sortImages } from '../../../contract/generation-ways.ts';
import { asObject, defined, type UntrustedObject } from '../../../contract/objects.ts';
import type { TaskStatus } from '../../../contract/task-states.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, endpointUrl, type VendorError } from '../../upstreams/upstream.ts';
import {
  API_KEY_CREDENTIALS,
  billedSeconds,
  createMetadataParser,
  isSameMedia,
  knownFactors,
  type MediaText,
  parseSeconds,
  type QueryOutcome,
  type RequestJson,
  rejectField,
  toMediaUrl,
  type VendorAdapter,
  type VideoRequest,
} from '../adapter.ts';
import {
  acceptedSubmit,
  applyExtraFields,
  bearerHeaders,
  classifyByTable,
  classifyByWords,
  type ErrorClass,
  failedTask,
  fileUrlOf,
  finishedTask,
  getJson,
  isAboutTask,
  isErrorResponse,
  isRefusedSubmit,
  omitUndefined,
  parseIdHandle,
  postJson,
  publicFile,
  type ReportedReason,
  type RequestBody,
  readReason,
  refusedSubmit,
  rejectedPoll,
  type TaskMembers,
  taskIdIn,
  toRawResponse,
  toVendorError,
  UNKNOWN_FAILURE,
  unreadablePoll,
} from '../json-calls.ts';
import { asCode, asText, classifyFailureWord, isSuccessStatus, readTaskState } from '../untrusted-json.ts';
import {
  IMAGE_COUNTS,
  MAX_EDITED_SECONDS,
  type ModelLine,
  maxBilledSeconds,
  modelLineOf,
  type RequestKind,
  ratiosOf,
  requestKindOf,
  SIZES,
  WAN_MODELS,
  waysOfName,
} from './models.ts';

/** The body `{model, input, parameters}` of a video task (Alibaba Cloud Model Studio, "Create a task"). */

const OptionalText = Type.Optional(Type.String());
const OptionalBoolean = Type.Optional(Type.Boolean());
const parseMetadata = createMetadataParser(
  Type.Object({
    input: Type.Optional(
      Type.Object({
        negative_prompt: OptionalText,
        first_frame_url: OptionalText,
        last_frame_url: OptionalText,
        audio_url: OptionalText,
        video_url: OptionalText,
        template: OptionalText,
      }),
    ),
    parameters: Type.Optional(
      Type.Object({
        resolution: OptionalText,
        size: OptionalText,
        prompt_extend: OptionalBoolean,
        watermark: OptionalBoolean,
        audio: OptionalBoolean,
        audio_setting: Type.Optional(Type.Enum(['auto', 'origin'])),
        seed: Type.Optional(Type.Integer()),
      }),
    ),
  }),
);
const METADATA = parseMetadata.schema;
type Metadata = ReturnType<typeof parseMetadata>;
type Input = NonNullable<Metadata['input']>;
type Parameters = NonNullable<Metadata['parameters']>;

// --- Images ---

interface InputImages {
  readonly images: readonly MediaText[];
  /** First and last frame, from the images and from the metadata. */
  readonly first: MediaText | undefined;
  readonly last: MediaText | undefined;
  readonly references: readonly MediaText[];
  /** Videos to refer to. */
  readonly clips: readonly MediaText[];
  /** The video to edit or extend. */
  readonly source: MediaText | undefined;
  /** Audio that drives speech. */
  readonly voice: MediaText | undefined;
  readonly metadata: Input;
}
type Fields = Readonly<Record<string, RequestJson | undefined>>;

const mediaItem = (type: string, url: MediaText | undefined): readonly RequestJson[] =>
  url === undefined ? [] : [{ type, url }];
const mediaItems = (type: string, urls: readonly MediaText[]) => urls.flatMap((url) => mediaItem(type, url));
const frameItems = ({ first, last, source, voice }: InputImages): readonly RequestJson[] => [
  ...mediaItem('first_clip', source),
  ...mediaItem('first_frame', first),
  ...mediaItem('last_frame', last),
  ...mediaItem('driving_audio', voice),
];
const referenceItems = ({ references, clips }: InputImages): readonly RequestJson[] => [
  ...mediaItems('reference_image', references),
  ...mediaItems('reference_video', clips),
];
/** Keys of the metadata, unchanged, for the models that have fields of these names. */
const namedInputFields = ({ metadata, voice }: InputImages): Fields => ({
  first_frame_url: metadata.first_frame_url,
  last_frame_url: metadata.last_frame_url,
  audio_url: voice,
});

const TO_INPUT_FIELDS: Readonly<Record<RequestKind, (given: InputImages) => Fields>> = {
  words: namedInputFields,
  image: (given) => ({ ...namedInputFields(given), img_url: given.first ?? given.images[0] }),
  frames: (given) => ({ ...namedInputFields(given), first_frame_url: given.first, last_frame_url: given.last }),
  references: (given) => ({ ...namedInputFields(given), reference_urls: [...given.images, ...given.clips] }),
  'media-words': namedInputFields,
  'media-image': (given) => ({ media: frameItems(given) }),
  'media-references': (given) => ({
    media: [
      ...referenceItems({ ...given, references: given.images }),
      ...mediaItem('first_frame', given.metadata.first_frame_url),
    ],
    audio_url: given.voice,
  }),
  'media-edit': (given) => ({
    media: [...mediaItem('video', given.source), ...mediaItems('reference_image', given.images)],
  }),
  'media-all': (given) => {
    const referred = [...referenceItems(given), ...mediaItem('reference_audio', given.voice)];
    if (referred.length === 0) return { media: frameItems(given) };
    if (given.first === undefined && given.last === undefined) return { media: referred };
    const named = (['first_frame_url', 'last_frame_url'] as const).find((name) => given.metadata[name] !== undefined);
    const param = named === undefined ? 'inputs' : `metadata.input.${named}`;
    return rejectField(param, 'cannot be used: frames exclude references and audio');
  },
};

/** Files named in the metadata that have no place in requests of a kind. */
const UNUSED_FILES: Readonly<Partial<Record<RequestKind, readonly string[]>>> = {
  'media-references': ['input.last_frame_url'],
  'media-edit': ['input.first_frame_url', 'input.last_frame_url', 'input.audio_url'],
};

/** Checks that the model accepts a video, and that the vendor can fetch its URL. */
function checkInputVideo({ model, videos = [] }: VideoRequest, kind: RequestKind, { video_url: url }: Input): void {
  const param = 'metadata.input.video_url';
  if (videos.length > 0 && url !== undefined) rejectField(param, 'and inputs both name a video');
  if (videos.length > 0) return;
  if (kind !== 'media-edit' && url !== undefined) rejectField(param, `is not a field of ${model}`);
  if (kind === 'media-edit' && url === undefined) rejectField(param, `is needed: ${model} changes a video`);
  if (url !== undefined && !/^(https?|oss):\/\/\S+$/.test(url)) rejectField(param, 'must be an http or oss address');
}

function resolveInputs(
  { images, videos = [], audios = [], model }: VideoRequest,
  kind: RequestKind,
  metadata: Input,
): InputImages {
  const [min, max] = modelLineOf(model)?.images ?? IMAGE_COUNTS[kind];
  const urls = images.map(toMediaUrl);
  const { first_frame_url: start, last_frame_url: end } = metadata;
  if (urls.length > max)
    rejectField(
      max === 0 ? 'image' : 'images',
      `cannot be used: ${model} takes ${max || 'no'} image${max > 1 ? 's' : ''}`,
    );
  if (urls.length + videos.length + (start === undefined ? 0 : 1) < min)
    rejectField('image', `is needed: ${model} begins with an image`);
  if (kind.endsWith('frames') || kind === 'media-image' || kind === 'media-all') {
    if (start !== undefined && urls.length > 0 && !isSameMedia(start, urls[0] ?? '')) {
      rejectField('image', 'and metadata.input.first_frame_url are two different first frames');
    }
    if (end !== undefined && urls.length > 1 && !isSameMedia(end, urls[1] ?? '')) {
      rejectField('images', 'and metadata.input.last_frame_url are two different last frames');
    }
  }
  const { first, last, references } = sortImages(images);
  const [voice] = audios;
  const source = videos.find(({ role }) => role === 'source');
  return {
    images: urls,
    first: start ?? (first && toMediaUrl(first)),
    last: end ?? (last && toMediaUrl(last)),
    references: references.map(toMediaUrl),
    clips: videos.filter((video) => video !== source).map(toMediaUrl),
    source: source === undefined ? metadata.video_url : toMediaUrl(source),
    voice: voice === undefined ? metadata.audio_url : toMediaUrl(voice),
    metadata,
  };
}

// --- Size ---

const withAsterisk = (size: string): string => size.trim().toUpperCase().replace(/[X×]/, '*');

/** The class of an exact size. */
const resolutionClassOf = (size: string): string | undefined =>
  Object.keys(SIZES).find((name) => SIZES[name]?.includes(withAsterisk(size)));

/** An exact size of the model, from `1280x720` or from a class alone. */
function toExactSize(size: string, classes: readonly string[]): string {
  const word = withAsterisk(size);
  const [landscape] = classes.includes(word) ? (SIZES[word] ?? []) : [];
  if (landscape !== undefined) return landscape;
  const offered = classes.flatMap((name) => SIZES[name] ?? []);
  return offered.includes(word) ? word : rejectField('size', `must be one of ${[...classes, ...offered].join(', ')}`);
}

/** A class of the model, from its name or from the class nearest to an exact size in pixels. */
function toResolutionClass(size: string, classes: readonly string[], param: string): string {
  const word = withAsterisk(size);
  if (classes.includes(word)) return word;
  if (!/^\d{2,5}\*\d{2,5}$/.test(word)) return rejectField(param, `must be one of ${classes.join(', ')}`);
  const pixels = (text: string) => text.split('*').reduce((product, side) => product * Number(side), 1);
  const distance = (name: string) => Math.abs(Math.log(pixels(SIZES[name]?.[0] ?? '1*1') / pixels(word)));
  return classes.toSorted((a, b) => distance(a) - distance(b))[0] ?? rejectField(param, 'is not known');
}

function toSize(request: VideoRequest, kind: RequestKind, line: ModelLine | undefined, given: Parameters): Fields {
  const { size } = request;
  const classes = line?.classes ?? Object.keys(SIZES);
  const resolution = given.resolution?.toUpperCase();
  const exact = given.size === undefined ? undefined : withAsterisk(given.size);
  if (kind === 'words' || kind === 'references') {
    const asked = size ?? (resolution !== undefined && classes.includes(resolution) ? resolution : line?.classes[0]);
    return { resolution, size: exact ?? (asked === undefined ? undefined : toExactSize(asked, classes)) };
  }
  const wanted = exact ?? size;
  const isFree = kind.startsWith('media-') && kind !== 'media-image';
  const ratios = ratiosOf(request.model);
  const ratio = isFree && wanted !== undefined ? matchAspectRatio(wanted, ratios) : undefined;
  if (isFree && ratio === undefined && size !== undefined && /[x*×]/i.test(size)) {
    rejectField('size', `must be one of ${classes.join(', ')}, or width x height of ${ratios.join(', ')}`);
  }
  const param = exact === undefined ? 'size' : 'metadata.parameters.size';
  const asked = wanted === undefined ? line?.classes[0] : toResolutionClass(wanted, classes, param);
  return { resolution: resolution ?? asked, size: exact, ratio };
}

// --- The body ---

const DEFAULT_SECONDS = 5;

/**
 * Models with one fixed length reject any other value, so the field is omitted unless the caller requested a length.
 */
function toDuration({ seconds, model }: VideoRequest, line: ModelLine | undefined): number | undefined {
  if (!line) return seconds;
  const offered = line.seconds;
  const isOffered = (value: number) =>
    'values' in offered ? offered.values.includes(value) : value >= offered.min && value <= offered.max;
  if (seconds !== undefined && !isOffered(seconds)) {
    const words = 'values' in offered ? offered.values.join(' or ') : `${offered.min} to ${offered.max}`;
    rejectField('duration', `must be ${words} seconds for ${model}`);
  }
  // Without a length the whole video is edited.
  if (line.kind === 'media-edit') return seconds;
  const isChoice = !('values' in offered) || offered.values.length > 1;
  return seconds ?? (isChoice ? DEFAULT_SECONDS : undefined);
}

/**
 * The vendor's body for one request.
 * @throws UnsupportedRequestError for values that no field can express
 */
export function toBody(request: VideoRequest): RequestBody {
  const { input = {}, parameters = {} } = parseMetadata(request.metadata);
  if (request.mode !== undefined) rejectField('mode', 'is not a field of Wan models');
  const line = modelLineOf(request.model);
  const kind = requestKindOf(request.model);
  checkInputVideo(request, kind, input);
  const images = TO_INPUT_FIELDS[kind](resolveInputs(request, kind, input));
  const { media, ...rest } = images;
  const body = {
    model: request.model,
    input: omitUndefined({
      prompt: request.prompt || undefined,
      negative_prompt: input.negative_prompt,
      ...rest,
      media: Array.isArray(media) && media.length > 0 ? media : undefined,
      template: input.template,
    }),
    parameters: omitUndefined({
      ...toSize(request, kind, line, parameters),
      duration: toDuration(request, line),
      prompt_extend: parameters.prompt_extend ?? true,
      // The vendor marks the videos of this line alone by default.
      watermark: parameters.watermark ?? (request.model.startsWith('happyhorse') ? false : undefined),
      audio: parameters.audio,
      audio_setting: parameters.audio_setting,
      seed: parameters.seed,
    }),
  };
  return applyExtraFields(body, request.extraFields);
}

/**
 * Wan on Alibaba Cloud Model Studio (DashScope), `/api/v1`:
 * submitted asynchronously, can be polled by task id for a day.
 */

// --- Price ---

/** Seconds of the videos in a request that are billed. One at the vendor's own address (`oss://`) is not measured. */
function billedInputSeconds({ model, videos = [], inputSeconds }: VideoRequest, kind: RequestKind): number | undefined {
  if (kind === 'media-edit') return inputSeconds ?? MAX_EDITED_SECONDS;
  const most = maxBilledSeconds(model);
  return videos.length === 0 ? undefined : Math.min(inputSeconds ?? most, most);
}

function billingFactors(request: VideoRequest): ReturnType<VendorAdapter['billingFactors']> {
  const parameters = asObject(toBody(request).parameters);
  const exact = asText(parameters?.size);
  const kind = requestKindOf(request.model);
  // A model line reads only one of the two: the exact size, or the class.
  const byExact = kind === 'words' || kind === 'references' ? resolutionClassOf(exact ?? '') : undefined;
  const resolution = byExact ?? asText(parameters?.resolution);
  const audio = parameters?.audio ?? (modelLineOf(request.model)?.audioSwitch ? true : undefined);
  // The whole video is edited unless a length is given.
  const inputSeconds = billedInputSeconds(request, kind);
  const standard = kind === 'media-edit' ? inputSeconds : DEFAULT_SECONDS;
  return defined({
    seconds: parseSeconds(parameters?.duration ?? standard, 'duration'),
    inputSeconds,
    factors: knownFactors({ resolution, size: request.size, audio }),
  });
}

// --- Status mapping ---

/** The vendor's status for an id that is older than a day or never existed; it is final. */
const EXPIRED = 'UNKNOWN';

const stateOf = (task: UntrustedObject | undefined): TaskStatus =>
  task?.task_status === EXPIRED ? 'FAILURE' : readTaskState(task?.task_status);

function parseFailure(output: UntrustedObject, response: BufferedResponse): QueryOutcome {
  const raw = toRawResponse(response);
  const { task_status: word } = output;
  if (word === EXPIRED) return failedTask(raw, { reason: 'missing', message: 'The task is unknown or has expired.' });
  const reported = readReason(output, response.json);
  const { code, message = `The upstream says that the task is ${String(word)}.` } = reported;
  const meaning = classifyFailureWord(word) ?? classifyError(reported) ?? UNKNOWN_FAILURE;
  return failedTask(raw, { ...meaning, code, message });
}

const MEMBERS: TaskMembers = { ids: ['task_id', 'id'], state: 'task_status' };

/** `{request_id, output, usage}`, which some relays put into `{code, data}`. */
const unwrap = (json: unknown): UntrustedObject | undefined => {
  const outer = asObject(json);
  return outer?.output == null ? (asObject(outer?.data) ?? outer) : outer;
};

/** The task: in `output`, or at the top where a relay omits that. */
const taskOf = (json: unknown): UntrustedObject | undefined => {
  const whole = unwrap(json);
  return asObject(whole?.output) ?? (asText(whole?.task_status) === undefined ? undefined : whole);
};

/** Members with the file's URL: most model lines, then s2v, animate and emo. */
const URL_PLACES = ['video_url', 'results'];

/**
 * Parses the response to a poll.
 * @throws PollFailed if it says nothing about the task `id`
 */
function parseTask(response: BufferedResponse, id: string): QueryOutcome {
  const output = taskOf(response.json);
  if (!output || !isAboutTask(output, id, MEMBERS)) throw unreadablePoll(response);
  const state = stateOf(output);
  if (state === 'FAILURE') return parseFailure(output, response);
  if (state !== 'SUCCESS') return { state, raw: toRawResponse(response) };
  return finishedTask(fileUrlOf(output, URL_PLACES), response);
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

/** Some codes have two meanings that only the message distinguishes. */
function classifyError(reported: ReportedReason): ErrorClass | undefined {
  const { code, message = '' } = reported;
  // A used-up trial, or the limit of tokens per minute.
  if (code === 'Throttling.AllocationQuota') return { reason: /\bfree\b|免费/i.test(message) ? 'billing' : 'rate' };
  const found = classifyCode(code) ?? classifyByWords(reported);
  // Refused input or a withheld result.
  return found?.reason === 'policy' && /\boutput\b/i.test(message) ? { ...found, cause: 'result_refused' } : found;
}

/** Parses an error response. */
export function toError(response: BufferedResponse, nowMs: number): VendorError {
  const reported = readReason(response.json, taskOf(response.json), asObject(response.json)?.data);
  return toVendorError(response, nowMs, defined({ ...reported, meaning: classifyError(reported) }));
}

// --- The adapter ---

/** The vendor's chat models have another base URL on the same host, which administrators also paste. */
const apiBaseOf = ({ baseUrl }: AdapterContext) =>
  endpointUrl({ baseUrl: baseUrl.replace(/\/compatible-mode\/v1$/, '') }, '/api/v1');

/** Requests with first and last frames, and those that animate a figure or a face, have paths of their own. */
export const pathOf = (model: string): string =>
  requestKindOf(model) === 'frames' || /s2v|animate/.test(model)
    ? 'services/aigc/image2video/video-synthesis'
    : 'services/aigc/video-generation/video-synthesis';

const taskUrl = (id: string, context: AdapterContext): string =>
  `${apiBaseOf(context)}/tasks/${encodeURIComponent(id)}`;

const getTask = (id: string, context: AdapterContext): Promise<BufferedResponse> =>
  getJson(context, taskUrl(id, context), bearerHeaders(context));

/**
 * Adapter for Wan. A task carries no id of the client, so a lost one cannot be distinguished from the account's other
 * tasks: no `findTask`.
 */
export const wan: VendorAdapter = {
  name: 'wan',
  title: 'Wan',
  defaultBaseUrl: 'https://dashscope.aliyuncs.com',
  credentials: API_KEY_CREDENTIALS,
  models: WAN_MODELS,
  unlistedWays: waysOfName,
  metadata: METADATA,
  droppedMetadata: ({ model }) => UNUSED_FILES[requestKindOf(model)] ?? [],
  clipsIn({ input }) {
    const { video_url: video, audio_url: audio } = asObject(input) ?? {};
    return { 'metadata.input.video_url': video, 'metadata.input.audio_url': audio };
  },
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
  /**
   * Seconds of output, and of input where it is billed too; older models have other names for them
   * (help.aliyun.com/zh/model-studio).
   */
  billedFacts(raw) {
    const usage = asObject(unwrap(raw)?.usage) ?? asObject(taskOf(raw)?.usage);
    const hasNone = Number(asCode(usage?.input_video_duration) ?? Number.NaN) === 0;
    const input = hasNone ? 0 : billedSeconds(usage?.input_video_duration)?.seconds;
    const rest = Number(usage?.duration) - Number(usage?.input_video_duration);
    const output = billedSeconds(usage?.output_video_duration, rest)?.seconds;
    if (input !== undefined && output !== undefined) return { seconds: output, input_seconds: input };
    return billedSeconds(usage?.duration, usage?.video_duration, usage?.output_video_duration);
  },

  handleOf: ({ id }) => ({ id }),

  async submit(request, context) {
    const body = toBody(request);
    // Files uploaded to the vendor's own storage are resolved only with this header.
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
    const isError = !isSuccessStatus(response) || (!taskOf(response.json) && isErrorResponse(response.json));
    if (isError) throw rejectedPoll(toError(response, context.now()));
    return parseTask(response, id);
  },

  /** The URL from the last poll; it is valid as long as the task is kept. */
  content: async (_handle, raw) => publicFile(fileUrlOf(taskOf(raw), URL_PLACES)),

  /** Cancels a job that has not started; the vendor refuses it for any other ("Asynchronous task API"). */
  async deleteTask(handle, context) {
    await postJson(context, `${taskUrl(parseIdHandle(handle), context)}/cancel`, bearerHeaders(context), {});
  },

  /** The vendor returns HTTP 200 for an unknown id if the key is valid. */
  async checkCredentials(context) {
    const response = await getTask('00000000-0000-0000-0000-000000000000', context);
    return isSuccessStatus(response) && taskOf(response.json)
      ? { ok: true }
      : { ok: false, error: toError(response, context.now()) };
  },
};
