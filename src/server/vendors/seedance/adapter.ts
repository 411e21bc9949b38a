import { type Static, Type } from 'typebox';
import { matchAspectRatio, sortImages } from '../../../contract/generation-ways.ts';
import { asObject, defined, type UntrustedObject } from '../../../contract/objects.ts';
import { DAY_MS, HOUR_MS } from '../../../contract/time-units.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, endpointUrl, type VendorError } from '../../upstreams/upstream.ts';
import {
  API_KEY_CREDENTIALS,
  billedUnits,
  createMetadataParser,
  type Json,
  knownFactors,
  type MediaText,
  parseSeconds,
  type QueryOutcome,
  type RequestInput,
  type RequestJson,
  rejectField,
  toMediaUrl,
  type VendorAdapter,
  type VendorDrafts,
  type VideoRequest,
} from '../adapter.ts';
import {
  acceptedSubmit,
  applyExtraFields,
  bearerHeaders,
  classifyByTable,
  classifyByWords,
  deleteJson,
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
  type RequestBody,
  readReason,
  refusedSubmit,
  rejectedPoll,
  taskIdIn,
  toRawResponse,
  toVendorError,
  UNKNOWN_FAILURE,
  unreadablePoll,
  unwrapTask,
} from '../json-calls.ts';
import {
  asArray,
  asPercent,
  asText,
  classifyFailureWord,
  isSuccessStatus,
  ownEntry,
  readTaskState,
} from '../untrusted-json.ts';
import { familyOf, type ModelFamily, SEEDANCE_MODELS, SEEDANCE_RATIOS, WIDEST_WAYS } from './models.ts';

/** The body of `POST /contents/generations/tasks` (Volcengine Ark, "Create a video generation task"). */

const UrlField = Type.Union([Type.Object({ url: Type.String() }), Type.String()]);
/** One element of the content array. A clip is called `video` here and `video_url` by the vendor; both are accepted. */
const ContentElement = Type.Object({
  type: Type.String(),
  text: Type.Optional(Type.String()),
  image_url: Type.Optional(UrlField),
  video: Type.Optional(UrlField),
  video_url: Type.Optional(UrlField),
  audio_url: Type.Optional(UrlField),
  draft_task: Type.Optional(Type.Object({ id: Type.String({ maxLength: 255 }) })),
  role: Type.Optional(Type.String()),
});
type ContentElement = Static<typeof ContentElement>;

/** Forms and command lines send numbers and flags as text. */
const IntegerOrText = Type.Union([Type.Integer(), Type.String({ pattern: '^-?\\d{1,10}$' })]);
const BooleanOrText = Type.Union([Type.Boolean(), Type.Enum(['true', 'false'])]);
const toInteger = (value: Static<typeof IntegerOrText> | undefined) =>
  value === undefined ? undefined : Number(value);
const toBoolean = (value: Static<typeof BooleanOrText> | undefined) =>
  value === undefined ? undefined : value === true || value === 'true';

const parseMetadata = createMetadataParser(
  Type.Object({
    content: Type.Optional(Type.Array(ContentElement, { maxItems: 32 })),
    resolution: Type.Optional(Type.String()),
    ratio: Type.Optional(Type.String()),
    frames: Type.Optional(IntegerOrText),
    seed: Type.Optional(IntegerOrText),
    generate_audio: Type.Optional(BooleanOrText),
    camera_fixed: Type.Optional(BooleanOrText),
    watermark: Type.Optional(BooleanOrText),
    draft: Type.Optional(BooleanOrText),
    draft_task: Type.Optional(Type.String({ maxLength: 255 })),
    output_format: Type.Optional(Type.Enum(['mp4', 'mov'])),
    return_last_frame: Type.Optional(BooleanOrText),
    priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 9 })),
    execution_expires_after: Type.Optional(Type.Integer({ minimum: 3_600, maximum: 259_200 })),
  }),
);

const METADATA = parseMetadata.schema;

// --- The content array ---

interface ContentItem {
  readonly kind: 'text' | 'image' | 'video' | 'audio';
  /** The prompt, the URL, or an image as a data URL. */
  readonly value: MediaText;
  readonly role?: string;
}

const ROLES = ['reference_image', 'first_frame', 'last_frame'];
const CLIP_MEMBERS = ['video', 'video_url', 'audio_url'];

function toItem(element: ContentElement, index: number): ContentItem {
  const at = `metadata.content.${index}`;
  const { type, text, image_url, role } = element;
  const urlOf = (given: Static<typeof UrlField> | undefined): string => {
    const url = typeof given === 'string' ? given : given?.url;
    return url || rejectField(at, 'has no address');
  };
  if (type === 'text')
    return text === undefined ? rejectField(`${at}.text`, 'is missing') : { kind: 'text', value: text };
  if (type === 'video' || type === 'video_url') {
    return { kind: 'video', value: urlOf(element.video ?? element.video_url) };
  }
  if (type === 'audio_url') return { kind: 'audio', value: urlOf(element.audio_url) };
  if (type !== 'image_url') return rejectField(`${at}.type`, 'must be text, image_url, video or audio_url');
  if (role !== undefined && !ROLES.includes(role)) rejectField(`${at}.role`, `must be one of ${ROLES.join(', ')}`);
  return { kind: 'image', value: urlOf(image_url), role };
}

/** Members of an element that are used, besides its type. The vendor has one role for videos and one for audio. */
function usedMembers({ type, role, video }: UntrustedObject): readonly string[] {
  const clip = video === undefined ? 'video_url' : 'video';
  const used: Readonly<Record<string, readonly string[]>> = {
    text: ['text'],
    image_url: ['image_url', 'role'],
    video: role === 'reference_video' ? [clip, 'role'] : [clip],
    audio_url: role === 'reference_audio' ? ['audio_url', 'role'] : ['audio_url'],
    draft_task: ['draft_task'],
  };
  return ownEntry(used, type === 'video_url' ? 'video' : String(type)) ?? MEMBERS;
}

const MEMBERS = Object.keys(ContentElement.properties).filter((name) => name !== 'type');

const droppedMetadata = ({ metadata: { content } }: VideoRequest): readonly string[] =>
  (asArray(content) ?? []).flatMap((element, index) => {
    const used = usedMembers(asObject(element) ?? {});
    return MEMBERS.filter((name) => !used.includes(name)).map((name) => `content.${index}.${name}`);
  });

/**
 * Assigns roles, by which alone the vendor distinguishes three modes: a first frame, a first and a last frame,
 * references. Images without a role get one by their number and by the roles of the others.
 */
function assignRoles(items: readonly ContentItem[]): readonly ContentItem[] {
  const images = items.filter(({ kind }) => kind === 'image');
  const isReference =
    images.length > 2 ||
    items.some(({ kind, role }) => kind === 'video' || kind === 'audio' || role === 'reference_image');
  const free = ['first_frame', 'last_frame'].filter((role) => !images.some((image) => image.role === role));
  return items.map((item) =>
    item.kind !== 'image' || item.role !== undefined
      ? item
      : { ...item, role: isReference ? 'reference_image' : free.shift() },
  );
}

const TO_WIRE: Readonly<Record<ContentItem['kind'], (item: ContentItem) => RequestBody>> = {
  text: ({ value }) => ({ type: 'text', text: value }),
  image: ({ value, role }) => omitUndefined({ type: 'image_url', image_url: { url: value }, role }),
  video: ({ value }) => ({ type: 'video_url', video_url: { url: value }, role: 'reference_video' }),
  audio: ({ value }) => ({ type: 'audio_url', audio_url: { url: value }, role: 'reference_audio' }),
};

/**
 * Commands the vendor still executes inside a prompt; those that change the price are refused, because only fields are
 * priced. How loosely the vendor parses them is unknown, so two dashes of any kind count, with or without a space
 * around the name, if a number follows.
 */
const COMMAND_NAMES = 'resolution|rs|duration|dur|frames|fps';
const PROMPT_COMMANDS = [
  new RegExp(`(?:^|\\s)--(${COMMAND_NAMES})(?=\\s|=|$)`, 'i'),
  new RegExp(`(?<![\\p{Pd}−ー])(?:[\\p{Pd}−ー]{2,}|[⸺⸻])[^\\S\\n]*(${COMMAND_NAMES})\\s*[=:]?\\s*[\\p{Pd}−]?\\d`, 'iu'),
];

/** Finds the command in a text, also in full-width characters or with invisible characters in between. */
function commandIn(text: string): string | undefined {
  const plain = text.normalize('NFKC').replace(/\p{Cf}/gu, '');
  return PROMPT_COMMANDS.map((pattern) => pattern.exec(plain)?.[1]).find((name) => name !== undefined);
}

function rejectPromptCommands(items: readonly ContentItem[]): void {
  for (const { kind, value } of items) {
    const command = kind === 'text' ? commandIn(String(value)) : undefined;
    if (command) rejectField('prompt', `must not carry --${command}: use duration, size or metadata`);
  }
}

function checkImageCounts(items: readonly ContentItem[], given: number, family: ModelFamily, model: string): void {
  const param = given > 1 ? 'images' : 'image';
  const roles = items.flatMap(({ kind, role }) => (kind === 'image' ? [role] : []));
  const references = roles.filter((role) => role === 'reference_image').length;
  const frames = roles.length - references;
  if (given === 0) {
    if (model.includes('i2v') && roles.length === 0) rejectField('image', `is needed: ${model} begins with an image`);
  } else if (references > family.references) {
    rejectField(param, `cannot be used: ${model} takes ${family.references || 'no'} reference images`);
  } else if (frames > family.frames) {
    rejectField(
      param,
      `cannot be used: ${model} takes ${['no image', 'a first frame', 'a first and a last frame'][family.frames]}`,
    );
  }
}

/** Images with roles get the vendor's word for them; the others get one by their number. */
function toImageItems({ images }: VideoRequest): readonly ContentItem[] {
  if (images.every(({ role }) => role === undefined))
    return images.map((image) => ({ kind: 'image', value: toMediaUrl(image) }));
  const { first, last, references } = sortImages(images);
  const item = (image: RequestInput | undefined, role: string): readonly ContentItem[] =>
    image === undefined ? [] : [{ kind: 'image', value: toMediaUrl(image), role }];
  return [
    ...item(first, 'first_frame'),
    ...item(last, 'last_frame'),
    ...references.flatMap((image) => item(image, 'reference_image')),
  ];
}

function toContent(
  request: VideoRequest,
  elements: readonly ContentElement[],
  family: ModelFamily | undefined,
): readonly RequestJson[] {
  const named = elements.map(toItem);
  const isSaid = request.prompt === '' || named.some(({ kind, value }) => kind === 'text' && value === request.prompt);
  const items = assignRoles([
    ...(isSaid ? [] : [{ kind: 'text' as const, value: request.prompt }]),
    ...toImageItems(request),
    ...(request.videos ?? []).map((video) => ({ kind: 'video' as const, value: toMediaUrl(video) })),
    ...(request.audios ?? []).map((audio) => ({ kind: 'audio' as const, value: toMediaUrl(audio) })),
    ...named,
  ]);
  rejectPromptCommands(items);
  if (family) checkImageCounts(items, request.images.length, family, request.model);
  return items.map((item) => TO_WIRE[item.kind](item));
}

// --- Frame and length ---

/** Pixels of a square at each resolution; a size belongs to the nearest. */
const PIXELS: Readonly<Record<string, number>> = {
  '480p': 640 ** 2,
  '720p': 960 ** 2,
  '1080p': 1440 ** 2,
  '4k': 2880 ** 2,
};

function parseSize(size: string, resolutions: readonly string[]): { resolution: string; ratio?: string } {
  const word = size.toLowerCase();
  if (resolutions.includes(word)) return { resolution: word };
  const ratio = matchAspectRatio(size, SEEDANCE_RATIOS);
  const [width = 0, height = 0] = size.split(/[x*×]/i).map(Number);
  if (ratio === undefined) {
    return rejectField(
      'size',
      `must be one of ${resolutions.join(', ')}, or width x height of ${SEEDANCE_RATIOS.join(', ')}`,
    );
  }
  const distance = (name: string) => Math.abs(Math.log((PIXELS[name] ?? 1) / (width * height)));
  const [nearest = '720p'] = resolutions.toSorted((a, b) => distance(a) - distance(b));
  return { resolution: nearest, ratio };
}

const hasFrames = (content: readonly RequestJson[]): boolean =>
  content.some((item) => ['first_frame', 'last_frame'].includes(String(asObject(item)?.role)));

const FRAMES_PER_SECOND = 24;
const DRAFT_RESOLUTION = '480p';

function checkSeconds(seconds: number, family: ModelFamily, model: string): void {
  if (seconds === -1 && family.auto) return;
  if (seconds < family.min || seconds > family.max) {
    rejectField('duration', `must be ${family.min} to ${family.max} seconds for ${model}`);
  }
}

/** A draft is named by the id of its video, in a field of its own or in the vendor's element. */
const DRAFTS: VendorDrafts = {
  lifetimeMs: 7 * DAY_MS,
  isDraft: (metadata) => ['true', true].includes(asObject(metadata)?.draft as string | boolean),
  idIn(metadata) {
    const { draft_task: named, content } = asObject(metadata) ?? {};
    const elements = (asArray(content) ?? []).map((element) => asObject(asObject(element)?.draft_task)?.id);
    return asText(named) ?? elements.map(asText).find((id) => id !== undefined);
  },
};

type Metadata = ReturnType<typeof parseMetadata>;

/** Options of the file and the task, which are the same for every kind of request. */
const toDeliveryOptions = (metadata: Metadata) => ({
  watermark: toBoolean(metadata.watermark),
  output_format: metadata.output_format,
  return_last_frame: toBoolean(metadata.return_last_frame),
  priority: metadata.priority,
  execution_expires_after: metadata.execution_expires_after,
});

/** Options that the final video of a draft takes from the draft. */
const OF_THE_DRAFT = ['ratio', 'frames', 'seed', 'generate_audio', 'camera_fixed', 'draft'] as const;

/** The body of the final video of a draft, which is the draft in another resolution. */
function toFinalBody(
  { model, sourceHandle = null, draft, seconds, size, images, videos = [], audios = [] }: VideoRequest,
  metadata: Metadata,
  family: ModelFamily | undefined,
): RequestBody {
  const { finals = [DEFAULT_FINAL] } = family ?? {};
  if (family !== undefined && family.finals === undefined)
    rejectField('metadata.draft_task', `is not offered by ${model}`);
  if (draft === undefined) rejectField('metadata.draft_task', 'names no draft of yours');
  if (seconds !== undefined) rejectField('duration', 'cannot be given: the final video is as long as its draft');
  if (images.length + videos.length + audios.length > 0)
    rejectField('inputs', 'cannot be used: the final video has those of its draft');
  const isMore = (metadata.content ?? []).some(({ draft_task: named }) => named === undefined);
  const stray = isMore ? 'content' : OF_THE_DRAFT.find((key) => metadata[key] !== undefined);
  if (stray !== undefined) rejectField(`metadata.${stray}`, 'cannot be given: the final video has that of its draft');
  const resolution = (metadata.resolution ?? size)?.toLowerCase() ?? finals[0];
  if (resolution === undefined || !finals.includes(resolution))
    rejectField('size', `must be ${finals.join(' or ')} for the final video of a draft of ${model}`);
  const content = [{ type: 'draft_task', draft_task: { id: parseIdHandle(sourceHandle) } }];
  return omitUndefined({ model, content, resolution, ...toDeliveryOptions(metadata) });
}

const DEFAULT_FINAL = '1080p';

/**
 * The vendor's body for one request.
 * @throws UnsupportedRequestError for values that no field can express
 */
export function toBody(request: VideoRequest): RequestBody {
  const { model, seconds, size } = request;
  const metadata = parseMetadata(request.metadata);
  const family = familyOf(model);
  if (request.mode !== undefined) rejectField('mode', 'is not a field of Seedance models');
  if (DRAFTS.idIn(metadata) !== undefined)
    return applyExtraFields(toFinalBody(request, metadata, family), request.extraFields);
  if (seconds !== undefined && family) checkSeconds(seconds, family, model);
  const frame = size === undefined ? undefined : parseSize(size, family?.resolutions ?? Object.keys(PIXELS));
  const frames = toInteger(metadata.frames);
  const content = toContent(request, metadata.content ?? [], family);
  const draft = toBoolean(metadata.draft);
  if (draft && family !== undefined && family.finals === undefined)
    rejectField('metadata.draft', `is not offered by ${model}`);
  const asked = metadata.resolution?.toLowerCase() ?? frame?.resolution;
  if (draft && asked !== undefined && asked !== DRAFT_RESOLUTION)
    rejectField('size', `must be ${DRAFT_RESOLUTION} for a draft of ${model}`);
  const { operation = 'generate' } = request;
  if (operation === 'edit' && seconds !== undefined)
    rejectField('duration', `cannot be given: ${model} keeps the length of the edited video`);
  // Only `adaptive` is accepted where the inputs determine the ratio.
  const isAdaptive = family?.adaptsRatio === true && (operation !== 'generate' || hasFrames(content));
  if (isAdaptive && metadata.ratio !== undefined && metadata.ratio !== 'adaptive')
    rejectField('metadata.ratio', `must be adaptive for ${model} with a frame or a video to edit or extend`);
  const body = omitUndefined({
    model,
    content,
    resolution: asked ?? (draft ? DRAFT_RESOLUTION : family?.resolution),
    ratio: isAdaptive ? 'adaptive' : (metadata.ratio ?? frame?.ratio),
    // The vendor ignores the length if frames are given, so no default length is sent.
    duration: operation === 'edit' ? -1 : (seconds ?? (frames === undefined ? 5 : undefined)),
    frames,
    seed: toInteger(metadata.seed),
    generate_audio: toBoolean(metadata.generate_audio),
    camera_fixed: toBoolean(metadata.camera_fixed),
    draft,
    ...toDeliveryOptions(metadata),
    omni_reference_task_type: operation === 'generate' ? undefined : operation,
  });
  return applyExtraFields(body, request.extraFields);
}

/**
 * Seedance on Volcengine Ark or BytePlus ModelArk, `/api/v3/contents/generations/tasks`: one protocol on two platforms.
 */

// --- Price ---

/** Frames take precedence over seconds; a length the model chooses is billed as its longest. */
function billingFactors(request: VideoRequest): ReturnType<VendorAdapter['billingFactors']> {
  const { duration = request.draft?.seconds ?? 5, frames, resolution, generate_audio } = toBody(request);
  const family = familyOf(request.model);
  const longest = family?.max ?? 30;
  // Models that support audio generate it unless it is switched off.
  const audio = generate_audio ?? (family?.audio ? true : undefined);
  const seconds =
    typeof frames === 'number' ? Math.ceil(frames / FRAMES_PER_SECOND) : duration === -1 ? longest : duration;
  return {
    seconds: parseSeconds(seconds, typeof frames === 'number' ? 'metadata.frames' : 'duration'),
    factors: knownFactors({ resolution, size: request.size, audio }),
  };
}

// --- Status mapping ---

/** Members with the file's URL, and those that relays put it in. */
const URL_PLACES = ['content.video_url', 'content', 'video_url'];

function parseFailure(task: UntrustedObject, response: BufferedResponse): QueryOutcome {
  const reported = readReason(task.error, task, response.json);
  const { code, message = `The upstream says that the task is ${String(task.status)}.` } = reported;
  const meaning = classifyError(code, message) ?? classifyFailureWord(task.status) ?? classifyByWords(reported);
  return failedTask(toRawResponse(response), { ...(meaning ?? UNKNOWN_FAILURE), code, message });
}

/**
 * Parses the response to a poll.
 * @throws PollFailed if it says nothing about the task `id`
 */
function parseTask(response: BufferedResponse, id: string): QueryOutcome {
  const task = unwrapTask(response.json);
  if (!task || !isAboutTask(task, id)) throw unreadablePoll(response);
  const state = readTaskState(task.status);
  if (state === 'FAILURE') return parseFailure(task, response);
  if (state !== 'SUCCESS') return defined({ state, progress: asPercent(task.progress), raw: toRawResponse(response) });
  return finishedTask(fileUrlOf(task, URL_PLACES), response);
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

/**
 * One code with three meanings: the free trial is used up, too many tasks are queued, or the plan's window is used up.
 */
function classifyError(code: string, message: string): ErrorClass | undefined {
  if (code === 'QuotaExceeded') return { reason: /free trial|免费试用/i.test(message) ? 'billing' : 'rate' };
  return classifyCode(code);
}

const RESET_TIME = /reset at (\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}) ([+-]\d{2})(\d{2})/;
const MAX_WAIT_MS = HOUR_MS;

/**
 * Milliseconds until a plan's window ends, according to the message; at most an hour, so that the channel is tried again.
 */
function parseResetTime(message: string, nowMs: number): number | undefined {
  const [, day, time, hours, minutes] = RESET_TIME.exec(message) ?? [];
  const waitMs = Date.parse(`${day}T${time}${hours}:${minutes}`) - nowMs;
  return waitMs > 0 ? Math.min(waitMs, MAX_WAIT_MS) : undefined;
}

/** Parses an error response. */
export function toError(response: BufferedResponse, nowMs: number): VendorError {
  const task = unwrapTask(response.json);
  const { code, message = '' } = readReason(task?.error, task, response.json);
  const meaning = classifyError(code, message) ?? classifyByWords({ code, message });
  const error = toVendorError(response, nowMs, { code, message, meaning });
  const retryAfterMs = error.retryAfterMs ?? parseResetTime(message, nowMs);
  return retryAfterMs === undefined ? error : { ...error, retryAfterMs };
}

// --- The adapter ---

const tasksUrl = (context: AdapterContext) => endpointUrl(context, '/api/v3/contents/generations/tasks');
const taskUrl = (handle: Json, context: AdapterContext) =>
  `${tasksUrl(context)}/${encodeURIComponent(parseIdHandle(handle))}`;

/**
 * Adapter for Seedance. A task carries no id of the client, so a lost one cannot be distinguished from the account's
 * other tasks: no `findTask`.
 */
export const seedance: VendorAdapter = {
  name: 'seedance',
  title: 'Seedance',
  defaultBaseUrl: 'https://ark.cn-beijing.volces.com',
  credentials: API_KEY_CREDENTIALS,
  models: SEEDANCE_MODELS,
  unlistedWays: () => WIDEST_WAYS,
  metadata: METADATA,
  droppedMetadata,
  clipsIn: ({ content }) =>
    Object.fromEntries(
      (asArray(content) ?? []).map(asObject).flatMap((element, index) =>
        CLIP_MEMBERS.flatMap((member) => {
          const given = element?.[member];
          return given === undefined
            ? []
            : [[`metadata.content.${index}.${member}`, asText(given) ?? asObject(given)?.url]];
        }),
      ),
    ),
  formFields: {
    seconds: 'duration',
    ratio: 'metadata.ratio',
    resolution: 'metadata.resolution',
    audio: 'metadata.generate_audio',
    seed: 'metadata.seed',
  },
  drafts: DRAFTS,
  presentation: { repeatsId: true, error: () => ({ message: 'task failed', code: 'failed' }) },
  example: {
    model: 'doubao-seedance-1-5-pro-251215',
    prompt: 'a tram in the rain at night',
    duration: 5,
    metadata: { resolution: '720p', ratio: '16:9', generate_audio: true, watermark: false },
  },
  billingFactors,
  /** Output tokens; input is free (volcengine.com/docs/82379/1521309). */
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
    const isTask = asText(unwrapTask(response.json)?.status) !== undefined || !isErrorResponse(response.json);
    if (isSuccessStatus(response) && isTask) return parseTask(response, id);
    const error = toError(response, context.now());
    // Only the vendor's own error code for a missing task ends it; a bare 404 may be a gateway's.
    if (response.status === 404 && error.reason === 'missing') return failedTask(toRawResponse(response), error);
    throw rejectedPoll(error);
  },

  /** The URL from the last poll; an expired one is replaced by polling again, because the task is kept longer. */
  content: async (_handle, raw) => publicFile(fileUrlOf(unwrapTask(raw), URL_PLACES)),

  async deleteTask(handle, context) {
    await deleteJson(context, taskUrl(handle, context), bearerHeaders(context));
  },

  async checkCredentials(context) {
    const url = `${tasksUrl(context)}?page_num=1&page_size=1`;
    const response = await getJson(context, url, bearerHeaders(context));
    return isSuccessStatus(response) ? { ok: true } : { ok: false, error: toError(response, context.now()) };
  },
};
